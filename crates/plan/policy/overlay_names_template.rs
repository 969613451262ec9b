//! `overlay-names-template`, found while an upgrade rotates templates.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct OverlayNamesTemplate;

static ABOUT: About =
    About::new(rules::OVERLAY_NAMES_TEMPLATE, include_str!("../../../docs/rules/overlay-names-template.md"));

impl PolicyRule for OverlayNamesTemplate {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
