//! `release-goes-back-in-time`

use super::{About, Change, Example, Facts, Rule, Verdict};
use crate::finding::Severity;
use crate::release::goes_back_in_time;

pub(super) struct ReleaseGoesBackInTime;

static ABOUT: About = About {
    id: "release-goes-back-in-time",
    severity: Severity::Warning,
    change: Change::Free,
    summary: "The new release was published before the cluster's own.",
    reason: "An older minor that goes on to be maintained is often younger than the first releases of the next \
             one: those lack the fixes that the cluster has already. Of Giant Swarm's 96 neighbouring releases for \
             AWS 11 go back in time.",
    source: "https://github.com/giantswarm/releases",
    bad: Example { before: &[("release.yaml", JUNE)], after: &[("release.yaml", JANUARY)] },
    good: Example { before: &[("release.yaml", JANUARY)], after: &[("release.yaml", JUNE)] },
};

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

impl Rule for ReleaseGoesBackInTime {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn judge(&self, facts: &Facts<'_>, verdicts: &mut Vec<Verdict>) {
        let Some(step) = &facts.release else { return };
        let Some((from, (old, new))) =
            step.from.and_then(|from| Some((from, goes_back_in_time(from, step.to)?)))
        else {
            return;
        };
        let message = format!(
            "{} is of {new}, older than {} of {old}: it may lack fixes that the cluster has, so look for a younger \
             release, or compare the two before this is merged",
            step.to.id, from.id
        );
        let verdict = Verdict::new(&ABOUT, message);
        verdicts.push(match &step.place {
            Some(place) => verdict.place(place.clone()),
            None => verdict,
        });
    }
}
