//! One identity belongs to one folder: who renders what, and who has it in the inventory.
//!
//! An object belongs to the folder that has applied it. Rendering it gives no right to it, so it passes to another
//! folder only once that folder has been applied. A refused folder takes no objects, blocks no other folder and makes
//! none forget an object, whatever it renders. What it has applied before stays its own.

use std::collections::{BTreeMap, BTreeSet};

use super::inventory::{AppliedInventory, InventoryObject};
use capstan_model::ids::ClusterId;
use capstan_model::object::ObjectId;

/// What the folders of a management cluster render, and what they have applied.
#[derive(Debug, Clone, Default)]
pub struct OwnerIndex {
    objects: BTreeMap<ObjectId, FolderOwners>,
    unreadable: BTreeSet<ClusterId>,
    refused: BTreeSet<ClusterId>,
}

/// The folders that render an object, and those that have applied it: almost always one.
#[derive(Debug, Clone, Default)]
struct FolderOwners {
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

    /// What these folders render, and whether they are refused, as it is known here; nothing of the others, and
    /// nothing of what anybody has applied.
    #[must_use]
    pub fn rendered_by(&self, folders: &BTreeSet<ClusterId>) -> Self {
        let kept = |of: &BTreeSet<ClusterId>| of.intersection(folders).cloned().collect();
        let objects = self.objects.iter().filter_map(|(id, owners)| {
            let rendered = owners.rendered.0.iter().filter(|id| folders.contains(*id));
            let rendered = Few(rendered.cloned().collect());
            (!rendered.0.is_empty())
                .then(|| (id.clone(), FolderOwners { rendered, recorded: Few::default() }))
        });
        let objects = objects.collect();
        Self { objects, unreadable: kept(&self.unreadable), refused: kept(&self.refused) }
    }

    /// Whether a folder renders an object.
    pub fn is_rendered_by(&self, folder: &ClusterId, id: &ObjectId) -> bool {
        self.objects.get(id).is_some_and(|owners| owners.rendered.0.contains(folder))
    }

    /// A folder cannot be rendered: what it still wants of its applied objects is unknown.
    pub fn unreadable(&mut self, folder: &ClusterId) {
        self.unreadable.insert(folder.clone());
    }

    /// A folder is refused for its content in Git, whatever is live: what it renders is not applied.
    pub fn refused(&mut self, folder: &ClusterId) {
        self.refused.insert(folder.clone());
    }

    /// Whether it is.
    pub fn is_refused(&self, folder: &ClusterId) -> bool {
        self.refused.contains(folder)
    }

    /// A folder has applied these.
    pub fn records(&mut self, folder: &ClusterId, inventory: &AppliedInventory) {
        for object in inventory.objects() {
            self.objects.entry(object.logical_id()).or_default().recorded.insert(folder);
            self.objects.entry(object.id()).or_default().recorded.insert(folder);
        }
    }

    /// Which folder owns an object that a folder renders. Of several that render it, the one that has applied it keeps
    /// it. If none has applied it, it belongs to none of them, since nothing decides between them.
    pub(super) fn claim(&self, folder: &ClusterId, id: &ObjectId) -> Claim {
        let Some(FolderOwners { rendered, recorded }) = self.objects.get(id) else { return Claim::Own };
        let is_own = recorded.0.contains(folder);
        let others = rendered.0.iter().filter(|other| *other != folder);
        // Where both have applied it, one before the other, the one that is refused gave it up last.
        let counts = |other: &&ClusterId| !(is_own && self.refused.contains(*other));
        if let Some(other) = others.clone().filter(counts).find(|other| recorded.0.contains(other)) {
            return Claim::Of(other.clone());
        }
        if is_own {
            return Claim::Own;
        }
        if let Some(other) = others.clone().find(|other| !self.refused.contains(*other)) {
            return Claim::Undecided(other.clone());
        }
        match recorded.0.iter().find(|other| self.unreadable.contains(*other)) {
            Some(other) => Claim::PerhapsOf(other.clone()),
            None => Claim::Own,
        }
    }

    /// The folder to which an object passes that this one no longer renders, once it is applied there: the only
    /// one beside it that renders it and is not refused; of several the one that has applied it already.
    pub fn new_owner(&self, folder: &ClusterId, id: &ObjectId) -> Option<&ClusterId> {
        let FolderOwners { rendered, recorded } = self.objects.get(id)?;
        let able: Vec<&ClusterId> =
            rendered.0.iter().filter(|other| *other != folder && !self.refused.contains(*other)).collect();
        match able.as_slice() {
            [only] => Some(only),
            several => several.iter().find(|other| recorded.0.contains(other)).copied(),
        }
    }

    /// The other folders that have applied an object.
    pub fn recorded_elsewhere<'s>(
        &'s self,
        folder: &'s ClusterId,
        id: &ObjectId,
    ) -> impl Iterator<Item = &'s ClusterId> + use<'s> {
        let recorded = self.objects.get(id).map(|owners| owners.recorded.0.as_slice()).unwrap_or_default();
        recorded.iter().filter(move |other| *other != folder)
    }

    /// The other folders that render an object, refused ones too.
    pub(super) fn rendered_beside<'s>(
        &'s self,
        folder: &'s ClusterId,
        id: &ObjectId,
    ) -> impl Iterator<Item = &'s ClusterId> + use<'s> {
        let rendered = self.objects.get(id).map(|owners| owners.rendered.0.as_slice()).unwrap_or_default();
        rendered.iter().filter(move |other| *other != folder)
    }

    /// The other folders that render something of this one's inventory. Their own inventories tell whether it is theirs
    /// by now: read these before calling [`prune`](super::prune()).
    pub fn neighbours(&self, folder: &ClusterId, inventory: &AppliedInventory) -> BTreeSet<ClusterId> {
        let entries = inventory.objects().iter();
        let beside = entries.flat_map(|entry| self.beside(folder, entry));
        beside.cloned().collect()
    }

    /// The other folders that render an object of an inventory, under its live name or the one in Git.
    pub(super) fn beside<'s>(
        &'s self,
        folder: &'s ClusterId,
        entry: &InventoryObject,
    ) -> impl Iterator<Item = &'s ClusterId> + use<'s> {
        let of_live = self.rendered_beside(folder, &entry.id());
        of_live.chain(self.rendered_beside(folder, &entry.logical_id()))
    }

    /// An object of that description which another folder has applied, or renders and may apply.
    pub(super) fn of_another(
        &self,
        folder: &ClusterId,
        fits: impl Fn(&ObjectId) -> bool,
    ) -> Option<(&ObjectId, &ClusterId)> {
        let first = |few: fn(&FolderOwners) -> &Few, may: &dyn Fn(&ClusterId) -> bool| {
            let mut all = self.objects.iter().filter(|(id, _)| fits(id));
            all.find_map(|(id, owners)| {
                Some((id, few(owners).0.iter().find(|other| *other != folder && may(other))?))
            })
        };
        first(|owners| &owners.recorded, &|_| true)
            .or_else(|| first(|owners| &owners.rendered, &|other| !self.refused.contains(other)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::id;
    use super::*;
    use capstan_model::tree::RepoPath;

    fn folder(id: &str) -> ClusterId {
        ClusterId::new(RepoPath::parse(id).unwrap())
    }

    /// Folders of a row: what each does with the one object.
    #[derive(Clone, Copy, PartialEq)]
    enum Has {
        /// It has applied it and renders it still.
        Both,
        /// It renders it.
        Rendered,
        /// It has applied it, and renders it no more.
        Applied,
    }
    use Has::{Applied, Both, Rendered};

    fn index(folders: &[(&str, Has)], refused: &[&str]) -> (OwnerIndex, ObjectId) {
        let shared = id("ConfigMap org/shared");
        let mut inventory = AppliedInventory::default();
        inventory.intend(&shared, "v1", "shared");
        let mut owners = OwnerIndex::default();
        for (name, has) in folders {
            if *has != Applied {
                owners.renders(&folder(name), [&shared]);
            }
            if *has != Rendered {
                owners.records(&folder(name), &inventory);
            }
        }
        refused.iter().for_each(|name| owners.refused(&folder(name)));
        (owners, shared)
    }

    #[test]
    fn a_folder_that_is_refused_owns_what_it_has_applied_and_nothing_else() {
        let claim = |folders: &[(&str, Has)], refused: &[&str]| {
            let (owners, shared) = index(folders, refused);
            owners.claim(&folder("one"), &shared)
        };
        let two = folder("two");
        for (folders, refused, expected) in [
            // What it renders does not block others.
            (vec![("one", Rendered), ("two", Rendered)], vec!["two"], Claim::Own),
            (vec![("one", Rendered), ("two", Rendered)], vec![], Claim::Undecided(two.clone())),
            (
                vec![("one", Rendered), ("three", Rendered), ("two", Rendered)],
                vec!["three"],
                Claim::Undecided(two.clone()),
            ),
            // What it has applied stays its own.
            (vec![("one", Rendered), ("two", Both)], vec!["two"], Claim::Of(two.clone())),
            (vec![("one", Rendered), ("two", Both)], vec![], Claim::Of(two.clone())),
            // What it has given up in Git is the other's.
            (vec![("one", Rendered), ("two", Applied)], vec!["two"], Claim::Own),
            // Both have applied it: who renders it again while it is refused takes nothing back.
            (vec![("one", Both), ("two", Both)], vec!["two"], Claim::Own),
            (vec![("one", Both), ("two", Both)], vec![], Claim::Of(two)),
        ] {
            let names: Vec<&str> = folders.iter().map(|(name, _)| *name).collect();
            assert_eq!(claim(&folders, &refused), expected, "{names:?}, refused {refused:?}");
        }
    }

    #[test]
    fn an_object_passes_to_the_one_folder_that_may_apply_it() {
        let new_owner = |folders: &[(&str, Has)], refused: &[&str]| {
            let (owners, shared) = index(folders, refused);
            owners.new_owner(&folder("old"), &shared).map(ToString::to_string)
        };
        let old = ("old", Applied);
        assert_eq!(new_owner(&[old], &[]), None);
        assert_eq!(new_owner(&[old, ("one", Rendered)], &[]).as_deref(), Some("one"));
        assert_eq!(new_owner(&[old, ("one", Rendered)], &["one"]), None);
        assert_eq!(new_owner(&[old, ("one", Rendered), ("two", Rendered)], &["one"]).as_deref(), Some("two"));
        assert_eq!(
            new_owner(&[old, ("one", Rendered), ("two", Rendered)], &[]),
            None,
            "nobody can say which"
        );
        assert_eq!(new_owner(&[old, ("one", Rendered), ("two", Both)], &[]).as_deref(), Some("two"));
    }
}
