//! `release-breaks-requests`

use super::evidence::Evidence;
use super::rule::{About, Example, Rule};
use crate::release::{Release, Unmet};
use capstan_model::finding::{Finding, rules};

pub(super) struct ReleaseBreaksRequests;

static ABOUT: About = About {
    entry: rules::RELEASE_BREAKS_REQUESTS,
    summary: "A release does not have what its provider's `requests.yaml` asks of it.",
    reason: "A team asked for these versions, most often because others break clusters. Such a release is not \
             offered by itself; asked for by name, it is taken with this warning.",
    source: "https://github.com/giantswarm/releases/blob/master/docs/workflows-pinning-versions.md",
    bad: Example::Tree(&[("aws/requests.yaml", REQUESTS), ("aws/v29.1.0/release.yaml", CILIUM_12)]),
    good: Example::Tree(&[("aws/requests.yaml", REQUESTS), ("aws/v29.1.0/release.yaml", CILIUM_13)]),
};

const REQUESTS: &str = "\
releases:
- name: \">= 29.0.0\"
  requests:
  - name: cilium # <--
    version: \">= 1.3.0\"
";
const CILIUM_12: &str = "\
apiVersion: release.giantswarm.io/v1alpha1
kind: Release
metadata: {name: aws-29.1.0}
spec:
  apps:
  - {name: cilium, version: 1.2.0}
  components:
  - {name: kubernetes, version: 1.29.4}
  state: active
";
const CILIUM_13: &str = "\
apiVersion: release.giantswarm.io/v1alpha1
kind: Release
metadata: {name: aws-29.1.0}
spec:
  apps:
  - {name: cilium, version: 1.3.1}
  components:
  - {name: kubernetes, version: 1.29.4}
  state: active
";

impl Rule for ReleaseBreaksRequests {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        let Some(step) = &change.release else { return };
        verdicts.extend(step.to.unmet.iter().map(|unmet| verdict(step.to, unmet)));
    }
}

/// A request that a release does not meet: also [`validate`](super::validate()) finds those.
pub(super) fn verdict(release: &Release, unmet: &Unmet) -> Finding {
    let message = format!(
        "{} does not have what is asked of it: {unmet}. Take another release, correct this one, or name it in `except`",
        release.id
    );
    Finding::new(rules::RELEASE_BREAKS_REQUESTS, message).place(unmet.place.clone())
}
