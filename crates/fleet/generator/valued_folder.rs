//! What the inventory brings to a cluster that has its folder: other values, under the release that it has.

use std::sync::Arc;

use capstan_model::ids::ClusterId;
use capstan_plan::inventory::record_of;
use capstan_plan::upgrade::Upgrade;

use super::answers::said_of;
use super::gather::Gathered;
use super::inputs::OldReleaseInput;
use super::offered_values::offer_values;
use super::old_release::OldRelease;
use super::reading::Reading;
use super::record::settings_of;
use super::reuse::{is_reusable, keep};
use super::valued::Subject;
use super::{Fleet, Refused};

/// Whether it is known that the inventory brings nothing to a cluster.
pub(super) fn is_settled(fleet: &Fleet, id: &ClusterId) -> bool {
    let known = fleet.known().and_then(|known| known.settled_values(id));
    known.is_some_and(|known| known == (fleet.tree().folder_id(id.folder()), said_of(fleet, id)))
}

fn settle(fleet: &Fleet, id: &ClusterId) {
    if let Some(known) = fleet.known() {
        known.note_settled(id, (fleet.tree().folder_id(id.folder()), said_of(fleet, id)));
    }
}

/// The plan of a folder's values; `None` if they stay.
///
/// # Errors
/// What is wrong with its values, its release or its render.
pub(super) fn plan_folder(fleet: &Fleet, id: &ClusterId) -> Result<Option<Arc<Upgrade>>, Refused> {
    if has_its_values(fleet, id)? {
        settle(fleet, id);
        return Ok(None);
    }
    let kept = fleet.known().and_then(|known| Some((known, known.kept_values(id)?)));
    if let Some((_, kept)) = kept.filter(|(known, kept)| is_reusable(fleet, known, kept)) {
        return Ok(Some(Arc::clone(&kept.upgrade)));
    }
    let reading = Reading::of(fleet.conditions(), fleet, id)?;
    let old = fleet.supplement().old_release(&reading.standing);
    let gathered = Gathered::of_offered(fleet, offer_values(reading, old, fleet.today())?)?;
    let is_nothing = gathered.made.upgrade.to.is_none();
    if is_nothing && gathered.made.upgrade.findings.is_empty() {
        if !gathered.made.failed && gathered.offered.step().is_some() {
            settle(fleet, id);
        }
        return Ok(None);
    }
    let Some(known) = fleet.known() else { return Ok(Some(Arc::new(gathered.made.upgrade))) };
    known.count_planned();
    Ok(Some(keep(known, gathered, None).0))
}

/// Whether a cluster records just the values that the inventory says, as far as one can tell without reading its base
/// or rendering anything.
fn has_its_values(fleet: &Fleet, id: &ClusterId) -> Result<bool, Refused> {
    let tree = fleet.tree().as_ref();
    let Ok(Some(record)) = record_of(tree, id.folder()) else { return Ok(false) };
    let Some(folder) = fleet.layout().target(id.as_str()) else { return Ok(false) };
    let Some(settings) = settings_of(tree, folder) else { return Ok(false) };
    let Some(release) = settings.release.clone() else { return Ok(false) };
    let Some(subject) = Subject::of(fleet, id.folder())? else { return Ok(false) };
    // What only history has is read when a plan is made.
    let old = fleet.supplement().old_release_of(release, settings.release_content());
    let old = OldReleaseInput { past: None, ..old };
    let Some(old) = OldRelease::find(fleet, &old) else { return Ok(false) };
    let templates = old.templates(fleet)?;
    let (values, now) = subject.values(fleet, &templates);
    Ok(values.findings.is_empty() && now == record)
}
