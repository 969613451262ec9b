//! `invalid-definition`, found while definitions are read.

use super::rule::{About, Rule};
use capstan_model::finding::rules;

pub(super) struct InvalidDefinition;

static ABOUT: About =
    About::new(rules::INVALID_DEFINITION, include_str!("../../../docs/rules/invalid-definition.md"));

impl Rule for InvalidDefinition {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
