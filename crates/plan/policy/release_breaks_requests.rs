//! `release-breaks-requests`

use super::evidence::Evidence;
use super::rule::{About, PolicyRule};
use crate::release::{Release, Unmet};
use capstan_model::finding::{Finding, rules};

pub(super) struct ReleaseBreaksRequests;

static ABOUT: About = About::new(
    rules::RELEASE_BREAKS_REQUESTS,
    include_str!("../../../docs/rules/release-breaks-requests.md"),
);

impl PolicyRule for ReleaseBreaksRequests {
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
        "{} does not meet the requests: {unmet}. Use another release, correct this one, or name it in `except`",
        release.id
    );
    Finding::new(rules::RELEASE_BREAKS_REQUESTS, message).place(unmet.place.clone())
}
