//! `release-without-predecessor`, found by `validate`.

use std::collections::BTreeMap;

use super::rule::{About, PolicyRule};
use crate::release::Release;
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::ids::Provider;
use capstan_model::version::KubernetesMinor;

pub(super) struct ReleaseWithoutPredecessor;

static ABOUT: About = About::new(
    rules::RELEASE_WITHOUT_PREDECESSOR,
    include_str!("../../../docs/rules/release-without-predecessor.md"),
);

impl PolicyRule for ReleaseWithoutPredecessor {
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
                "{} is of Kubernetes {minor}, and {} has no release of {}: clusters at {before} and older cannot upgrade to it one minor at a time. Publish one",
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
