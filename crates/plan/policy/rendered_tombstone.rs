//! `rendered-tombstone`, found by `validate`.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct RenderedTombstone;

static ABOUT: About =
    About::new(rules::RENDERED_TOMBSTONE, include_str!("../../../docs/rules/rendered-tombstone.md"));

impl PolicyRule for RenderedTombstone {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
