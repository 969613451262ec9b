//! The name of an offer, by which people decline or skip it.

use super::source::SourceState;
use crate::upgrade::Upgrade;
use capstan_model::source::SourceKind;

/// The name of an upgrade's offer: see [`Offer::name`](super::Offer::name).
pub fn offer_name(upgrade: &Upgrade) -> Option<String> {
    let source = SourceState::new(upgrade.to.clone()?, upgrade.to_content.clone());
    Some(name_of(&source, &upgrade.brought_by()))
}

/// The same of a source that such a kind brings.
pub(super) fn name_of(source: &SourceState, brought_by: &SourceKind) -> String {
    if *brought_by == SourceKind::INVENTORY { source.to_string() } else { source.source().to_string() }
}
