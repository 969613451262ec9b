//! `invalid-yaml`, found by `validate`.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct InvalidYaml;

static ABOUT: About = About::new(rules::INVALID_YAML, include_str!("../../../docs/rules/invalid-yaml.md"));

impl PolicyRule for InvalidYaml {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
