//! A round of deletions in the making: what of the inventory is there, and in which turns it goes.

use super::facts::PruneFacts;
use super::outcome::{DeletionReason, Deletions, Doomed, Forget, Forgotten, Keep, OrphanedObject};
use crate::applying::inventory::{AppliedInventory, InventoryObject};
use crate::applying::managers::is_applied_by_capstan;
use crate::live_objects::{is_terminating, uid};
use capstan_model::ids::ClusterId;
use capstan_model::kinds::{KindRole, role_of};
use capstan_model::object::ObjectId;
use capstan_plan::settings::Deletion;

/// A round in the making.
pub(super) struct Round<'f, 'a> {
    pub(super) facts: &'f PruneFacts<'a>,
    pub(super) done: Deletions,
}

/// Whether an object passes to another folder.
enum Passes {
    /// No other folder renders it.
    No,
    /// That folder renders it and has not applied it.
    NotYet(ClusterId),
    /// That folder has applied it.
    Passed(ClusterId),
}

/// An object of the inventory that is live under its UID.
pub(super) struct Present<'a> {
    pub(super) entry: &'a InventoryObject,
    pub(super) id: ObjectId,
    pub(super) uid: &'a str,
}

impl<'a> Round<'_, 'a> {
    pub(super) fn keep(&mut self, object: ObjectId, why: Keep) {
        self.done.keep.push(OrphanedObject { object, why });
    }

    pub(super) fn forget(&mut self, object: ObjectId, why: Forget) {
        self.done.forget.push(Forgotten { object, why });
    }

    pub(super) fn delete(&mut self, object: &Present<'_>, because: DeletionReason) {
        self.done.delete.push(Doomed { object: object.id.clone(), uid: object.uid.to_owned(), because });
    }

    fn is_rendered(&self, id: &ObjectId) -> bool {
        self.facts.rendered.into_iter().flatten().any(|object| object.id == *id)
    }

    /// Whether an object is another folder's by now. To render it is not enough: it is so once that folder has
    /// applied it. Until then nothing of it is deleted, but what this folder renders still (`delete: cluster`) and
    /// of the others only refused ones.
    fn passes(&self, entry: &InventoryObject) -> Passes {
        let facts = self.facts;
        let has_applied = |other: &&ClusterId| {
            let theirs = facts.neighbours.get(*other).into_iter().flat_map(AppliedInventory::objects);
            theirs.filter(|theirs| theirs.uid.is_some()).any(|theirs| theirs.is_logically(entry))
        };
        let beside: Vec<&ClusterId> = facts.owners.beside(facts.folder, entry).collect();
        if let Some(new_owner) = beside.iter().copied().find(has_applied) {
            return Passes::Passed(new_owner.clone());
        }
        let is_rendered = self.is_rendered(&entry.id());
        let may_take = |other: &&ClusterId| !facts.owners.is_refused(other);
        let other = beside.iter().copied().find(may_take);
        match other.or_else(|| beside.first().copied().filter(|_| !is_rendered)) {
            Some(other) => Passes::NotYet(other.clone()),
            None => Passes::No,
        }
    }

    /// The inventory as far as it is live and this folder's; the rest is settled here. With `delete:
    /// cluster` what is rendered counts too.
    pub(super) fn present(&mut self) -> Vec<Present<'a>> {
        let facts = self.facts;
        let mut left = Vec::new();
        for entry in facts.inventory.objects() {
            let id = entry.id();
            let whole = *facts.delete == Deletion::Cluster;
            if !whole && self.is_rendered(&id) {
                continue;
            }
            let passes = self.passes(entry);
            if let Passes::Passed(new_owner) = passes {
                self.forget(id, Forget::Transferred(new_owner));
                continue;
            }
            let Some(live) = facts.live.get(&id) else {
                if facts.live.is_absent(&id) {
                    self.forget(id, Forget::Gone);
                } else {
                    self.keep(id, Keep::NotRead);
                }
                continue;
            };
            let Some(uid) = uid(live) else {
                self.keep(id, Keep::NotRead);
                continue;
            };
            // Without a UID it was intended; whether it was applied only the live object tells.
            let ours = entry.uid.as_deref().map_or_else(|| is_applied_by_capstan(live), |known| known == uid);
            if !ours {
                self.forget(id, Forget::Replaced);
            } else if is_terminating(live) {
                self.keep(id, Keep::Terminating);
            } else if let Passes::NotYet(other) = passes {
                self.keep(id, Keep::RenderedElsewhere(other));
            } else {
                left.push(Present { entry, id, uid });
            }
        }
        left
    }
}

/// The `Cluster`, then everything, then credentials.
pub(super) fn turn(id: &ObjectId) -> u8 {
    match role_of(id) {
        Some(KindRole::Cluster) => 0,
        Some(KindRole::Identity | KindRole::Secret) => 2,
        Some(KindRole::Namespace) => 3,
        _ => 1,
    }
}
