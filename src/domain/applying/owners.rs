//! One identity belongs to one folder: who renders what, and who has it in the inventory.

use std::collections::{BTreeMap, BTreeSet};

use super::inventory::Inventory;
use crate::cluster::ClusterId;
use crate::object::ObjectId;

/// What the folders of a management cluster render, and what they have applied.
#[derive(Debug, Clone, Default)]
pub struct OwnerIndex {
    rendered: BTreeMap<ObjectId, BTreeSet<ClusterId>>,
    recorded: BTreeMap<ObjectId, BTreeSet<ClusterId>>,
    unreadable: BTreeSet<ClusterId>,
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
            self.rendered.entry(id.clone()).or_default().insert(folder.clone());
        }
    }

    /// A folder cannot be rendered: nobody knows what it still wants of what it has applied.
    pub fn unreadable(&mut self, folder: &ClusterId) {
        self.unreadable.insert(folder.clone());
    }

    /// A folder has applied these.
    pub fn records(&mut self, folder: &ClusterId, inventory: &Inventory) {
        for object in inventory.objects() {
            self.recorded.entry(object.logical_id()).or_default().insert(folder.clone());
            self.recorded.entry(object.id()).or_default().insert(folder.clone());
        }
    }

    /// Whose an object is that a folder renders. Of several that render it, the one that has applied it
    /// keeps it; what nobody applied belongs to none of them, since nobody can say who is right.
    pub(super) fn claim(&self, folder: &ClusterId, id: &ObjectId) -> Claim {
        let others = |index: &BTreeMap<ObjectId, BTreeSet<ClusterId>>| -> Vec<ClusterId> {
            index.get(id).into_iter().flatten().filter(|other| *other != folder).cloned().collect()
        };
        let (rendered, recorded) = (others(&self.rendered), others(&self.recorded));
        if let Some(other) = rendered.iter().find(|other| recorded.contains(other)) {
            return Claim::Of(other.clone());
        }
        let mine = self.recorded.get(id).is_some_and(|folders| folders.contains(folder));
        if mine {
            return Claim::Own;
        }
        if let Some(other) = rendered.into_iter().next() {
            return Claim::Undecided(other);
        }
        match recorded.into_iter().find(|other| self.unreadable.contains(other)) {
            Some(other) => Claim::PerhapsOf(other),
            None => Claim::Own,
        }
    }

    /// Another folder that renders the object: it is that folder's now.
    pub fn heir(&self, folder: &ClusterId, id: &ObjectId) -> Option<&ClusterId> {
        self.rendered.get(id).into_iter().flatten().find(|other| *other != folder)
    }

    /// An object of that description which another folder renders or has applied.
    pub(super) fn of_another(
        &self,
        folder: &ClusterId,
        fits: impl Fn(&ObjectId) -> bool,
    ) -> Option<(&ObjectId, &ClusterId)> {
        let all = self.recorded.iter().chain(&self.rendered).filter(|(id, _)| fits(id));
        let mut of_others =
            all.filter_map(|(id, folders)| Some((id, folders.iter().find(|other| *other != folder)?)));
        of_others.next()
    }
}
