//! `unsupported-substitution`, found while an upgrade puts values in.

use super::rule::{About, Rule};
use capstan_model::finding::rules;

pub(super) struct UnsupportedSubstitution;

static ABOUT: About = About::new(
    rules::UNSUPPORTED_SUBSTITUTION,
    include_str!("../../../docs/rules/unsupported-substitution.md"),
);

impl Rule for UnsupportedSubstitution {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
