//! `render-failed`, found by `validate` and by everything that renders.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct RenderFailed;

static ABOUT: About = About::new(rules::RENDER_FAILED, include_str!("../../../docs/rules/render-failed.md"));

impl PolicyRule for RenderFailed {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
