//! What `kustomize build` of a folder gives, from files of the repository alone.

use super::error::{RenderError, Trouble};
use super::generate::{self, Behavior, Datum};
use super::json_patch;
use super::kustomization::{Flavour, Kustomization, Named, PatchBody, PatchEntry};
use super::load::{Loader, read_inline};
use super::placed::{Content, Place, Placed};
use super::resource::{Identity, Resource, refuse_twins};
use super::strategic::{self, MayChange, Misfit, Outcome};
use super::{PatchUse, transform};
use crate::tree::{RepoPath, TreeEntry};

/// Builds kustomizations, and keeps account of their patches.
pub(super) struct Builder<'a> {
    pub(super) loader: &'a Loader<'a>,
    /// Files that are Capstan's own and never rendered.
    pub(super) own: Vec<RepoPath>,
    pub(super) patches: Vec<PatchUse>,
    pub(super) notes: Vec<String>,
    /// The folders being built, outermost first.
    way: Vec<RepoPath>,
}

/// How often one folder may be included on the way down before it is taken for a loop of another kind.
const DEEPEST: usize = 64;

impl<'a> Builder<'a> {
    pub(super) const fn new(loader: &'a Loader<'a>, own: Vec<RepoPath>) -> Self {
        Self { loader, own, patches: Vec::new(), notes: Vec::new(), way: Vec::new() }
    }

    /// What the folder's kustomization gives; `first` are resources before its own.
    pub(super) fn build(
        &mut self,
        folder: &RepoPath,
        entry: &TreeEntry,
        flavour: Flavour,
        first: Vec<Resource>,
    ) -> Result<Vec<Resource>, RenderError> {
        let loaded = self.loader.read(entry)?;
        if self.way.contains(folder) || self.way.len() > DEEPEST {
            let way: Vec<&str> = self.way.iter().chain([folder]).map(RepoPath::as_str).collect();
            return Err(RenderError::at(
                &loaded.start,
                Trouble::Cycle,
                format!("kustomizations include one another, {}: break the circle", way.join(" -> ")),
            ));
        }
        let kustomization = Kustomization::read(&loaded.documents, &loaded.start, flavour)?;
        self.way.push(folder.clone());
        let built = self.fold(folder, &kustomization, first);
        self.way.pop();
        built
    }

    fn fold(
        &mut self,
        folder: &RepoPath,
        kustomization: &Kustomization,
        first: Vec<Resource>,
    ) -> Result<Vec<Resource>, RenderError> {
        self.notes.extend(kustomization.notes.iter().cloned());
        let mut resources = first;
        for name in &kustomization.resources {
            let more = self.resource(folder, name)?;
            resources.extend(more);
            refuse_twins(&resources)?;
        }
        for name in &kustomization.components {
            let path = resolve(folder, name)?;
            let entry = self.loader.kustomization(&path)?.ok_or_else(|| {
                RenderError::reference(&name.place, format!("{path} holds no component: correct the path"))
            })?;
            resources = self.build(&path, entry, Flavour::Component, resources)?;
        }
        for entry in &kustomization.config_maps {
            self.generate(folder, kustomization, entry, &mut resources)?;
        }
        self.transform(folder, kustomization, &mut resources)?;
        refuse_twins(&resources)?;
        Ok(resources)
    }

    /// In kustomize's order.
    fn transform(
        &mut self,
        folder: &RepoPath,
        kustomization: &Kustomization,
        resources: &mut Vec<Resource>,
    ) -> Result<(), RenderError> {
        for named in &kustomization.strategic {
            // An entry is a file, or the patch itself.
            let documents = match self.patch_file(folder, named) {
                Ok(documents) => documents,
                Err(error) if !named.text.contains('\n') => return Err(error),
                Err(_) => read_inline(&named.text, &named.place)?,
            };
            for patch in &documents {
                self.patch_by_identity(resources, patch, MayChange::default())?;
            }
        }
        for entry in &kustomization.patches {
            self.patch(folder, resources, entry)?;
        }
        if let Some(namespace) = &kustomization.namespace {
            transform::set_namespace(resources, namespace)?;
        }
        transform::rename(resources, kustomization)?;
        for labels in &kustomization.labels {
            transform::add_labels(resources, labels)?;
        }
        if !kustomization.annotations.is_empty() {
            transform::add_annotations(resources, &kustomization.annotations)?;
        }
        for entry in &kustomization.json6902 {
            if entry.target.is_none() {
                return Err(RenderError::malformed(
                    &entry.place,
                    "an entry of `patchesJson6902` has a `target`: add it",
                ));
            }
            self.patch(folder, resources, entry)?;
        }
        Ok(())
    }

    /// The objects that an entry of `resources` names.
    fn resource(&mut self, folder: &RepoPath, name: &Named) -> Result<Vec<Resource>, RenderError> {
        let path = resolve(folder, name)?;
        if let Some(entry) = self.loader.tree.entry(&path) {
            return if self.own.contains(&path) { Ok(Vec::new()) } else { self.loader.objects(entry) };
        }
        match self.loader.kustomization(&path)? {
            Some(entry) => self.build(&path, entry, Flavour::Kustomization, Vec::new()),
            None if self.loader.tree.entries_in(&path).is_empty() => Err(RenderError::reference(
                &name.place,
                format!("there is no file or folder {path}: correct `{}` or add it", name.text),
            )),
            None => Err(RenderError::reference(
                &name.place,
                format!(
                    "the folder {path} has no kustomization.yaml, which kustomize wants of a folder: add one or list its files"
                ),
            )),
        }
    }

    /// The folders and files that a kustomization includes as resources, to any depth.
    pub(super) fn reaches(
        &self,
        folder: &RepoPath,
        entry: &TreeEntry,
        wanted: &RepoPath,
        seen: &mut Vec<RepoPath>,
    ) -> Result<Reached, RenderError> {
        if seen.contains(folder) {
            return Ok(Reached::No);
        }
        seen.push(folder.clone());
        let loaded = self.loader.read(entry)?;
        let names = loaded.documents.first().into_iter().flat_map(|document| {
            ["resources", "bases", "components"].into_iter().filter_map(|field| document.field(field))
        });
        for name in names.flat_map(Placed::items).filter_map(Placed::as_str) {
            let Ok(path) = folder.join(name) else { continue };
            if path == *wanted || path.is_in(wanted) {
                return Ok(Reached::Yes);
            }
            if let Some(inner) = self.loader.kustomization(&path)?
                && self.reaches(&path, inner, wanted, seen)? == Reached::Yes
            {
                return Ok(Reached::Yes);
            }
        }
        Ok(Reached::No)
    }

    fn patch_file(&self, folder: &RepoPath, name: &Named) -> Result<Vec<Placed>, RenderError> {
        let path = resolve(folder, name)?;
        let entry = self.loader.tree.entry(&path).ok_or_else(|| {
            RenderError::reference(
                &name.place,
                format!("there is no patch {path}: correct the path or add it"),
            )
        })?;
        Ok(self.loader.read(entry)?.documents.clone())
    }

    fn patch(
        &mut self,
        folder: &RepoPath,
        resources: &mut Vec<Resource>,
        entry: &PatchEntry,
    ) -> Result<(), RenderError> {
        let documents = match &entry.body {
            PatchBody::File(name) => self.patch_file(folder, name)?,
            PatchBody::Inline(text) => read_inline(&text.text, &text.place)?,
        };
        for patch in &documents {
            match (&patch.content, &entry.target) {
                (Content::Mapping(_), None) => self.patch_by_identity(resources, patch, entry.may_change)?,
                (_, Some((selector, place))) => {
                    let mut selected = Vec::new();
                    for (index, resource) in resources.iter().enumerate() {
                        if selector.selects(resource)? {
                            selected.push(index);
                        }
                    }
                    let how = if patch.is_mapping() {
                        How::Strategic(patch, entry.may_change)
                    } else {
                        How::Json(json_patch::parse(patch)?)
                    };
                    self.apply(resources, &selected, &how, place, selector.to_string())?;
                }
                (_, None) => {
                    return Err(RenderError::malformed(
                        &entry.place,
                        "a JSON patch has a `target`: say which objects it is for",
                    ));
                }
            }
        }
        Ok(())
    }

    /// Applies a patch to the one object whose identity, present or former, it names.
    fn patch_by_identity(
        &mut self,
        resources: &mut Vec<Resource>,
        patch: &Placed,
        may_change: MayChange,
    ) -> Result<(), RenderError> {
        let identity = Identity::of(patch)?;
        let mut selected = Vec::new();
        for (index, resource) in resources.iter().enumerate() {
            if resource.identities()?.iter().any(|known| known.is(&identity)) {
                selected.push(index);
            }
        }
        let target = identity.object_id().to_string();
        if selected.is_empty() {
            let elsewhere = other_version(resources, &identity)?;
            self.patches.push(PatchUse {
                place: patch.place.clone(),
                lost: Some(match elsewhere {
                    Some(version) => format!(
                        "it names {target} in API version {}, and the object has {version}",
                        identity.api_version
                    ),
                    None => format!("there is no {target} to be patched"),
                }),
                target,
                matched: Vec::new(),
            });
            return Ok(());
        }
        self.apply(resources, &selected, &How::Strategic(patch, may_change), &patch.place, target)
    }

    fn apply(
        &mut self,
        resources: &mut Vec<Resource>,
        selected: &[usize],
        how: &How<'_>,
        place: &Place,
        target: String,
    ) -> Result<(), RenderError> {
        let mut done = PatchUse { place: place.clone(), target, matched: Vec::new(), lost: None };
        let mut deleted = Vec::new();
        for index in selected {
            let Some(resource) = resources.get_mut(*index) else { continue };
            let identity = resource.identity()?;
            let mut value = resource.value.clone();
            match how.apply(&mut value, &identity) {
                Ok(Outcome::Kept) => {
                    resource.remember_identity()?;
                    resource.value = value;
                    done.matched.push(identity.object_id());
                }
                Ok(Outcome::Deleted) => {
                    deleted.push(*index);
                    done.matched.push(identity.object_id());
                }
                Err(misfit) => {
                    done.lost = Some(format!("it does not fit {}: {}", identity.object_id(), misfit.message));
                    done.place = misfit.place;
                }
            }
        }
        for index in deleted.into_iter().rev() {
            resources.remove(index);
        }
        self.patches.push(done);
        Ok(())
    }

    fn generate(
        &mut self,
        folder: &RepoPath,
        kustomization: &Kustomization,
        entry: &Placed,
        resources: &mut Vec<Resource>,
    ) -> Result<(), RenderError> {
        let mut generated = generate::read(kustomization, entry)?;
        for datum in &generated.data {
            let (key, value) = match datum {
                Datum::Literal { key, value } => (key, value.clone()),
                Datum::File { key, path } => (key, self.file_text(folder, path)?),
            };
            let place = generated.place.clone();
            if let Some(data) = generated.object.mapping_at(&["data"], &place) {
                data.set(key, value);
            }
        }
        let identity = Identity::of(&generated.object)?;
        let mut there = None;
        for (index, resource) in resources.iter().enumerate() {
            if resource.identities()?.iter().any(|known| known.is(&identity)) {
                there = Some(index);
            }
        }
        match (generated.behavior, there.and_then(|index| resources.get_mut(index))) {
            (Behavior::Create, None) => resources.push(Resource::new(generated.object)?),
            (Behavior::Create, Some(_)) => {
                resources.push(Resource::new(generated.object)?);
                refuse_twins(resources)?;
            }
            (behavior, Some(resource)) => {
                generate::put_data(&mut resource.value, &generated.object, behavior)
            }
            (_, None) => {
                return Err(RenderError::reference(
                    &generated.place,
                    format!(
                        "there is no {} whose data could be replaced or merged: correct the name, or generate it with `behavior: create`",
                        identity.object_id()
                    ),
                ));
            }
        }
        Ok(())
    }

    fn file_text(&self, folder: &RepoPath, name: &Named) -> Result<Placed, RenderError> {
        let path = resolve(folder, name)?;
        let entry = self.loader.tree.entry(&path).ok_or_else(|| {
            RenderError::reference(
                &name.place,
                format!("there is no file {path}: correct the path or add it"),
            )
        })?;
        let bytes = self.loader.bytes(entry)?;
        let text = std::str::from_utf8(&bytes).map_err(|_| {
            RenderError::unsupported(
                &name.place,
                format!("{path} is no text, and Capstan renders no binary data"),
            )
        })?;
        Ok(Placed::text(text, &name.place))
    }
}

/// Whether a kustomization includes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reached {
    Yes,
    No,
}

enum How<'a> {
    Strategic(&'a Placed, MayChange),
    Json(Vec<json_patch::Operation>),
}

impl How<'_> {
    fn apply(&self, value: &mut Placed, identity: &Identity) -> Result<Outcome, Misfit> {
        match self {
            Self::Strategic(patch, may_change) => strategic::apply(value, patch, identity, *may_change),
            Self::Json(operations) => json_patch::apply(value, operations).map(|()| Outcome::Kept),
        }
    }
}

/// The API version under which the object is there, where that is all that differs.
fn other_version(resources: &[Resource], wanted: &Identity) -> Result<Option<String>, RenderError> {
    for resource in resources {
        for known in resource.identities()? {
            if known.group() == wanted.group()
                && (Identity { api_version: wanted.api_version.clone(), ..known.clone() }).is(wanted)
            {
                return Ok(Some(known.api_version));
            }
        }
    }
    Ok(None)
}

/// The path that a kustomization names, which may climb but not leave the repository.
fn resolve(folder: &RepoPath, name: &Named) -> Result<RepoPath, RenderError> {
    let text = name.text.as_str();
    let remote = text.contains("://")
        || text.contains("?ref=")
        || ["git@", "git::", "ssh:", "github.com/", "github.com:"]
            .iter()
            .any(|start| text.starts_with(start));
    if remote {
        return Err(RenderError::unsupported(
            &name.place,
            format!("`{text}` lies outside the repository, and Capstan renders nothing remote: copy it here"),
        ));
    }
    if text.starts_with('/') {
        return Err(RenderError::reference(
            &name.place,
            format!("`{text}` is an absolute path: write it relative to this file's folder"),
        ));
    }
    folder.join(text).map_err(|_| {
        RenderError::reference(
            &name.place,
            format!("`{text}` leads out of the repository: name something within it"),
        )
    })
}
