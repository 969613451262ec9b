//! `step-group-split`, found while a merge is settled.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct StepGroupSplit;

static ABOUT: About =
    About::new(rules::STEP_GROUP_SPLIT, include_str!("../../../docs/rules/step-group-split.md"));

impl PolicyRule for StepGroupSplit {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
