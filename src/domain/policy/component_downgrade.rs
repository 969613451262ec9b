//! `component-downgrade`

use std::cmp::Ordering;

use super::{About, Change, Evidence, Example, Rule, Verdict};
use crate::finding::Severity;
use crate::release::Release;
use crate::version::LooseVersion;

pub(super) struct ComponentDowngrade;

static ABOUT: About = About {
    id: "component-downgrade",
    severity: Severity::Error,
    change: Change::Free,
    summary: "A component or app of the new release is older than in the release before.",
    reason: "What has migrated its data or its custom resources forwards seldom goes back, and a release with an \
             older component is most often a mistake in the release. Versions that cannot be compared are \
             passed over.",
    source: "https://github.com/giantswarm/releases",
    bad: Example::Upgrade(&[
        ("peu01/base/values.yaml", VALUES),
        ("aws/v29.0.0/release.yaml", CILIUM_16),
        ("aws/v29.1.0/release.yaml", CILIUM_15),
    ]),
    good: Example::Upgrade(&[
        ("peu01/base/values.yaml", VALUES),
        ("aws/v29.0.0/release.yaml", CILIUM_16),
        ("aws/v29.1.0/release.yaml", CILIUM_17),
    ]),
};

const VALUES: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: peu01-userconfig, namespace: org}
data:
  values: | # <--
    global:
      release:
        version: 29.0.0
";
const CILIUM_16: &str = "\
apiVersion: release.giantswarm.io/v1alpha1
kind: Release
metadata: {name: aws-29.0.0}
spec:
  apps:
  - {name: cilium, version: 0.16.0}
  components:
  - {name: kubernetes, version: 1.29.3}
  state: active
";
const CILIUM_15: &str = "\
apiVersion: release.giantswarm.io/v1alpha1
kind: Release
metadata: {name: aws-29.1.0}
spec:
  apps:
  - {name: cilium, version: 0.15.3}
  components:
  - {name: kubernetes, version: 1.29.4}
  state: active
";
const CILIUM_17: &str = "\
apiVersion: release.giantswarm.io/v1alpha1
kind: Release
metadata: {name: aws-29.1.0}
spec:
  apps:
  - {name: cilium, version: 0.17.0}
  components:
  - {name: kubernetes, version: 1.29.4}
  state: active
";

impl Rule for ComponentDowngrade {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Verdict>) {
        let Some(step) = &change.release else { return };
        let Some(from) = step.from else { return };
        let new = parts(step.to);
        for (name, old) in parts(from) {
            // Kubernetes has rules of its own.
            let same = new.iter().find(|(other, _)| *other == name && name != "kubernetes");
            let Some((_, version)) = same else { continue };
            if version.compare(old) == Some(Ordering::Less) {
                let message = format!(
                    "{name} goes back from {old} in {} to {version} in {}: take a release with {old} or newer, or correct the release",
                    from.id, step.to.id
                );
                let verdict = Verdict::new(&ABOUT, message);
                verdicts.push(verdict.maybe_place(step.place.clone()));
            }
        }
    }
}

fn parts(release: &Release) -> Vec<(&str, &LooseVersion)> {
    let components = release.components.iter().map(|part| (part.name.as_str(), &part.version));
    components.chain(release.apps.iter().map(|part| (part.name.as_str(), &part.version))).collect()
}
