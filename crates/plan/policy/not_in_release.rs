//! `not-in-release`, found while an upgrade is planned.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct NotInRelease;

static ABOUT: About =
    About::new(rules::NOT_IN_RELEASE, include_str!("../../../docs/rules/not-in-release.md"));

impl PolicyRule for NotInRelease {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
