//! What is wrong with an inventory, with the values of clusters, and with objects that changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_inventory::ReleasesBelow;
use capstan_inventory::components::no_component;
use capstan_inventory::kinds::Object;
use capstan_model::finding::{Finding, rules};
use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_plan::inventory::{
    FleetInventory, InventoryDefinition, InventoryGap, LevelName, ReleaseTemplates, record_of,
};

use super::Fleet;
use super::record::settings_of;
use super::valued::Subject;

/// What is wrong with the inventory itself, with the values of these clusters, and with these objects.
pub(super) fn findings_of(fleet: &Fleet, clusters: &[ClusterId], changed: &[LevelName]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let inventory = fleet.inventory();
    if let Some(inventory) = inventory {
        findings.extend(inventory.inventory.findings.iter().cloned());
        findings.extend(inventory.clashes());
        findings.extend(inventory.homeless().into_iter().flat_map(|(_, findings)| findings));
    }
    let mut lost = 0_usize;
    for id in clusters {
        let record = record_of(fleet.tree().as_ref(), id.folder()).ok().flatten();
        match InventoryDefinition::of(inventory, id.folder(), record.as_ref()) {
            Err(InventoryGap::Removed(finding)) => findings.push(*finding),
            Err(InventoryGap::Unreadable { .. }) => lost += 1,
            Ok(InventoryDefinition::Nothing) => {}
            Ok(InventoryDefinition::Defined(definition)) => {
                match inventory.map(|inventory| inventory.member(definition)) {
                    Some(Err(wrong)) => findings.extend(wrong),
                    Some(Ok(member)) => {
                        let schema = release_at(fleet, id).and_then(|release| templates_of(fleet, &release));
                        let values = member.values(schema.as_ref().and_then(|one| one.parts.schema.as_ref()));
                        findings.extend(values.findings);
                        let missing = member.wishes.components.iter();
                        let missing = missing.filter(|(path, _)| fleet.tree().folder_id(path).is_none());
                        findings.extend(missing.map(|(path, origin)| no_component(path, origin)));
                        findings.extend(schema.iter().flat_map(|one| one.parts.findings.iter().cloned()));
                    }
                    None => {}
                }
            }
        }
    }
    if let Some(inventory) = inventory {
        if let Some((why, place)) = inventory.unreadable().filter(|_| lost > 0) {
            let message = format!("{why}: Capstan proposes nothing for its clusters, and deletes nothing");
            findings.push(Finding::new(rules::DEFINITION_REMOVED, message).place(place.clone()));
        }
        findings.extend(unknown_in(fleet, inventory, changed));
    }
    let mut seen = BTreeSet::new();
    findings.retain(|finding| seen.insert((finding.rule, finding.place.clone(), finding.message.clone())));
    fleet.settings().severities().settle(findings)
}

/// The schema and templates of a release, where they can be read.
pub(super) fn templates_of(fleet: &Fleet, release: &ReleaseId) -> Option<Arc<ReleaseTemplates>> {
    let release = fleet.catalogue().find(release)?;
    fleet.sources().templates_of(fleet.releases_tree(), release).ok()
}

/// Values of these objects that no release below them knows.
fn unknown_in(fleet: &Fleet, inventory: &FleetInventory, changed: &[LevelName]) -> Vec<Finding> {
    let changed: BTreeSet<(&str, &str)> =
        changed.iter().map(|(kind, name)| (kind.as_str(), name.as_str())).collect();
    let is_changed =
        |object: &Object| changed.contains(&(object.level.kind.kind(), object.level.name.as_str()));
    let mut below = ReleasesBelow::default();
    for (folder, definition) in inventory.clusters() {
        let Ok(member) = inventory.member(definition) else { continue };
        let own = || member.objects.iter().copied().filter(|object| is_changed(object));
        if own().next().is_some() {
            below.note(own(), release_at(fleet, &ClusterId::new(folder.clone())).as_ref());
        }
    }
    let releases = below.releases().into_iter();
    let parts: BTreeMap<&ReleaseId, Arc<ReleaseTemplates>> =
        releases.filter_map(|release| Some((release, templates_of(fleet, release)?))).collect();
    below.unknown_values(|release| parts.get(release)?.parts.schema.as_ref())
}

/// The release that a cluster records, or that its levels ask for.
pub(super) fn release_at(fleet: &Fleet, id: &ClusterId) -> Option<ReleaseId> {
    let folder = fleet.layout().target(id.as_str());
    let settings = folder.and_then(|folder| settings_of(fleet.tree().as_ref(), folder));
    let recorded = settings.and_then(|settings| settings.release);
    recorded.or_else(|| {
        let subject = Subject::of(fleet, id.folder()).ok().flatten()?;
        subject.member.wishes.release.as_ref().map(|(release, _)| release.clone())
    })
}
