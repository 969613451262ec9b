//! `release-goes-back-in-time`

use super::evidence::Evidence;
use super::rule::{About, Example, Rule};
use crate::release::goes_back_in_time;
use capstan_model::finding::{Finding, rules};

pub(super) struct ReleaseGoesBackInTime;

static ABOUT: About = About {
    entry: rules::RELEASE_GOES_BACK_IN_TIME,
    summary: "The new release was published before the cluster's own.",
    reason: "An older minor that goes on to be maintained is often younger than the first releases of the next \
             one: those lack the fixes that the cluster has already. Of Giant Swarm's 96 neighbouring releases for \
             AWS 11 go back in time.",
    source: "https://github.com/giantswarm/releases",
    bad: Example::Upgrade(&[
        ("peu01/base/values.yaml", VALUES),
        ("aws/v33.4.0/release.yaml", JUNE),
        ("aws/v34.0.0/release.yaml", JANUARY),
    ]),
    good: Example::Upgrade(&[
        ("peu01/base/values.yaml", VALUES),
        ("aws/v33.4.0/release.yaml", JUNE),
        ("aws/v34.5.0/release.yaml", JULY),
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
        version: 33.4.0 # <--
";

const JUNE: &str = "\
apiVersion: release.giantswarm.io/v1alpha1
kind: Release
metadata: {name: aws-33.4.0}
spec:
  components:
  - {name: kubernetes, version: 1.33.6}
  date: \"2026-06-02T16:36:21Z\"
  state: active
";
const JANUARY: &str = "\
apiVersion: release.giantswarm.io/v1alpha1
kind: Release
metadata: {name: aws-34.0.0}
spec:
  components:
  - {name: kubernetes, version: 1.34.3}
  date: \"2026-01-23T12:11:29Z\"
  state: active
";
const JULY: &str = "\
apiVersion: release.giantswarm.io/v1alpha1
kind: Release
metadata: {name: aws-34.5.0}
spec:
  components:
  - {name: kubernetes, version: 1.34.10}
  date: \"2026-07-23T09:17:35Z\"
  state: active
";

impl Rule for ReleaseGoesBackInTime {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        let Some(step) = &change.release else { return };
        let Some((from, (old, new))) =
            step.from.and_then(|from| Some((from, goes_back_in_time(from, step.to)?)))
        else {
            return;
        };
        let message = format!(
            "{} was published on {new}, before {} ({old}): it may lack fixes that the cluster has, so look for a younger \
             release, or compare the two before this is merged",
            step.to.id, from.id
        );
        verdicts
            .push(Finding::new(rules::RELEASE_GOES_BACK_IN_TIME, message).maybe_place(step.place.clone()));
    }
}
