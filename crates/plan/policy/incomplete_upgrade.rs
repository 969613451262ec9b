//! `incomplete-upgrade`, found where the result of an upgrade is compared with the release once more.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct IncompleteUpgrade;

static ABOUT: About =
    About::new(rules::INCOMPLETE_UPGRADE, include_str!("../../../docs/rules/incomplete-upgrade.md"));

impl PolicyRule for IncompleteUpgrade {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
