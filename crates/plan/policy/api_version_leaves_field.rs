//! `api-version-leaves-field`, found while the fields of an object are merged.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct ApiVersionLeavesField;

static ABOUT: About = About::new(
    rules::API_VERSION_LEAVES_FIELD,
    include_str!("../../../docs/rules/api-version-leaves-field.md"),
);

impl PolicyRule for ApiVersionLeavesField {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
