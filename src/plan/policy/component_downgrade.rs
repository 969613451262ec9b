//! `component-downgrade`

use super::evidence::Evidence;
use super::rule::{About, Example, Rule};
use crate::release::downgrades;
use capstan_model::finding::{Finding, rules};

pub(super) struct ComponentDowngrade;

static ABOUT: About = About {
    entry: rules::COMPONENT_DOWNGRADE,
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
  values: |
    global:
      release:
        version: 29.0.0 # <--
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

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        let Some(step) = &change.release else { return };
        let Some(from) = step.from else { return };
        for part in downgrades(from, step.to) {
            let message = format!(
                "{} goes back from {} in {} to {} in {}: take a release with {} or newer, or correct the release",
                part.name, part.old, from.id, part.new, step.to.id, part.old
            );
            verdicts.push(Finding::new(rules::COMPONENT_DOWNGRADE, message).maybe_place(step.place.clone()));
        }
    }
}
