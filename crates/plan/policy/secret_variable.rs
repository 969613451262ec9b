//! `secret-variable`, found while an upgrade puts values in.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct SecretVariable;

static ABOUT: About =
    About::new(rules::SECRET_VARIABLE, include_str!("../../../docs/rules/secret-variable.md"));

impl PolicyRule for SecretVariable {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
