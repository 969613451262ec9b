//! `release-goes-back-in-time`

use super::evidence::Evidence;
use super::rule::{About, PolicyRule};
use crate::release::goes_back_in_time;
use capstan_model::finding::{Finding, rules};

pub(super) struct ReleaseGoesBackInTime;

static ABOUT: About = About::new(
    rules::RELEASE_GOES_BACK_IN_TIME,
    include_str!("../../../docs/rules/release-goes-back-in-time.md"),
);

impl PolicyRule for ReleaseGoesBackInTime {
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
            "{} was published on {new}, before {} ({old}). It may lack fixes that the cluster has: use a later release, or compare the two before you merge",
            step.to.id, from.id
        );
        verdicts
            .push(Finding::new(rules::RELEASE_GOES_BACK_IN_TIME, message).maybe_place(step.place.clone()));
    }
}
