//! What an inventory says as a whole: what is wrong with it, and how many clusters each level has.

use std::collections::{BTreeMap, BTreeSet};

use capstan_inventory::survey::folder_clash;
use capstan_model::finding::Finding;

use super::fleet::FleetInventory;
use super::outlook::LevelName;

impl FleetInventory {
    /// What is wrong with its objects, and with definitions that have no folder.
    pub fn findings(&self) -> Vec<Finding> {
        let homeless = self.homeless().into_iter().flat_map(|(_, findings)| findings);
        self.inventory.findings.iter().cloned().chain(homeless).collect()
    }

    /// Definitions whose folder already belongs to another definition.
    pub fn clashes(&self) -> Vec<Finding> {
        let one = |(name, folder)| {
            let definition = self.inventory.cluster(name)?;
            let first = self.definition_in(folder)?;
            Some(folder_clash(definition, folder, &first.level.place(first.offset)))
        };
        self.clashing().filter_map(one).collect()
    }

    /// How many clusters belong to these levels: in the order of the levels, and of their names.
    pub fn totals(&self, wanted: BTreeSet<&LevelName>) -> Vec<(LevelName, usize)> {
        let mut counts: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
        for (kind, name) in wanted {
            counts.entry(kind).or_default().insert(name, 0);
        }
        for definition in self.inventory.clusters() {
            let Ok(member) = self.member(definition) else { continue };
            for (kind, name) in &member.levels {
                let of_kind = counts.get_mut(kind.kind());
                if let Some(count) = of_kind.and_then(|names| names.get_mut(name.as_str())) {
                    *count += self.folders_of(definition);
                }
            }
        }
        let order: Vec<&str> = self.inventory.settings.levels.iter().map(|level| level.kind()).collect();
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
}
