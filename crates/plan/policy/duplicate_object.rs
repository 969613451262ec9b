//! `duplicate-object`, found by `validate` and by everything that renders.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct DuplicateObject;

static ABOUT: About =
    About::new(rules::DUPLICATE_OBJECT, include_str!("../../../docs/rules/duplicate-object.md"));

impl PolicyRule for DuplicateObject {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
