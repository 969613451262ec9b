//! `overlay-changes-providers`, found while a provider set is read.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct OverlayChangesProviders;

static ABOUT: About = About::new(
    rules::OVERLAY_CHANGES_PROVIDERS,
    include_str!("../../../docs/rules/overlay-changes-providers.md"),
);

impl PolicyRule for OverlayChangesProviders {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
