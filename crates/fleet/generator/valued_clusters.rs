//! Which clusters the inventory has something to say of, and what becomes of those that have no folder yet.

use std::collections::BTreeSet;

use capstan_inventory::record;
use capstan_model::ids::ClusterId;
use capstan_model::target::{Target, TargetKind};
use capstan_plan::proposal::Scope;
use capstan_plan::upgrade::Retarget;

use super::Fleet;
use super::to_come::ToCome;
use super::valued::Subject;

/// The clusters that the inventory has something to say of: those that it defines, and those that record that it
/// did. Of the first some are still to come.
pub fn valued_clusters(fleet: &Fleet) -> Vec<ClusterId> {
    let Some(inventory) = fleet.inventory() else { return Vec::new() };
    let defined = inventory.clusters().map(|(folder, _)| ClusterId::new(folder.clone()));
    let mut clusters: BTreeSet<ClusterId> = defined.collect();
    clusters.extend(fleet.clusters().filter(|id| has_record(fleet, id)).cloned());
    clusters.into_iter().collect()
}

/// Whether the inventory defines a cluster, or it records that it did.
pub(super) fn is_valued(fleet: &Fleet, id: &ClusterId) -> bool {
    let inventory = fleet.inventory();
    inventory.is_some_and(|inventory| inventory.definition_in(id.folder()).is_some()) || has_record(fleet, id)
}

fn has_record(fleet: &Fleet, id: &ClusterId) -> bool {
    id.folder().join(record::FILE).is_ok_and(|path| fleet.tree().entry(&path).is_some())
}

/// Whether a cluster is defined and has no folder.
pub(super) fn is_to_come(fleet: &Fleet, id: &ClusterId) -> bool {
    if fleet.layout().target(id.as_str()).is_some() {
        return false;
    }
    let inventory = fleet.inventory().filter(|inventory| inventory.unreadable().is_none());
    let definition = inventory.and_then(|inventory| inventory.definition_in(id.folder()));
    definition.is_some_and(|definition| definition.retire.is_none())
}

/// Where clusters would be written that are to come.
pub fn scopes_to_come(fleet: &Fleet) -> Vec<Scope> {
    let folders = &fleet.settings().clusters;
    let to_come = valued_clusters(fleet).into_iter().filter(|id| is_to_come(fleet, id));
    to_come
        .map(|id| Scope {
            base: folders.base.inside(id.folder()),
            overlay: folders.overlay.inside(id.folder()),
            target: Target::new(kind_to_come(fleet, &id), id),
            retarget: Retarget::Refused,
        })
        .collect()
}

/// Who receives what the inventory brings to a folder.
pub fn valued_target(fleet: &Fleet, id: &ClusterId) -> Target {
    match fleet.layout().target(id.as_str()) {
        Some(folder) => folder.target(),
        None => Target::new(kind_to_come(fleet, id), id.clone()),
    }
}

/// What a folder becomes that is to come: with a management cluster's provider objects in it a provider set.
fn kind_to_come(fleet: &Fleet, id: &ClusterId) -> TargetKind {
    if fleet.settings().names_providers(id) {
        return TargetKind::Providers;
    }
    let subject = Subject::of(fleet, id.folder()).ok().flatten();
    let Some(subject) = subject.filter(Subject::is_management) else { return TargetKind::Cluster };
    let is_set = ToCome::of(fleet, &subject).is_ok_and(|made| made.source.has_providers);
    if is_set { TargetKind::Providers } else { TargetKind::Cluster }
}
