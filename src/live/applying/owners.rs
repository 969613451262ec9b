//! One identity belongs to one folder: who renders what, and who has it in the inventory.

use std::collections::{BTreeMap, BTreeSet};

use super::inventory::Inventory;
use capstan_model::ids::ClusterId;
use capstan_model::object::ObjectId;

/// What the folders of a management cluster render, and what they have applied.
#[derive(Debug, Clone, Default)]
pub struct OwnerIndex {
    objects: BTreeMap<ObjectId, Owners>,
    unreadable: BTreeSet<ClusterId>,
}

/// The folders that render an object, and those that have applied it: almost always one.
#[derive(Debug, Clone, Default)]
struct Owners {
    rendered: Few,
    recorded: Few,
}

/// A set that takes no more memory than it needs: there is one for each object of a fleet.
#[derive(Debug, Clone, Default)]
struct Few(Vec<ClusterId>);

impl Few {
    fn insert(&mut self, folder: &ClusterId) {
        if let Err(at) = self.0.binary_search(folder) {
            self.0.reserve_exact(1);
            self.0.insert(at, folder.clone());
        }
    }
}

/// Whose an object is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Claim {
    /// The folder's own.
    Own,
    /// Another folder renders it and has applied it.
    Of(ClusterId),
    /// Other folders render it too, and none has applied it.
    Undecided(ClusterId),
    /// Another folder has applied it, and cannot be rendered now.
    PerhapsOf(ClusterId),
}

impl OwnerIndex {
    /// A folder renders these: the identities with their namespaces, before templates get their live names.
    pub fn renders<'o>(&mut self, folder: &ClusterId, objects: impl IntoIterator<Item = &'o ObjectId>) {
        for id in objects {
            self.objects.entry(id.clone()).or_default().rendered.insert(folder);
        }
    }

    /// A folder cannot be rendered: nobody knows what it still wants of what it has applied.
    pub fn unreadable(&mut self, folder: &ClusterId) {
        self.unreadable.insert(folder.clone());
    }

    /// A folder has applied these.
    pub fn records(&mut self, folder: &ClusterId, inventory: &Inventory) {
        for object in inventory.objects() {
            self.objects.entry(object.logical_id()).or_default().recorded.insert(folder);
            self.objects.entry(object.id()).or_default().recorded.insert(folder);
        }
    }

    /// Whose an object is that a folder renders. Of several that render it, the one that has applied it
    /// keeps it; what nobody applied belongs to none of them, since nobody can say who is right.
    pub(super) fn claim(&self, folder: &ClusterId, id: &ObjectId) -> Claim {
        let Some(Owners { rendered, recorded }) = self.objects.get(id) else { return Claim::Own };
        let mut others = rendered.0.iter().filter(|other| *other != folder);
        if let Some(other) = others.clone().find(|other| recorded.0.contains(other)) {
            return Claim::Of(other.clone());
        }
        if recorded.0.contains(folder) {
            return Claim::Own;
        }
        if let Some(other) = others.next() {
            return Claim::Undecided(other.clone());
        }
        match recorded.0.iter().find(|other| self.unreadable.contains(*other)) {
            Some(other) => Claim::PerhapsOf(other.clone()),
            None => Claim::Own,
        }
    }

    /// The new owner of an object that a folder no longer renders: another folder that does.
    pub fn new_owner(&self, folder: &ClusterId, id: &ObjectId) -> Option<&ClusterId> {
        self.objects.get(id)?.rendered.0.iter().find(|other| *other != folder)
    }

    /// An object of that description which another folder renders or has applied.
    pub(super) fn of_another(
        &self,
        folder: &ClusterId,
        fits: impl Fn(&ObjectId) -> bool,
    ) -> Option<(&ObjectId, &ClusterId)> {
        let first = |folders: fn(&Owners) -> &Few| {
            let mut all = self.objects.iter().filter(|(id, _)| fits(id));
            all.find_map(|(id, owners)| Some((id, folders(owners).0.iter().find(|other| *other != folder)?)))
        };
        first(|owners| &owners.recorded).or_else(|| first(|owners| &owners.rendered))
    }
}
