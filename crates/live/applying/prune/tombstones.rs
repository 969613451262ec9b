//! Which objects the tombstones of a folder mean.

use super::facts::PruneFacts;
use super::outcome::{TombstoneFinding, Useless};
use crate::applying::inventory::InventoryObject;
use capstan_model::object::ObjectId;
use capstan_plan::settings::{Deletion, Tombstone};

pub(super) struct Tombstones {
    /// Objects that may go.
    named: Vec<ObjectId>,
    pub(super) findings: Vec<TombstoneFinding>,
}

impl Tombstones {
    /// A tombstone may give the name in Git or the live one.
    pub(super) fn of(facts: &PruneFacts<'_>) -> Self {
        let mut tombstones = Self { named: Vec::new(), findings: Vec::new() };
        let Deletion::Objects(all) = facts.delete else { return tombstones };
        for tombstone in all {
            let fits = |id: &ObjectId| tombstone.means(id, facts.namespace);
            let rendered = facts.rendered.into_iter().flatten().map(|object| &object.id);
            let logical = facts.templates.iter().map(|template| &template.logical);
            if let Some(id) = rendered.chain(logical).find(|id| fits(id)) {
                tombstones.finding(tombstone, Useless::StillRendered(id.clone()));
                continue;
            }
            let of_inventory = facts.inventory.objects().iter();
            let mut found: Vec<ObjectId> = of_inventory
                .filter(|object| fits(&object.id()) || fits(&object.logical_id()))
                .map(InventoryObject::id)
                .collect();
            // A tombstone sees one template under several live names as one object.
            let mut kinds: Vec<(&str, Option<&str>)> =
                found.iter().map(|id| (id.group.as_str(), id.namespace.as_deref())).collect();
            kinds.sort_unstable();
            kinds.dedup();
            match kinds.len() {
                0 => {
                    if let Some((id, folder)) = facts.owners.of_another(facts.folder, fits) {
                        tombstones.finding(tombstone, Useless::Anothers(id.clone(), folder.clone()));
                    } else if let Some((id, _)) = facts.live.iter().find(|(id, _)| fits(id)) {
                        tombstones.finding(tombstone, Useless::NotOurs(id.clone()));
                    }
                }
                1 => tombstones.named.append(&mut found),
                _ => tombstones.finding(tombstone, Useless::Ambiguous(found)),
            }
        }
        tombstones
    }

    /// Whether a tombstone means that object.
    pub(super) fn name(&self, entry: &InventoryObject) -> bool {
        self.named.contains(&entry.id())
    }

    fn finding(&mut self, tombstone: &Tombstone, what: Useless) {
        self.findings.push(TombstoneFinding { tombstone: tombstone.clone(), what });
    }
}
