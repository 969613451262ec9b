//! `edit-refused`, found while an upgrade edits files.

use super::rule::{About, Rule};
use capstan_model::finding::rules;

pub(super) struct EditRefused;

static ABOUT: About = About::new(rules::EDIT_REFUSED, include_str!("../../../docs/rules/edit-refused.md"));

impl Rule for EditRefused {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
