//! `invalid-definition`, found while definitions are read.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct InvalidDefinition;

static ABOUT: About =
    About::new(rules::INVALID_DEFINITION, include_str!("../../../docs/rules/invalid-definition.md"));

impl PolicyRule for InvalidDefinition {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
