//! `unmatched-fragment`, found while a release is matched with a cluster.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct UnmatchedFragment;

static ABOUT: About =
    About::new(rules::UNMATCHED_FRAGMENT, include_str!("../../../docs/rules/unmatched-fragment.md"));

impl PolicyRule for UnmatchedFragment {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
