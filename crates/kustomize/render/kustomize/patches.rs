//! `patches`, `patchesStrategicMerge` and `patchesJson6902`.
//!
//! A patch without a target, or one that does not fit, stops `kubectl kustomize`. Here it is left out and
//! reported: the rules make findings of it, with its place.

use std::rc::Rc;

use super::annotations::settle_annotations;
use super::builder::Builder;
use super::file::{LoadAllowed, MayChange, PatchBody, PatchEntry, PlacedText};
use super::id::{Gvk, Id, text_at};
use crate::render::budget::{LOOK, RenderBudget};
use crate::render::dialect::Dialect;
use crate::render::error::RenderError;
use crate::render::json_patch::{self, PatchOperation};
use crate::render::load::{expand, read_if_yaml, read_inline};
use crate::render::placed::{PlacedContent, PlacedValue, SourceOffset};
use crate::render::rendered::PatchUse;
use crate::render::resource::{RenderedResource, Shares};
use crate::render::schema::Schemas;
use crate::render::selector::PatchSelector;
use crate::render::strategic::{self, PatchOutcome};
use crate::render::walked::Unapplied;
use capstan_model::tree::RepoPath;

/// One patch, read.
pub(super) enum Patch {
    /// Of the object that it names.
    Named { patch: PlacedValue, may_change: MayChange, marks: Marks },
    /// Of every object that a target means.
    Selected { how: How, target: PatchTarget },
}

pub(super) struct PatchTarget {
    selector: Rc<PatchSelector>,
    place: SourceOffset,
}

pub(super) enum How {
    Strategic { patch: PlacedValue, may_change: MayChange },
    Json { operations: Vec<PatchOperation>, former: Former },
}

/// Whether the object's present name is kept among its former ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Former {
    Remembered,
    Forgotten,
}

/// What becomes of the patch's own labels and annotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marks {
    /// They are merged as they are.
    AsTheyAre,
    /// Kustomize makes texts of them first, of `null` too.
    Texts,
}

impl Patch {
    fn place(&self) -> &SourceOffset {
        match self {
            Self::Named { patch, .. } => &patch.place,
            Self::Selected { target, .. } => &target.place,
        }
    }
}

/// Reads an entry of `patches`: strategic merge patches, or one JSON patch.
pub(super) fn load(
    builder: &mut Builder<'_>,
    folder: &RepoPath,
    entry: &PatchEntry,
) -> Result<Vec<Patch>, RenderError> {
    let body = &entry.body.trimmed();
    let documents = documents(builder, folder, body, Dialect::Kustomize)?;
    let is_json =
        matches!(documents.first().map(|document| &document.content), Some(PlacedContent::Sequence(_)));
    if is_json {
        return json(builder, folder, entry, body, Former::Remembered);
    }
    let mut patches = Vec::new();
    expand_patches(&documents, &mut patches)?;
    let may_change = entry.may_change;
    if may_change != MayChange::default() {
        // Kustomize keeps the permission among the patch's annotations, which makes texts of all of them.
        patches.iter_mut().for_each(settle_annotations);
    }
    match (&entry.target, patches.len()) {
        (None, _) => Ok(patches
            .into_iter()
            .map(|patch| Patch::Named { patch, may_change, marks: Marks::AsTheyAre })
            .collect()),
        (Some(_), 0) => Ok(Vec::new()),
        (Some((selector, place)), 1) => Ok(patches
            .into_iter()
            .map(|patch| Patch::Selected {
                how: How::Strategic { patch, may_change },
                target: PatchTarget { selector: Rc::clone(selector), place: place.clone() },
            })
            .collect()),
        (Some(_), _) => Err(RenderError::malformed(
            &entry.place,
            "an entry of `patches` with a `target` must have one patch, but this has several: make each a separate entry",
        )),
    }
}

/// Reads an entry of `patchesJson6902`.
pub(super) fn json6902(
    builder: &mut Builder<'_>,
    folder: &RepoPath,
    entry: &PatchEntry,
) -> Result<Vec<Patch>, RenderError> {
    match &entry.target {
        None => {
            Err(RenderError::malformed(&entry.place, "an entry of `patchesJson6902` has a `target`: add it"))
        }
        Some((selector, place)) if !selector.names_something() => Err(RenderError::malformed(
            place,
            "a target of `patchesJson6902` has a `name`: add it, or make it an entry of `patches`",
        )),
        Some(_) => json(builder, folder, entry, &entry.body, Former::Forgotten),
    }
}

fn json(
    builder: &mut Builder<'_>,
    folder: &RepoPath,
    entry: &PatchEntry,
    body: &PatchBody,
    former: Former,
) -> Result<Vec<Patch>, RenderError> {
    let Some((selector, place)) = &entry.target else {
        return Err(RenderError::malformed(
            &entry.place,
            "a JSON patch has a `target`: say which objects it is for",
        ));
    };
    refuse_yaml_in_brackets(builder, folder, body)?;
    let documents = documents(builder, folder, body, Dialect::Kubernetes)?;
    // Kustomize reads the first document and no other.
    let operations = match documents.first() {
        Some(patch) if !patch.items().is_empty() => json_patch::parse(patch)?,
        _ => return Err(RenderError::malformed(&entry.place, "this JSON patch has no operations: add some")),
    };
    Ok(vec![Patch::Selected {
        how: How::Json { operations, former },
        target: PatchTarget { selector: Rc::clone(selector), place: place.clone() },
    }])
}

/// What begins with a bracket is JSON for kustomize, and nothing else.
fn refuse_yaml_in_brackets(
    builder: &Builder<'_>,
    folder: &RepoPath,
    body: &PatchBody,
) -> Result<(), RenderError> {
    let (text, place) = match body {
        PatchBody::Inline(text) => (text.text.clone().into_bytes(), &text.place),
        PatchBody::File(name) => (builder.bytes(folder, name)?.to_vec(), &name.place),
    };
    let text = text.trim_ascii();
    if text.first() != Some(&b'[') || serde_json::from_slice::<serde_json::Value>(text).is_ok() {
        return Ok(());
    }
    Err(RenderError::malformed(
        place,
        "a JSON patch that begins with `[` must be JSON for kustomize, but this is not JSON: quote its keys and texts, or write the operations as a list with dashes",
    ))
}

/// Reads `patchesStrategicMerge`, whose entries are files or the patches themselves.
pub(super) fn strategic(
    builder: &mut Builder<'_>,
    folder: &RepoPath,
    names: &[PlacedText],
) -> Result<Vec<Patch>, RenderError> {
    let mut patches = Vec::new();
    for name in names {
        let budget = &builder.loader.budget;
        let inline = read_if_yaml(&name.text, &name.place, Dialect::Kustomize, budget)?;
        let inline = inline.filter(|documents| documents.iter().all(PlacedValue::is_mapping));
        match inline {
            Some(documents) => expand_patches(&documents, &mut patches)?,
            None => {
                let loaded = builder.read_as(folder, name, Dialect::Kustomize)?;
                expand_patches(&loaded.documents, &mut patches)?;
            }
        }
    }
    let named = |patch| Patch::Named { patch, may_change: MayChange::default(), marks: Marks::Texts };
    Ok(patches.into_iter().map(named).collect())
}

fn documents(
    builder: &mut Builder<'_>,
    folder: &RepoPath,
    body: &PatchBody,
    dialect: Dialect,
) -> Result<Vec<PlacedValue>, RenderError> {
    match body {
        PatchBody::File(name) => Ok(builder.read_as(folder, name, dialect)?.documents.clone()),
        PatchBody::Inline(text) => read_inline(&text.text, &text.place, dialect, &builder.loader.budget),
    }
}

fn expand_patches(documents: &[PlacedValue], patches: &mut Vec<PlacedValue>) -> Result<(), RenderError> {
    patches.extend(expand(documents)?.into_iter().map(|resource| resource.value));
    Ok(())
}

/// Applies one patch, and keeps account of it.
pub(super) fn apply(
    builder: &mut Builder<'_>,
    resources: &mut Vec<RenderedResource>,
    patch: &Patch,
) -> Result<(), RenderError> {
    let budget = &builder.loader.budget;
    let steps = match patch {
        Patch::Named { .. } => LOOK,
        Patch::Selected { target, .. } => target.selector.steps(),
    };
    budget.pairs(resources.len(), steps, patch.place())?;
    let (selected, mut done) = match patch {
        Patch::Named { patch, .. } => find(resources, patch),
        Patch::Selected { target, .. } => {
            let selects = |(index, resource)| target.selector.selects(resource).then_some(index);
            let selected: Vec<usize> = resources.iter().enumerate().filter_map(selects).collect();
            (selected, account(&target.place, target.selector.to_string()))
        }
    };
    let mut deleted = Vec::new();
    for index in selected {
        let Some(resource) = resources.get_mut(index) else { continue };
        let id = resource.id().object_id();
        budget.copy(&resource.value, patch.place())?;
        let mut patched = resource.clone();
        match patch_one(&mut patched, patch, &builder.schemas, budget) {
            Ok(PatchOutcome::Kept) => {
                *resource = patched;
                done.matched.push(id);
            }
            Ok(PatchOutcome::Deleted) => {
                deleted.push(index);
                done.matched.push(id);
            }
            Err(Unapplied::TooLarge(error)) => return Err(error),
            Err(Unapplied::Misfit(misfit)) => {
                done.lost = Some(format!("it does not fit {id}: {}", misfit.message));
                done.place = misfit.place;
            }
        }
    }
    for index in deleted.into_iter().rev() {
        resources.remove(index);
    }
    builder.patches.push(done);
    Ok(())
}

fn account(place: &SourceOffset, target: String) -> PatchUse {
    PatchUse { place: place.clone(), target, matched: Vec::new(), lost: None }
}

/// The one object whose identity, present or former, a patch names.
fn find(resources: &[RenderedResource], patch: &PlacedValue) -> (Vec<usize>, PatchUse) {
    let wanted = Id::of(patch);
    let target = wanted.object_id().to_string();
    let mut done = account(&patch.place, target.clone());
    let is_meant = |resource: &RenderedResource| resource.ids().iter().any(|id| id.is(&wanted));
    let found: Vec<usize> =
        resources.iter().enumerate().filter(|(_, resource)| is_meant(resource)).map(|(at, _)| at).collect();
    match found.len() {
        1 => return (found, done),
        0 => {
            let version = resources.iter().flat_map(RenderedResource::ids).find(|id| {
                let other =
                    Id { gvk: Gvk { version: wanted.gvk.version.clone(), ..id.gvk.clone() }, ..id.clone() };
                other.is(&wanted)
            });
            done.lost = Some(match version {
                Some(id) => format!(
                    "it names {target} in API version {}, but the object has {}",
                    wanted.gvk.api_version(),
                    id.gvk.api_version()
                ),
                None => format!("there is no {target} to patch"),
            });
        }
        count => {
            done.lost = Some(format!("{count} objects are or were {target}: give the patch a target"));
        }
    }
    (Vec::new(), done)
}

fn patch_one(
    resource: &mut RenderedResource,
    patch: &Patch,
    schemas: &Schemas,
    budget: &RenderBudget,
) -> Result<PatchOutcome, Unapplied> {
    match patch {
        Patch::Named { patch, may_change, marks: Marks::AsTheyAre } => {
            merge(resource, patch, *may_change, schemas, budget)
        }
        Patch::Named { patch, may_change, marks: Marks::Texts }
        | Patch::Selected { how: How::Strategic { patch, may_change }, .. } => {
            merge(resource, &with_texts(patch, &resource.value), *may_change, schemas, budget)
        }
        Patch::Selected { how: How::Json { operations, former }, .. } => {
            if *former == Former::Remembered {
                resource.remember();
            }
            // This makes the object again, each of its parts separately.
            resource.value.settle();
            resource.shares = Shares::None;
            json_patch::apply(&mut resource.value, operations, budget)?;
            settle_annotations(&mut resource.value);
            Ok(PatchOutcome::Kept)
        }
    }
}

fn merge(
    resource: &mut RenderedResource,
    patch: &PlacedValue,
    may_change: MayChange,
    schemas: &Schemas,
    budget: &RenderBudget,
) -> Result<PatchOutcome, Unapplied> {
    if may_change.name == LoadAllowed::Yes || may_change.kind == LoadAllowed::Yes {
        resource.remember();
    }
    let kept = [&["kind"][..], &["metadata", "name"], &["metadata", "namespace"]]
        .map(|keys| (keys, resource.value.at(keys).cloned()));
    let outcome = strategic::apply(&mut resource.value, patch, schemas, budget)?;
    resource.spread();
    for (keys, old) in kept {
        let changes = match keys {
            ["kind"] => may_change.kind,
            [_, "name"] => may_change.name,
            _ => LoadAllowed::No,
        };
        if changes == LoadAllowed::No {
            put_back(&mut resource.value, keys, old);
        }
    }
    Ok(outcome)
}

fn put_back(value: &mut PlacedValue, keys: &[&str], old: Option<PlacedValue>) {
    let place = value.place.clone();
    let Some((last, way)) = keys.split_last() else { return };
    let Some(parent) = value.mapping_at(way, &place) else { return };
    match (old, parent.field_mut(last)) {
        (Some(old), Some(field)) => {
            // Kustomize writes the name again, in the patch's quotes or without.
            field.replace_scalar(PlacedValue::open(&old.written(), &old.place));
        }
        (Some(old), None) => drop(parent.set(last, old)),
        (None, _) => drop(parent.remove(last)),
    }
}

/// The patch as kustomize prepares it where several objects may be meant: of the object's API version, and
/// with labels and annotations that are texts.
fn with_texts(patch: &PlacedValue, object: &PlacedValue) -> PlacedValue {
    let mut patch = patch.clone();
    if let Some(version) = object.field("apiVersion") {
        let place = patch.place.clone();
        patch.set("apiVersion", PlacedValue::text(&version.written(), &place));
    }
    let Some(metadata) = patch.field_mut("metadata") else { return patch };
    for field in ["labels", "annotations"] {
        let Some(marks) = metadata.field_mut(field) else { continue };
        match &mut marks.content {
            PlacedContent::Mapping(entries) if !entries.is_empty() => {
                for (_, value) in entries {
                    *value = PlacedValue::text(&value.written(), &value.place);
                }
            }
            _ => drop(metadata.remove(field)),
        }
    }
    if text_at(&patch, &["metadata", "namespace"]).is_empty()
        && let Some(metadata) = patch.field_mut("metadata")
    {
        metadata.remove("namespace");
    }
    patch
}
