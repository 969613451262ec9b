//! `release-without-predecessor`, found by `validate`.

use std::collections::BTreeMap;

use super::rule::{About, Example, Rule};
use crate::release::Release;
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::ids::Provider;
use capstan_model::version::KubernetesMinor;

pub(super) struct ReleaseWithoutPredecessor;

static ABOUT: About = About {
    entry: rules::RELEASE_WITHOUT_PREDECESSOR,
    summary: "No release leads to another one a minor of Kubernetes at a time.",
    reason: "Kubernetes goes from minor to minor. Where the provider has releases of 1.29 and of 1.31 but none of \
             1.30, a cluster of 1.29 gets no further without skipping one. Publish a release of the minor between.",
    source: "https://kubernetes.io/releases/version-skew-policy/#supported-component-upgrade-order",
    bad: Example::Tree(&[("aws/v29.0.0/release.yaml", OF_29), ("aws/v31.0.0/release.yaml", OF_31_GAP)]),
    good: Example::Tree(&[
        ("aws/v29.0.0/release.yaml", OF_29),
        ("aws/v30.0.0/release.yaml", OF_30),
        ("aws/v31.0.0/release.yaml", OF_31),
    ]),
};

const OF_29: &str = "\
apiVersion: release.giantswarm.io/v1alpha1
kind: Release
metadata: {name: aws-29.0.0}
spec:
  components: [{name: kubernetes, version: 1.29.4}]
  state: active
";
const OF_30: &str = "\
apiVersion: release.giantswarm.io/v1alpha1
kind: Release
metadata: {name: aws-30.0.0}
spec:
  components: [{name: kubernetes, version: 1.30.2}]
  state: active
";
const OF_31: &str = "\
apiVersion: release.giantswarm.io/v1alpha1
kind: Release
metadata: {name: aws-31.0.0}
spec:
  components: [{name: kubernetes, version: 1.31.1}]
  state: active
";
const OF_31_GAP: &str = "\
apiVersion: release.giantswarm.io/v1alpha1
kind: Release
metadata: {name: aws-31.0.0}
spec:
  components: [{name: kubernetes, version: 1.31.1}]
  state: active
";

impl Rule for ReleaseWithoutPredecessor {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}

/// Of each provider, the oldest release of a minor that no other leads to. Releases that are no longer
/// offered lead there too: a cluster may be at one.
pub(super) fn gaps(releases: &[Release]) -> Vec<Finding> {
    let mut minors: BTreeMap<&Provider, BTreeMap<KubernetesMinor, &Release>> = BTreeMap::new();
    for release in releases {
        if let Some(kubernetes) = &release.kubernetes {
            minors.entry(&release.provider).or_default().entry(kubernetes.minor()).or_insert(release);
        }
    }
    let mut found = Vec::new();
    for of_provider in minors.values() {
        for ((before, _), (minor, release)) in of_provider.iter().zip(of_provider.iter().skip(1)) {
            if !before.skips(*minor) || !release.is_offered() {
                continue;
            }
            let message = format!(
                "{} is of Kubernetes {minor}, and {} has no release of {}: clusters of {before} and older cannot come here one minor at a time. Publish one",
                release.id,
                release.provider,
                before.next()
            );
            let file = release.manifest.as_ref().or_else(|| release.base_files.first());
            let place = file.map(|entry| Place::whole(entry.path.clone()));
            found.push(Finding::new(rules::RELEASE_WITHOUT_PREDECESSOR, message).maybe_place(place));
        }
    }
    found
}
