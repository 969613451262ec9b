//! `too-large`, found by `validate` and by everything that renders.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct TooLarge;

static ABOUT: About = About::new(rules::TOO_LARGE, include_str!("../../../docs/rules/too-large.md"));

impl PolicyRule for TooLarge {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
