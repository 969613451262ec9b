//! What the inventory offers a cluster: other values, under the release that it has.

use std::sync::OnceLock;

use capstan_model::source::SourceKind;
use capstan_plan::inventory::InventoryGap;
use capstan_plan::path::{Direction, NotOffered, Offer, OfferedStep as PathStep, PathOutcome};
use jiff::civil::Date;

use super::inputs::OldReleaseInput;
use super::reading::{Offered, Reading};
use super::refused::Refused;

/// What the inventory brings to the cluster: other values, under the release that it has.
///
/// # Errors
/// The inventory cannot be read.
pub(super) fn offer_values(
    reading: Reading,
    old: Option<OldReleaseInput>,
    today: Date,
) -> Result<Offered, Refused> {
    let Reading { standing, effective, valued, .. } = &reading;
    let nothing = |why: &str| PathOutcome::Nothing(NotOffered::Inventory(why.to_owned()));
    let outcome = match (&valued.gap, &standing.release) {
        (Some(InventoryGap::Unreadable { why, place }), _) => {
            let message = format!("{why}: Capstan proposes nothing and deletes nothing [definition-removed]");
            return Err(Refused { message, place: Some(place.clone()) });
        }
        (Some(InventoryGap::Removed(finding)), _) => nothing(&format!("{}.", finding.message)),
        _ if !valued.is_defined => nothing("The inventory does not have it."),
        (None, None) => nothing("Its release is unknown, so its values have no schema and no templates."),
        (None, Some(release)) => match effective.hold_on(today) {
            Some(hold) => PathOutcome::Nothing(NotOffered::Held {
                reason: hold.reason.trim_end_matches('.').to_owned(),
                until: hold.until,
            }),
            None => PathOutcome::Step(PathStep {
                to: release.clone(),
                content: standing.content.clone(),
                direction: Direction::Refresh,
                minor_skip: None,
                follows: Vec::new(),
            }),
        },
    };
    let offer = Offer { from: standing.release.clone(), outcome, notes: effective.notes.clone() };
    let rendered = OnceLock::new();
    Ok(Offered { offer, old, brought_by: SourceKind::INVENTORY, rendered, reading })
}
