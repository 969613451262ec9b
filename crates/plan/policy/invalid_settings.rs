//! `invalid-settings`, found by `validate` and by everything that reads settings.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct InvalidSettings;

static ABOUT: About =
    About::new(rules::INVALID_SETTINGS, include_str!("../../../docs/rules/invalid-settings.md"));

impl PolicyRule for InvalidSettings {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
