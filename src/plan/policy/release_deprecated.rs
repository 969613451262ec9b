//! `release-deprecated`

use super::evidence::Evidence;
use super::rule::{About, Example, Rule};
use crate::release::ReleaseState;
use capstan_model::finding::{Finding, rules};

pub(super) struct ReleaseDeprecated;

static ABOUT: About = About {
    entry: rules::RELEASE_DEPRECATED,
    summary: "An upgrade goes to a release that is marked as deprecated.",
    reason: "Whoever published it advises against it: most often a newer patch mends what is wrong with it. Such a \
             release is never offered; it was asked for by name.",
    source: "https://github.com/giantswarm/releases",
    bad: Example::Upgrade(&[
        ("peu01/base/values.yaml", VALUES),
        ("aws/v29.0.0/release.yaml", OLD),
        ("aws/v29.1.0/release.yaml", DEPRECATED),
    ]),
    good: Example::Upgrade(&[
        ("peu01/base/values.yaml", VALUES),
        ("aws/v29.0.0/release.yaml", OLD),
        ("aws/v29.1.0/release.yaml", ACTIVE),
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
const OLD: &str = "\
apiVersion: release.giantswarm.io/v1alpha1
kind: Release
metadata: {name: aws-29.0.0}
spec:
  components: [{name: kubernetes, version: 1.29.3}]
  state: active
";
const DEPRECATED: &str = "\
apiVersion: release.giantswarm.io/v1alpha1
kind: Release
metadata: {name: aws-29.1.0}
spec:
  components: [{name: kubernetes, version: 1.29.4}]
  state: deprecated
";
const ACTIVE: &str = "\
apiVersion: release.giantswarm.io/v1alpha1
kind: Release
metadata: {name: aws-29.1.0}
spec:
  components: [{name: kubernetes, version: 1.29.4}]
  state: active
";

impl Rule for ReleaseDeprecated {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        let Some(step) = change.release.as_ref().filter(|step| step.to.state == ReleaseState::Deprecated)
        else {
            return;
        };
        let message = format!("release {} is deprecated: take a newer one that is active", step.to.id);
        verdicts.push(Finding::new(rules::RELEASE_DEPRECATED, message).maybe_place(step.place.clone()));
    }
}
