//! `kind-changed`, found while objects are merged.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct KindChanged;

static ABOUT: About = About::new(rules::KIND_CHANGED, include_str!("../../../docs/rules/kind-changed.md"));

impl PolicyRule for KindChanged {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
