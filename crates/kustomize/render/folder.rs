//! A cluster folder as a whole: what its base gives, and what its overlay makes of it.

use std::collections::BTreeSet;

use super::budget::{LOOK, RenderBudget};
use super::dialect::Dialect;
use super::error::RenderError;
use super::keys::is_kustomization;
use super::kustomize::{Accumulated, Builder, Built, Inclusion};
use super::load::{Loader, ParsedFiles};
use super::losses;
use super::placed::PlacedValue;
use super::rendered::{Folders, PatchUse, RenderedFolder, RenderedObject};
use super::resource::{RenderedResource, ResourceIdentity, refuse_twins};
use super::schema::Schemas;
use super::strategic::{self, PatchOutcome};
use super::walked::Unapplied;
use capstan_model::tree::{EntryKind, RepoPath, Tree, TreeEntry, is_manifest};

/// Whether an entry is a manifest, or what may stand for a folder of them: nobody follows a link, enters
/// a submodule or reads what has no name, and a cluster without what is there would be another one.
fn may_hold_objects(entry: &TreeEntry) -> bool {
    match entry.kind {
        EntryKind::File | EntryKind::Executable => is_manifest(&entry.path),
        EntryKind::Symlink => is_manifest(&entry.path) || !entry.path.name().contains('.'),
        EntryKind::Submodule | EntryKind::Unnamed => true,
    }
}

/// Renders one cluster folder.
pub(super) fn render(
    tree: &dyn Tree,
    folders: &Folders,
    parsed: &ParsedFiles,
) -> Result<RenderedFolder, RenderError> {
    let loader = Loader::new(tree, parsed);
    let own = [&folders.cluster, &folders.overlay]
        .into_iter()
        .flat_map(|folder| ["capstan.yaml", "capstan-values.yaml"].map(|name| folder.join(name).ok()))
        .flatten()
        .collect();
    let builder = Builder::new(&loader, own);
    let beside = beside_base(tree, folders);
    let mut cluster = ClusterFolderFiles { folders, builder, beside, passed_over: Vec::new() };
    let base = cluster.base()?;
    let has_overlay = !tree.entries_in(&folders.overlay).is_empty();
    let whole =
        if folders.base == folders.cluster { None } else { loader.kustomization(&folders.cluster)? };
    if !has_overlay && whole.is_none() {
        return cluster.finish(base.finish(&loader.budget)?, None);
    }
    let finished = base.finished(&loader.budget)?;
    let base_objects = finish_all(finished.clone())?;
    let objects = match (loader.kustomization(&folders.overlay)?, whole) {
        (Some(entry), _) => cluster.kustomized(&folders.overlay, entry, base)?,
        (None, Some(entry)) => cluster.kustomized(&folders.cluster, entry, base)?,
        (None, None) => cluster.patched(finished)?,
    };
    cluster.finish(objects, Some(base_objects))
}

/// What the kustomization of a folder gives by itself; `None` where the folder has none.
pub(super) fn kustomized(
    tree: &dyn Tree,
    folder: &RepoPath,
    parsed: &ParsedFiles,
) -> Result<Option<Vec<RenderedObject>>, RenderError> {
    let loader = Loader::new(tree, parsed);
    let Some(entry) = loader.kustomization(folder)? else { return Ok(None) };
    let mut builder = Builder::new(&loader, Vec::new());
    let objects = builder.build_top(folder, entry, Accumulated::default())?.finish(&loader.budget)?;
    refuse_twins(&objects)?;
    refuse_lost(&builder.patches)?;
    finish_all(objects).map(Some)
}

/// Where nobody makes findings of lost patches, what lacks them is not rendered: kustomize does not either.
fn refuse_lost(patches: &[PatchUse]) -> Result<(), RenderError> {
    let lost = patches.iter().find_map(|patch| Some((patch, patch.lost.as_ref()?)));
    lost.map_or(Ok(()), |(patch, why)| {
        let what = format!("a patch of {} is lost: {why}. Correct or remove it", patch.target);
        Err(RenderError::reference(&patch.place, what))
    })
}

impl RenderedFolder {
    /// What was rendered with every patch of it.
    ///
    /// # Errors
    /// A patch that was left out.
    pub fn with_all_patches(self) -> Result<Self, RenderError> {
        refuse_lost(&self.patches).map(|()| self)
    }
}

struct ClusterFolderFiles<'a> {
    folders: &'a Folders,
    builder: Builder<'a>,
    /// Folders of the overlay for folders beside base.
    beside: Vec<RepoPath>,
    passed_over: Vec<RepoPath>,
}

/// Folders beside a base, one a service, are rendered by themselves, with the overlay's folders of the same
/// names.
pub const SERVICES_FOLDER: &str = "services";

fn beside_base(tree: &dyn Tree, folders: &Folders) -> Vec<RepoPath> {
    let inside = |folder: &RepoPath| folder.join(SERVICES_FOLDER).ok();
    if folders.base == folders.cluster {
        return Vec::new();
    }
    let Some((own, of_overlay)) = inside(&folders.cluster).zip(inside(&folders.overlay)) else {
        return Vec::new();
    };
    let names = tree.entries_in(&of_overlay).iter().filter_map(|entry| {
        let (name, _) = entry.path.below(&of_overlay)?.split_once('/')?;
        Some(name)
    });
    let names: BTreeSet<&str> = names.collect();
    let there = |name: &&str| own.join(name).is_ok_and(|folder| !tree.entries_in(&folder).is_empty());
    names.into_iter().filter(there).filter_map(|name| of_overlay.join(name).ok()).collect()
}

/// Whether a file is not a manifest: Fleet's `fleet.yaml`, values of a chart, a machine configuration of
/// Talos, `clusterctl.yaml`. No document of it is a Kubernetes object, and at least one has no part of one.
///
/// A document with a part of an object (`metadata`, `spec`, `data`) is an incomplete manifest, and refused;
/// so is an unreadable one, since its kind is unknown. In a folder with a kustomization the question does not
/// arise: the files that it names count.
fn is_beside_manifests(documents: &[PlacedValue]) -> bool {
    let has = |document: &PlacedValue, keys: &[&str]| keys.iter().any(|key| document.field(key).is_some());
    documents.iter().all(|document| document.is_mapping() && !has(document, &["metadata", "spec", "data"]))
        && documents.iter().any(|document| !has(document, &["apiVersion", "kind"]))
}

/// What a base gives.
enum BaseObjects {
    /// Objects of files.
    Plain(Vec<RenderedResource>),
    /// Objects of a kustomization, whose names are not final where another one includes it.
    Kustomized(Box<Built>),
}

impl BaseObjects {
    fn finish(self, budget: &RenderBudget) -> Result<Vec<RenderedResource>, RenderError> {
        match self {
            Self::Plain(resources) => Ok(resources),
            Self::Kustomized(built) => (*built).finish(budget),
        }
    }

    fn finished(&self, budget: &RenderBudget) -> Result<Vec<RenderedResource>, RenderError> {
        match self {
            Self::Plain(resources) => Ok(resources.clone()),
            Self::Kustomized(built) => built.finished(budget),
        }
    }

    fn accumulated(self) -> Accumulated {
        match self {
            Self::Plain(resources) => Accumulated::plain(resources),
            Self::Kustomized(built) => built.accumulated,
        }
    }
}

fn finish_all(resources: Vec<RenderedResource>) -> Result<Vec<RenderedObject>, RenderError> {
    resources.into_iter().map(RenderedResource::finish).collect()
}

impl<'a> ClusterFolderFiles<'a> {
    fn finish(
        self,
        objects: Vec<RenderedResource>,
        base: Option<Vec<RenderedObject>>,
    ) -> Result<RenderedFolder, RenderError> {
        refuse_twins(&objects)?;
        let mut notes = self.builder.notes;
        notes.dedup();
        Ok(RenderedFolder {
            objects: finish_all(objects)?,
            base,
            patches: self.builder.patches,
            passed_over: self.passed_over,
            notes,
        })
    }

    fn base(&mut self) -> Result<BaseObjects, RenderError> {
        let base = &self.folders.base;
        if let Some(entry) = self.builder.loader.kustomization(base)? {
            return self
                .builder
                .build_top(base, entry, Accumulated::default())
                .map(Box::new)
                .map(BaseObjects::Kustomized);
        }
        let tree = self.builder.loader.tree;
        if tree.entries_in(base).is_empty() {
            let message = format!(
                "the cluster has no folder {base}: add it, or correct `clusters.base` in .capstan.yaml"
            );
            return Err(RenderError::missing(base, message));
        }
        let resources = self.documents(base)?;
        refuse_twins(&resources)?;
        Ok(BaseObjects::Plain(resources))
    }

    /// The overlay's kustomization (or the cluster's own). Where it includes nothing of the base, the
    /// base comes first; where it does, the base was rendered already and its account is dropped.
    fn kustomized(
        &mut self,
        folder: &RepoPath,
        entry: &TreeEntry,
        base: BaseObjects,
    ) -> Result<Vec<RenderedResource>, RenderError> {
        let reached = self.builder.reaches(folder, entry, &self.folders.base)?;
        let first = match reached {
            Inclusion::No => base.accumulated(),
            Inclusion::Yes => {
                self.builder.patches.clear();
                Accumulated::default()
            }
        };
        self.builder.build_top(folder, entry, first)?.finish(&self.builder.loader.budget)
    }

    /// An overlay without a kustomization: each document patches the object that it names, or joins.
    fn patched(&mut self, base: Vec<RenderedResource>) -> Result<Vec<RenderedResource>, RenderError> {
        let schemas = Schemas::default();
        let budget = &self.builder.loader.budget;
        let mut objects = base;
        for document in self.documents(&self.folders.overlay)? {
            let identity = document.identity()?;
            let mut used = PatchUse {
                place: document.value.place.clone(),
                target: identity.object_id().to_string(),
                matched: Vec::new(),
                lost: None,
            };
            budget.pairs(objects.len(), LOOK, &document.value.place)?;
            match target_of(&identity, &objects)? {
                Some(index) => patch(&mut objects, index, &document, &mut used, &schemas, budget)?,
                None if strategic::deletes(&document.value) => {
                    used.lost = Some(format!("there is no {} to delete", used.target));
                }
                None => match joining(&document.value, &schemas, budget) {
                    Ok(value) => objects.push(RenderedResource::new(value)?),
                    Err(Unapplied::TooLarge(error)) => return Err(error),
                    Err(Unapplied::Misfit(misfit)) => {
                        used.lost = Some(misfit.message);
                        used.place = misfit.place;
                    }
                },
            }
            self.builder.patches.push(used);
        }
        Ok(objects)
    }

    /// Every document of a folder without a kustomization. A folder inside it that has one is built.
    fn documents(&mut self, folder: &RepoPath) -> Result<Vec<RenderedResource>, RenderError> {
        let tree: &'a dyn Tree = self.builder.loader.tree;
        let kustomized: Vec<(RepoPath, &TreeEntry)> = tree
            .entries_in(folder)
            .iter()
            .filter(|entry| is_kustomization(&entry.path))
            .filter_map(|entry| Some((entry.path.parent()?, entry)))
            .filter(|(inner, _)| !self.is_foreign(inner, folder))
            .collect();
        let budget = &self.builder.loader.budget;
        budget.pairs(kustomized.len(), kustomized.len(), folder)?;
        let topmost: Vec<&(RepoPath, &TreeEntry)> = kustomized
            .iter()
            .filter(|(inner, _)| !kustomized.iter().any(|(outer, _)| inner.is_in(outer)))
            .collect();
        budget.pairs(tree.entries_in(folder).len(), topmost.len(), folder)?;
        let mut resources = Vec::new();
        for entry in tree.entries_in(folder) {
            let inner = topmost.iter().any(|(inner, _)| entry.path.is_in(inner));
            if inner || !may_hold_objects(entry) || self.is_foreign(&entry.path, folder) {
                continue;
            }
            let loaded = self.builder.loader.read(entry, Dialect::Kubernetes)?;
            if is_beside_manifests(&loaded.documents) {
                self.passed_over.push(entry.path.clone());
                continue;
            }
            resources.extend(self.builder.loader.objects(&loaded)?);
        }
        for (inner, entry) in topmost {
            let built = self.builder.build_top(inner, entry, Accumulated::default())?;
            resources.extend(built.finish(budget)?);
        }
        Ok(resources)
    }

    /// With `base: "."` neither the overlay nor Capstan's own files are part of the base; the overlay's
    /// folders for folders beside base are not part of it.
    fn is_foreign(&self, path: &RepoPath, folder: &RepoPath) -> bool {
        let overlay = &self.folders.overlay;
        let in_overlay =
            folder != overlay && !folder.is_in(overlay) && (path.is_in(overlay) || path == overlay);
        let beside = || self.beside.iter().any(|folder| path == folder || path.is_in(folder));
        in_overlay || self.builder.own.contains(path) || folder == overlay && beside()
    }
}

/// The object that an overlay's document names, whatever the API version. A document without a
/// namespace means the one object of its kind and name.
fn target_of(
    identity: &ResourceIdentity<'_>,
    objects: &[RenderedResource],
) -> Result<Option<usize>, RenderError> {
    let wanted = identity.object_id();
    let mut alike = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        let id = object.identity()?.object_id();
        if id == wanted {
            return Ok(Some(index));
        }
        if wanted.namespace.is_none()
            && id.group == wanted.group
            && id.kind == wanted.kind
            && id.name == wanted.name
        {
            alike.push(index);
        }
    }
    Ok(match alike.as_slice() {
        [one] => Some(*one),
        _ => None,
    })
}

/// A document that finds no object and becomes one.
fn joining(
    document: &PlacedValue,
    schemas: &Schemas,
    budget: &RenderBudget,
) -> Result<PlacedValue, Unapplied> {
    losses::refuse(None, document, schemas, budget)?;
    strategic::as_object(document, schemas, budget)
}

fn patch(
    objects: &mut Vec<RenderedResource>,
    index: usize,
    document: &RenderedResource,
    used: &mut PatchUse,
    schemas: &Schemas,
    budget: &RenderBudget,
) -> Result<(), RenderError> {
    let Some(object) = objects.get_mut(index) else { return Ok(()) };
    let id = object.identity()?.object_id();
    let mut value = object.value.clone();
    let patch = without_identity(&document.value);
    let merged = losses::refuse(Some(&object.value), &patch, schemas, budget)
        .and_then(|()| strategic::apply(&mut value, &patch, schemas, budget));
    match merged {
        Ok(PatchOutcome::Kept) => {
            object.value = value;
            used.matched.push(id);
        }
        Ok(PatchOutcome::Deleted) => {
            objects.remove(index);
            used.matched.push(id);
        }
        Err(Unapplied::TooLarge(error)) => return Err(error),
        Err(Unapplied::Misfit(misfit)) => {
            used.lost = Some(format!("it does not fit {id}: {}", misfit.message));
            used.place = misfit.place;
        }
    }
    Ok(())
}

/// A patch keeps its hands off what makes the object the same object.
fn without_identity(patch: &PlacedValue) -> PlacedValue {
    let mut patch = patch.clone();
    patch.remove("apiVersion");
    patch.remove("kind");
    if let Some(metadata) = patch.field_mut("metadata") {
        metadata.remove("name");
        metadata.remove("namespace");
    }
    patch
}
