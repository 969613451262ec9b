//! What the other folders of a management cluster bring, as far as a folder could reach for it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::home::{FolderHome, Scopes, place_in_namespaces};
use super::selectors::{ClusterSelector, ObjectLabels, selectors};
use crate::layout::{Layout, TargetFolder};
use crate::settings::RepositorySettings;
use capstan_kustomize::render::{Folders, RenderedFolder, render};
use capstan_model::ids::ClusterId;
use capstan_model::kinds::is_cluster;
use capstan_model::object::ObjectId;
use capstan_model::tree::Tree;

/// What a folder is judged by, besides its own render.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    pub folder: &'a ClusterId,
    /// What the platform team allows.
    pub settings: &'a RepositorySettings,
    /// Which kinds have namespaces.
    pub scopes: &'a Scopes,
    /// The other folders of the management cluster; `None` if they were not read.
    pub neighbours: Option<&'a Neighbours>,
}

impl Surroundings<'_> {
    /// Whether a management cluster claims the folder. By two it is claimed, too.
    pub fn is_claimed(&self) -> bool {
        !matches!(self.settings.claimed_by(self.folder), Ok(None))
    }
}

/// The folders of a management cluster side by side.
///
/// A folder that cannot be rendered is left out, because what it brings is unknown.
#[derive(Debug, Clone, Default)]
pub struct Neighbours {
    folders: BTreeMap<ClusterId, FolderObjects>,
    /// Who lives in which namespace.
    residents: BTreeMap<String, BTreeSet<ClusterId>>,
    /// Who renders what.
    objects: BTreeMap<ObjectId, BTreeSet<ClusterId>>,
    /// Whose base brings a Cluster of which name.
    named: BTreeMap<String, BTreeSet<ClusterId>>,
}

/// The folders of other owners in the namespaces of one folder. A namespace may hold a whole fleet, so only
/// selectors are compared with every folder.
#[derive(Clone, Copy)]
pub(super) struct NeighbourFolders<'a> {
    all: Option<&'a Neighbours>,
    home: &'a FolderHome,
    around: &'a Surroundings<'a>,
}

impl<'a> NeighbourFolders<'a> {
    pub(super) const fn of(home: &'a FolderHome, around: &'a Surroundings<'a>) -> Self {
        Self { all: around.neighbours, home, around }
    }

    /// Who lives there, whoever's it is, by their ids.
    pub(super) fn residents(&self) -> Vec<&'a ClusterId> {
        let namespaces = self.home.namespaces.iter();
        let residents = namespaces.filter_map(|namespace| self.all?.residents.get(namespace));
        residents.flatten().collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The first of these residents that are another owner's in which something is found. What is looked for is asked
    /// before whose they are, which costs more to tell.
    pub(super) fn find<T>(
        &self,
        residents: &[&'a ClusterId],
        found: impl Fn(&'a FolderObjects) -> Option<T>,
    ) -> Option<(&'a ClusterId, T)> {
        residents.iter().find_map(|id| {
            let found = found(self.all?.folders.get(*id)?)?;
            is_anothers(id, self.around).then_some((*id, found))
        })
    }

    /// The last of them, by their ids, whose base brings a Cluster of that name.
    pub(super) fn with_cluster(&self, name: &str) -> Option<&'a ClusterId> {
        let all = self.all?;
        let lives_here = |id: &ClusterId| {
            let brought = all.folders.get(id);
            brought.is_some_and(|brought| !brought.namespaces.is_disjoint(&self.home.namespaces))
        };
        let mut named = all.named.get(name)?.iter().rev();
        named.find(|id| lives_here(id) && is_anothers(id, self.around))
    }
}

/// What one folder brings.
#[derive(Debug, Clone, Default)]
pub(super) struct FolderObjects {
    /// The Clusters of its base.
    pub(super) clusters: Vec<NamedCluster>,
    /// Everything else, and whether its base brings it.
    pub(super) objects: BTreeMap<ObjectId, Whose>,
    /// What its base selects Clusters by, with the object that does.
    pub(super) selectors: Vec<(ObjectId, ClusterSelector)>,
    namespaces: BTreeSet<String>,
}

/// Whether base or overlay brings an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    Base,
    Overlay,
}

/// A Cluster of a folder.
#[derive(Debug, Clone)]
pub(super) struct NamedCluster {
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) labels: ObjectLabels,
    /// Those that the base gives it.
    pub(super) base_labels: ObjectLabels,
}

/// Called with each folder before it is rendered, with a function that renders it. It may leave the folder out.
pub type Around<'a> = &'a mut dyn FnMut(&ClusterId, &mut dyn FnMut());

impl Neighbours {
    /// The folders of a snapshot that a management cluster claims, as far as files tell. Renders each of them, or
    /// not, as `around` says: it is given a folder's cluster and what renders that.
    pub fn read(tree: &dyn Tree, layout: &Layout, settings: &RepositorySettings, around: Around<'_>) -> Self {
        let claimed = |folder: &&TargetFolder| folder.claimed_by(settings).is_ok_and(|by| by.is_some());
        let claimed: Vec<&TargetFolder> = layout.clusters().filter(claimed).collect();
        let mut all = Self::default();
        // A single folder has no neighbours.
        if claimed.len() > 1 {
            for folder in claimed {
                around(&folder.id, &mut || all.read_folder(tree, folder));
            }
        }
        all
    }

    /// The same folders in another snapshot, of which these alone may differ.
    #[must_use]
    pub fn in_snapshot(
        &self,
        tree: &dyn Tree,
        layout: &Layout,
        settings: &RepositorySettings,
        changed: &[ClusterId],
        around: Around<'_>,
    ) -> Self {
        // Of a single folder nothing was read.
        if self.folders.is_empty() {
            return Self::read(tree, layout, settings, around);
        }
        let mut all = self.clone();
        for id in changed {
            all.remove(id);
            let claimed = layout.claimed_by(id, settings).is_ok_and(|by| by.is_some());
            if let Some(folder) = layout.target(id.as_str()).filter(|_| claimed) {
                around(id, &mut || all.read_folder(tree, folder));
            }
        }
        all
    }

    fn read_folder(&mut self, tree: &dyn Tree, folder: &TargetFolder) {
        let folders = Folders {
            cluster: folder.id.folder().clone(),
            base: folder.base.clone(),
            overlay: folder.overlay.clone(),
        };
        let Ok(mut rendered) = render(tree, &folders) else { return };
        if let Ok(home) = place_in_namespaces(&mut rendered, &Scopes::default()) {
            self.add(&folder.id, &rendered, &home);
        }
    }

    /// What a folder renders, with its namespaces.
    pub fn add(&mut self, folder: &ClusterId, rendered: &RenderedFolder, home: &FolderHome) {
        let base: BTreeMap<&ObjectId, &Value> =
            rendered.base_objects().iter().map(|object| (&object.id, &object.value)).collect();
        let mut brought = FolderObjects { namespaces: home.namespaces.clone(), ..FolderObjects::default() };
        for object in &rendered.objects {
            let of_base = base.get(&object.id).copied();
            // A Cluster that an overlay adds makes its own folder refused, and no other's: it never lives.
            if let Some(of_base) = of_base.filter(|_| is_cluster(&object.id)) {
                brought.clusters.push(NamedCluster {
                    namespace: object.id.namespace.clone(),
                    name: object.id.name.clone(),
                    labels: labels(&object.value),
                    base_labels: labels(of_base),
                });
            }
            let whose = if of_base.is_some() { Whose::Base } else { Whose::Overlay };
            brought.objects.insert(object.id.clone(), whose);
            self.objects.entry(object.id.clone()).or_default().insert(folder.clone());
        }
        for object in rendered.base_objects() {
            let selected = selectors(&object.id, &object.value).into_iter();
            brought.selectors.extend(selected.map(|found| (object.id.clone(), found.selector)));
        }
        for namespace in &brought.namespaces {
            self.residents.entry(namespace.clone()).or_default().insert(folder.clone());
        }
        for cluster in &brought.clusters {
            self.named.entry(cluster.name.clone()).or_default().insert(folder.clone());
        }
        self.folders.insert(folder.clone(), brought);
    }

    /// A folder brings nothing any more, as far as is known.
    pub fn remove(&mut self, folder: &ClusterId) {
        let Some(brought) = self.folders.remove(folder) else { return };
        for namespace in &brought.namespaces {
            self.residents.get_mut(namespace).map(|residents| residents.remove(folder));
        }
        for object in brought.objects.keys() {
            self.objects.get_mut(object).map(|folders| folders.remove(folder));
        }
        for cluster in &brought.clusters {
            self.named.get_mut(&cluster.name).map(|folders| folders.remove(folder));
        }
    }

    /// Another owner's folder that brings an object.
    pub(super) fn owner_of(
        &self,
        object: &ObjectId,
        around: &Surroundings<'_>,
        whose: impl Fn(Whose) -> bool,
    ) -> Option<&ClusterId> {
        let mut folders = self.objects.get(object)?.iter().filter(|id| is_anothers(id, around));
        folders.find(|id| self.brings(id, object, &whose))
    }

    /// Whether another folder of the same owner brings an object.
    pub(super) fn is_of_owner(&self, object: &ObjectId, around: &Surroundings<'_>) -> bool {
        self.renders_too(object, around, |_| true).is_some()
            && self.owner_of(object, around, |_| true).is_none()
    }

    /// Another folder of the same management cluster that renders the object too. Its owner does not matter.
    pub(super) fn renders_too(
        &self,
        object: &ObjectId,
        around: &Surroundings<'_>,
        whose: impl Fn(Whose) -> bool,
    ) -> Option<&ClusterId> {
        let mut all = self.objects.get(object)?.iter();
        all.find(|id| {
            *id != around.folder && is_in_one_cluster(id, around) && self.brings(id, object, &whose)
        })
    }

    fn brings(&self, folder: &ClusterId, object: &ObjectId, whose: impl Fn(Whose) -> bool) -> bool {
        let by = self.folders.get(folder).and_then(|brought| brought.objects.get(object));
        by.is_some_and(|by| whose(*by))
    }
}

/// Whether a folder is another one of the same management cluster, and of another owner.
fn is_anothers(other: &ClusterId, around: &Surroundings<'_>) -> bool {
    other != around.folder
        && is_in_one_cluster(other, around)
        && !around.settings.have_one_owner(around.folder, other)
}

fn is_in_one_cluster(other: &ClusterId, around: &Surroundings<'_>) -> bool {
    let by = |id: &ClusterId| around.settings.claimed_by(id).ok().flatten().map(|by| &by.name);
    by(other) == by(around.folder)
}

/// An object's labels.
pub(super) fn labels(value: &Value) -> ObjectLabels {
    let labels = value.pointer("/metadata/labels").and_then(Value::as_object);
    let labels = labels.into_iter().flatten();
    labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}
