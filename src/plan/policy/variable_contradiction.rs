//! `variable-contradiction`, found while variables are bound.

use super::rule::{About, Rule};
use capstan_model::finding::rules;

pub(super) struct VariableContradiction;

static ABOUT: About =
    About::new(rules::VARIABLE_CONTRADICTION, include_str!("../../../docs/rules/variable-contradiction.md"));

impl Rule for VariableContradiction {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
