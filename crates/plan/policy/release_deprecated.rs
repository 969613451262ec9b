//! `release-deprecated`

use super::evidence::Evidence;
use super::rule::{About, PolicyRule};
use crate::release::ReleaseState;
use capstan_model::finding::{Finding, rules};

pub(super) struct ReleaseDeprecated;

static ABOUT: About =
    About::new(rules::RELEASE_DEPRECATED, include_str!("../../../docs/rules/release-deprecated.md"));

impl PolicyRule for ReleaseDeprecated {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        let Some(step) = change.release.as_ref().filter(|step| step.to.state == ReleaseState::Deprecated)
        else {
            return;
        };
        let message = format!("release {} is deprecated: use a newer one that is active", step.to.id);
        verdicts.push(Finding::new(rules::RELEASE_DEPRECATED, message).maybe_place(step.place.clone()));
    }
}
