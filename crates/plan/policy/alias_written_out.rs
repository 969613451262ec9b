//! `alias-written-out`, found while an upgrade edits files.

use super::rule::{About, Rule};
use capstan_model::finding::rules;

pub(super) struct AliasWrittenOut;

static ABOUT: About =
    About::new(rules::ALIAS_WRITTEN_OUT, include_str!("../../../docs/rules/alias-written-out.md"));

impl Rule for AliasWrittenOut {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
