//! Which clusters a change of the inventory, of schemas or of templates may concern: found without rendering anything.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_inventory::ReleasesBelow;
use capstan_inventory::components::no_component;
use capstan_inventory::kinds::Object;
use capstan_inventory::survey::folder_clash;
use capstan_model::file_change::FileChange;
use capstan_model::finding::{Finding, rules};
use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::tree::{RepoPath, Tree, TreeEntry, TreeId};
use capstan_plan::inventory::{
    FleetInventory, InventoryChange, InventoryReach, LevelName, ReleaseTemplates, Said, Stands, record_of,
};

use super::Fleet;
use super::contents::Contents;
use super::record::settings_of;
use super::valued::Subject;

impl Fleet {
    /// The clusters that the change from another snapshot to this one may concern; `None` if it changes nothing of the
    /// inventory and no release that uses values.
    pub fn inventory_change(&self, before: &Self) -> Option<InventoryChange> {
        let (old, new) = (Contents::inventory(before), Contents::inventory(self));
        let inventory = new.or(old)?;
        let releases = self.changed_releases(before);
        let both: BTreeSet<ClusterId> =
            before.valued_clusters().into_iter().chain(self.valued_clusters()).collect();
        let is_at = |id: &ClusterId| {
            !releases.is_empty() && self.release_at(id).is_some_and(|release| releases.contains(&release))
        };
        let concerned = |id: &&ClusterId| before.said_of(id) != self.said_of(id) || is_at(id);
        let clusters: Vec<ClusterId> = both.iter().filter(concerned).cloned().collect();
        let is_lost = inventory.unreadable().is_some() != old.is_some_and(|old| old.unreadable().is_some());
        if clusters.is_empty() && !is_lost && same_findings(old, new) {
            return None;
        }
        let levels: BTreeMap<ClusterId, Vec<LevelName>> = clusters
            .iter()
            .filter_map(|id| Some((id.clone(), self.levels_of(id).or_else(|| before.levels_of(id))?)))
            .collect();
        let reach = old.zip(new).map(|(old, new)| InventoryReach::of(old, new));
        let totals = self.totals(inventory, levels.values().flatten().collect());
        let is_uncounted = |id: &&ClusterId| inventory.definition_in(id.folder()).is_none();
        let uncounted = clusters.iter().filter(is_uncounted).cloned().collect();
        let without_level = clusters.iter().filter(|id| self.levels_of(id).is_none()).cloned().collect();
        let changed: Vec<LevelName> =
            reach.iter().flat_map(|reach| &reach.objects).map(|object| name_of(object)).collect();
        Some(InventoryChange {
            all: inventory.defined(),
            uncounted,
            without_level,
            place: reach.as_ref().zip(new).and_then(|(reach, new)| reach.place(new)),
            before: before.findings_of(&clusters, &changed),
            after: self.findings_of(&clusters, &changed),
            clusters,
            levels,
            totals,
        })
    }

    /// What the inventory here says, over the clusters as they are in another snapshot, which is what is merged there;
    /// `None` where their folders are the same in both, but for the customers' overlays.
    pub fn over_clusters_of(&self, merged: &Self, clusters: &[ClusterId]) -> Option<Self> {
        let inventory = Contents::inventory(self)?;
        let mut files = Vec::new();
        for id in clusters.iter().filter(|id| inventory.definition_in(id.folder()).is_some()) {
            if self.tree.folder_id(id.folder()) == merged.tree.folder_id(id.folder()) {
                continue;
            }
            let overlay = self.settings.clusters.overlay.inside(id.folder());
            let own = |tree: &dyn Tree| -> BTreeMap<RepoPath, TreeEntry> {
                let entries = tree.entries_in(id.folder()).iter();
                let own = entries.filter(|entry| !entry.path.is_in(&overlay));
                own.map(|entry| (entry.path.clone(), entry.clone())).collect()
            };
            let (now, then) = (own(self.tree.as_ref()), own(merged.tree.as_ref()));
            let both: BTreeSet<&RepoPath> = now.keys().chain(then.keys()).collect();
            for path in both {
                let [here, there] = [now.get(path), then.get(path)];
                if here.map(|entry| &entry.blob) == there.map(|entry| &entry.blob) {
                    continue;
                }
                let [before, after] = [text_in(self, here), text_in(merged, there)];
                if here.is_some() == before.is_some() && there.is_some() == after.is_some() {
                    files.push(FileChange { path: path.clone(), before, after });
                }
            }
        }
        if files.is_empty() {
            return None;
        }
        let mut over = self.after(&files);
        over.provided = self.provided.clone();
        over.provided.extend(merged.provided.clone());
        over.past = self.past.clone();
        over.past.extend(merged.past.clone());
        Some(over)
    }

    /// How many clusters the inventory defines.
    pub fn defined_clusters(&self) -> usize {
        Contents::inventory(self).map_or(0, FleetInventory::defined)
    }

    /// Definitions of which nothing can be planned any more: those that have no folder, and those that are gone though
    /// their clusters are there. Each with the folder or, without one, its name.
    pub fn lost_definitions(&self, before: &Self) -> Vec<(String, Finding)> {
        let (old, new) = (Contents::inventory(before), Contents::inventory(self));
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
                || self.layout.target(folder.as_str()).is_none()
            {
                continue;
            }
            let record = record_of(self.tree.as_ref(), folder).ok().flatten();
            let finding = match Said::of(new, folder, record.as_ref()) {
                Err(Stands::Removed(finding)) => *finding,
                Ok(Said::Nothing) => gone(definition),
                Ok(Said::Defined(_)) | Err(Stands::Unreadable { .. }) => continue,
            };
            lost.push((folder.to_string(), finding));
        }
        lost
    }

    /// Releases that use values, before or after, and have another content or are new.
    fn changed_releases(&self, before: &Self) -> BTreeSet<ReleaseId> {
        let contents = |fleet: &Self| -> BTreeMap<ReleaseId, Option<TreeId>> {
            let releases = fleet.catalogue().releases().iter();
            releases
                .map(|release| (release.id.clone(), fleet.releases_tree().folder_id(&release.folder)))
                .collect()
        };
        let old = contents(before);
        let uses = |fleet: &Self, id: &ReleaseId| {
            let release = fleet.catalogue().find(id);
            release.is_some_and(|release| {
                let templates = fleet.shared.sources.templates_of(fleet.releases_tree(), release);
                templates.is_ok_and(|templates| templates.use_values())
            })
        };
        let differs = contents(self).into_iter().filter(|(id, tree)| old.get(id) != Some(tree));
        differs.map(|(id, _)| id).filter(|id| uses(self, id) || uses(before, id)).collect()
    }

    /// The release that a cluster records, or that its levels ask for.
    fn release_at(&self, id: &ClusterId) -> Option<ReleaseId> {
        let recorded = self
            .layout
            .target(id.as_str())
            .and_then(|folder| settings_of(self.tree.as_ref(), folder).and_then(|settings| settings.release));
        recorded.or_else(|| {
            let subject = Subject::of(self, id.folder()).ok().flatten()?;
            subject.member.wishes.release.as_ref().map(|(release, _)| release.clone())
        })
    }

    fn levels_of(&self, id: &ClusterId) -> Option<Vec<LevelName>> {
        Some(Subject::of(self, id.folder()).ok().flatten()?.levels())
    }

    /// How many clusters belong to these levels, in the order of the levels.
    fn totals(&self, inventory: &FleetInventory, wanted: BTreeSet<&LevelName>) -> Vec<(LevelName, usize)> {
        let mut counts: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
        for (kind, name) in wanted {
            counts.entry(kind).or_default().insert(name, 0);
        }
        for definition in inventory.inventory.clusters() {
            let Ok(member) = inventory.member(definition) else { continue };
            for (kind, name) in &member.levels {
                let of_kind = counts.get_mut(kind.kind());
                if let Some(count) = of_kind.and_then(|names| names.get_mut(name.as_str())) {
                    *count += inventory.folders_of(definition);
                }
            }
        }
        let order: Vec<&str> = inventory.inventory.settings.levels.iter().map(|level| level.kind()).collect();
        let mut all: Vec<(LevelName, usize)> = counts
            .iter()
            .flat_map(|(kind, names)| {
                names.iter().map(|(name, count)| (((*kind).to_owned(), (*name).to_owned()), *count))
            })
            .collect();
        let place = |kind: &str| order.iter().position(|known| *known == kind);
        all.sort_by(|((one, a), _), ((other, b), _)| (place(one), a).cmp(&(place(other), b)));
        all
    }

    /// What is wrong with the inventory itself, with the values of these clusters, and with these objects.
    fn findings_of(&self, clusters: &[ClusterId], changed: &[LevelName]) -> Vec<Finding> {
        let mut findings = Vec::new();
        let inventory = Contents::inventory(self);
        if let Some(inventory) = inventory {
            findings.extend(inventory.inventory.findings.iter().cloned());
            findings.extend(clashes(inventory));
            findings.extend(inventory.homeless().into_iter().flat_map(|(_, findings)| findings));
        }
        let mut lost = 0_usize;
        for id in clusters {
            let record = record_of(self.tree.as_ref(), id.folder()).ok().flatten();
            match Said::of(inventory, id.folder(), record.as_ref()) {
                Err(Stands::Removed(finding)) => findings.push(*finding),
                Err(Stands::Unreadable { .. }) => lost += 1,
                Ok(Said::Nothing) => {}
                Ok(Said::Defined(definition)) => {
                    match inventory.map(|inventory| inventory.member(definition)) {
                        Some(Err(wrong)) => findings.extend(wrong),
                        Some(Ok(member)) => {
                            let schema = self.release_at(id).and_then(|release| self.schema_of(&release));
                            let values =
                                member.values(schema.as_ref().and_then(|one| one.parts.schema.as_ref()));
                            findings.extend(values.findings);
                            let missing = member.wishes.components.iter();
                            let missing = missing.filter(|(path, _)| self.tree.folder_id(path).is_none());
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
                let message =
                    format!("{why}: Capstan proposes nothing for its clusters, and deletes nothing");
                findings.push(Finding::new(rules::DEFINITION_REMOVED, message).place(place.clone()));
            }
            findings.extend(self.unknown_in(inventory, changed));
        }
        let mut seen = BTreeSet::new();
        findings
            .retain(|finding| seen.insert((finding.rule, finding.place.clone(), finding.message.clone())));
        self.settings.severities().settle(findings)
    }

    fn schema_of(&self, release: &ReleaseId) -> Option<Arc<ReleaseTemplates>> {
        let release = self.catalogue().find(release)?;
        self.shared.sources.templates_of(self.releases_tree(), release).ok()
    }

    /// Values of these objects that no release below them knows.
    fn unknown_in(&self, inventory: &FleetInventory, changed: &[LevelName]) -> Vec<Finding> {
        let changed: BTreeSet<(&str, &str)> =
            changed.iter().map(|(kind, name)| (kind.as_str(), name.as_str())).collect();
        let is_changed =
            |object: &Object| changed.contains(&(object.level.kind.kind(), object.level.name.as_str()));
        let mut below = ReleasesBelow::default();
        for (folder, definition) in inventory.clusters() {
            let Ok(member) = inventory.member(definition) else { continue };
            let own = || member.objects.iter().copied().filter(|object| is_changed(object));
            if own().next().is_some() {
                below.note(own(), self.release_at(&ClusterId::new(folder.clone())).as_ref());
            }
        }
        let releases = below.releases().into_iter();
        let parts: BTreeMap<&ReleaseId, Arc<ReleaseTemplates>> =
            releases.filter_map(|release| Some((release, self.schema_of(release)?))).collect();
        below.unknown_values(|release| parts.get(release)?.parts.schema.as_ref())
    }
}

fn text_in(fleet: &Fleet, entry: Option<&TreeEntry>) -> Option<String> {
    let bytes = fleet.tree.read(entry?).ok()?;
    std::str::from_utf8(&bytes).ok().map(str::to_owned)
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

fn same_findings(old: Option<&FleetInventory>, new: Option<&FleetInventory>) -> bool {
    let findings = |inventory: Option<&FleetInventory>| -> Vec<Finding> {
        let all = |inventory: &FleetInventory| {
            let homeless = inventory.homeless().into_iter().flat_map(|(_, findings)| findings);
            inventory.inventory.findings.iter().cloned().chain(homeless).collect()
        };
        inventory.map(all).unwrap_or_default()
    };
    findings(old) == findings(new)
}

/// Definitions whose folder already belongs to another definition.
fn clashes(inventory: &FleetInventory) -> Vec<Finding> {
    let one = |(name, folder): (&str, &RepoPath)| {
        let definition = inventory.inventory.cluster(name)?;
        let first = inventory.definition_in(folder)?;
        Some(folder_clash(definition, folder, &first.level.place(first.offset)))
    };
    inventory.clashing().filter_map(one).collect()
}
