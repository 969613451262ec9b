//! Why a folder is refused for its content in Git, whatever is live.

use capstan_kustomize::render::RenderedFolder;
use capstan_live::applying::{FolderHome, OwnerIndex, Scopes, Surroundings, boundary};
use capstan_model::finding::{Severity, rules};
use capstan_model::ids::ClusterId;

use capstan_fleet::generator::Fleet;
use capstan_reconciler_core::reason::Reason;

/// Whether a folder is refused, other folders aside: its render is then not applied, and takes nothing from them.
pub(super) fn is_refused(
    fleet: &Fleet,
    id: &ClusterId,
    rendered: &RenderedFolder,
    home: &FolderHome,
    scopes: &Scopes,
) -> bool {
    let alone = Surroundings { folder: id, settings: fleet.settings(), scopes, neighbours: None };
    fleet.own_settings(id).is_err()
        || !unusable(fleet, id, rendered).is_empty()
        || !boundary(rendered, home, &alone, &OwnerIndex::default()).is_empty()
}

/// Why its render is not applied as it is.
pub(super) fn unusable(fleet: &Fleet, id: &ClusterId, rendered: &RenderedFolder) -> Vec<Reason> {
    if rendered.objects.is_empty() {
        return vec![Reason::plain(
            "NothingRendered",
            format!("the folder {id} renders no objects: nothing is applied, and nothing is deleted"),
        )];
    }
    // A patch that finds no target is a customer's wish that would be lost without a word.
    let is_error = fleet.settings().severities().of(rules::OVERLAY_LOSES_TARGET) == Some(Severity::Error);
    rendered.patches.iter().filter(|_| is_error).filter_map(Reason::of_lost_patch).collect()
}
