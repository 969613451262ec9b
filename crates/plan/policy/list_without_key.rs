//! `list-without-key`, found while lists are merged.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct ListWithoutKey;

static ABOUT: About =
    About::new(rules::LIST_WITHOUT_KEY, include_str!("../../../docs/rules/list-without-key.md"));

impl PolicyRule for ListWithoutKey {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
