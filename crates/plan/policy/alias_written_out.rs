//! `alias-written-out`, found while an upgrade edits files.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct AliasWrittenOut;

static ABOUT: About =
    About::new(rules::ALIAS_WRITTEN_OUT, include_str!("../../../docs/rules/alias-written-out.md"));

impl PolicyRule for AliasWrittenOut {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
