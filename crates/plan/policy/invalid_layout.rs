//! `invalid-layout`, found by `validate`.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct InvalidLayout;

static ABOUT: About =
    About::new(rules::INVALID_LAYOUT, include_str!("../../../docs/rules/invalid-layout.md"));

impl PolicyRule for InvalidLayout {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
