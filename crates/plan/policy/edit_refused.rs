//! `edit-refused`, found while an upgrade edits files.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct EditRefused;

static ABOUT: About = About::new(rules::EDIT_REFUSED, include_str!("../../../docs/rules/edit-refused.md"));

impl PolicyRule for EditRefused {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
