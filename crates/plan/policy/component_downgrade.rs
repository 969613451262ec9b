//! `component-downgrade`

use super::evidence::Evidence;
use super::rule::{About, PolicyRule};
use crate::release::downgrades;
use capstan_model::finding::{Finding, rules};

pub(super) struct ComponentDowngrade;

static ABOUT: About =
    About::new(rules::COMPONENT_DOWNGRADE, include_str!("../../../docs/rules/component-downgrade.md"));

impl PolicyRule for ComponentDowngrade {
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
