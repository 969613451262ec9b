//! `ambiguous-match`, found while a release is matched with a cluster.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct AmbiguousMatch;

static ABOUT: About =
    About::new(rules::AMBIGUOUS_MATCH, include_str!("../../../docs/rules/ambiguous-match.md"));

impl PolicyRule for AmbiguousMatch {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
