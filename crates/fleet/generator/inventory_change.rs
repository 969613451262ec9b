//! Which clusters a change of the inventory, of schemas or of templates may concern: found without rendering anything.

use std::collections::{BTreeMap, BTreeSet};

use capstan_inventory::kinds::Object;
use capstan_model::finding::{Finding, rules};
use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::tree::TreeId;
use capstan_plan::inventory::{
    FleetInventory, InventoryChange, InventoryDefinition, InventoryGap, InventoryReach, LevelName, record_of,
};

use super::Fleet;
use super::answers::said_of;
use super::inventory_findings::{findings_of, release_at, templates_of};
use super::valued::Subject;
use super::valued_clusters::valued_clusters;

/// The clusters that the change from one snapshot to another may concern; `None` if it changes nothing of the
/// inventory and no release that uses values.
pub fn inventory_change(before: &Fleet, after: &Fleet) -> Option<InventoryChange> {
    let (old, new) = (before.inventory(), after.inventory());
    let inventory = new.or(old)?;
    let releases = changed_releases(before, after);
    let both: BTreeSet<ClusterId> =
        valued_clusters(before).into_iter().chain(valued_clusters(after)).collect();
    let is_at = |id: &ClusterId| {
        !releases.is_empty() && release_at(after, id).is_some_and(|release| releases.contains(&release))
    };
    let concerned = |id: &&ClusterId| said_of(before, id) != said_of(after, id) || is_at(id);
    let clusters: Vec<ClusterId> = both.iter().filter(concerned).cloned().collect();
    let is_lost = inventory.unreadable().is_some() != old.is_some_and(|old| old.unreadable().is_some());
    let findings = [old, new].map(|one| one.map(FleetInventory::findings).unwrap_or_default());
    if clusters.is_empty() && !is_lost && findings[0] == findings[1] {
        return None;
    }
    let levels: BTreeMap<ClusterId, Vec<LevelName>> = clusters
        .iter()
        .filter_map(|id| Some((id.clone(), levels_of(after, id).or_else(|| levels_of(before, id))?)))
        .collect();
    let reach = old.zip(new).map(|(old, new)| InventoryReach::of(old, new));
    let totals = inventory.totals(levels.values().flatten().collect());
    let is_uncounted = |id: &&ClusterId| inventory.definition_in(id.folder()).is_none();
    let uncounted = clusters.iter().filter(is_uncounted).cloned().collect();
    let without_level = clusters.iter().filter(|id| levels_of(after, id).is_none()).cloned().collect();
    let changed: Vec<LevelName> =
        reach.iter().flat_map(|reach| &reach.objects).map(|object| name_of(object)).collect();
    Some(InventoryChange {
        all: inventory.defined(),
        uncounted,
        without_level,
        place: reach.as_ref().zip(new).and_then(|(reach, new)| reach.place(new)),
        before: findings_of(before, &clusters, &changed),
        after: findings_of(after, &clusters, &changed),
        clusters,
        levels,
        totals,
    })
}

/// How many clusters the inventory defines.
pub fn defined_clusters(fleet: &Fleet) -> usize {
    fleet.inventory().map_or(0, FleetInventory::defined)
}

/// Definitions of which nothing can be planned any more: those that have no folder, and those that are gone though
/// their clusters are there. Each with the folder or, without one, its name.
pub fn lost_definitions(before: &Fleet, after: &Fleet) -> Vec<(String, Finding)> {
    let (old, new) = (before.inventory(), after.inventory());
    let mut lost = Vec::new();
    for (definition, findings) in new.into_iter().flat_map(FleetInventory::homeless) {
        let first = findings.into_iter().next();
        lost.extend(first.map(|finding| (definition.level.name.clone(), finding)));
    }
    if new.is_some_and(|new| new.unreadable().is_some()) {
        return lost;
    }
    for (folder, definition) in old.into_iter().flat_map(FleetInventory::clusters) {
        if new.is_some_and(|new| new.inventory.cluster(&definition.level.name).is_some())
            || after.layout().target(folder.as_str()).is_none()
        {
            continue;
        }
        let record = record_of(after.tree().as_ref(), folder).ok().flatten();
        let finding = match InventoryDefinition::of(new, folder, record.as_ref()) {
            Err(InventoryGap::Removed(finding)) => *finding,
            Ok(InventoryDefinition::Nothing) => gone(definition),
            Ok(InventoryDefinition::Defined(_)) | Err(InventoryGap::Unreadable { .. }) => continue,
        };
        lost.push((folder.to_string(), finding));
    }
    lost
}

/// Releases that use values, before or after, and have another content or are new.
fn changed_releases(before: &Fleet, after: &Fleet) -> BTreeSet<ReleaseId> {
    let contents = |fleet: &Fleet| -> BTreeMap<ReleaseId, Option<TreeId>> {
        let releases = fleet.catalogue().releases().iter();
        releases
            .map(|release| (release.id.clone(), fleet.releases_tree().folder_id(&release.folder)))
            .collect()
    };
    let old = contents(before);
    let uses = |fleet: &Fleet, id: &ReleaseId| {
        templates_of(fleet, id).is_some_and(|templates| templates.use_values())
    };
    let differs = contents(after).into_iter().filter(|(id, tree)| old.get(id) != Some(tree));
    differs.map(|(id, _)| id).filter(|id| uses(after, id) || uses(before, id)).collect()
}

fn levels_of(fleet: &Fleet, id: &ClusterId) -> Option<Vec<LevelName>> {
    Some(Subject::of(fleet, id.folder()).ok().flatten()?.levels())
}

fn name_of(object: &Object) -> LevelName {
    (object.level.kind.kind().to_owned(), object.level.name.clone())
}

/// That a definition is gone of a cluster that records none.
fn gone(definition: &Object) -> Finding {
    let message = format!(
        "{} was here and is gone, but its cluster stays. To delete the cluster, first write `retire: true` in the definition",
        definition.level
    );
    Finding::new(rules::DEFINITION_REMOVED, message).place(definition.level.place(definition.offset))
}
