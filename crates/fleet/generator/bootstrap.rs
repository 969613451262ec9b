//! A management cluster of the inventory from nothing: what its folders would be made of, all of it together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_kustomize::render::{self, EditedTree, Folders};
use capstan_model::file_change::FileChange;
use capstan_model::ids::ClusterId;
use capstan_model::tree::{RepoPath, Tree};
use capstan_plan::creation::{FolderShape, NewCluster, make};
use capstan_plan::merge::AppliedBy;
use serde_json::Value;

use super::made_folders::without_folder;
use super::to_come::ToCome;
use super::valued::Subject;
use super::{Fleet, Refused, provider_objects};

/// The objects of a management cluster: base and templates of its release under its values, as they would be in new
/// folders. The present content of those folders is not read.
///
/// # Errors
/// What is wrong with its definition, its values, its release or the render.
pub fn bootstrap(fleet: &Fleet, name: &str) -> Result<Vec<Value>, Refused> {
    let inventory = fleet.inventory();
    let folders: BTreeSet<RepoPath> = inventory
        .into_iter()
        .flat_map(|inventory| inventory.clusters())
        .filter(|(_, definition)| definition.level.name == name)
        .map(|(folder, _)| folder.clone())
        .collect();
    if folders.is_empty() {
        let message = format!("the inventory defines no management cluster `{name}`");
        let why = inventory.and_then(|inventory| without_folder(inventory).remove(name));
        return Err(why.unwrap_or(Refused { message, place: None }));
    }
    let mut objects = Vec::new();
    for folder in folders {
        objects.extend(made_alone(fleet, &ClusterId::new(folder))?);
    }
    Ok(objects)
}

/// What a folder of a management cluster is made of.
fn made_alone(fleet: &Fleet, id: &ClusterId) -> Result<Vec<Value>, Refused> {
    let no_longer = || Refused { message: format!("{id} is not defined any more"), place: None };
    let subject = Subject::of(fleet, id.folder())?.ok_or_else(no_longer)?;
    let ToCome { source, .. } = ToCome::of(fleet, &subject)?;
    if !source.has_objects() {
        return Ok(Vec::new());
    }
    let folders = Folders {
        cluster: id.folder().clone(),
        base: fleet.settings().clusters.base.inside(id.folder()),
        overlay: fleet.settings().clusters.overlay.inside(id.folder()),
    };
    let made = make(NewCluster {
        id,
        makes: subject.makes(source.has_providers),
        base: &folders.base,
        overlay: &folders.overlay,
        release: source.as_ref(),
        variables: &BTreeMap::new(),
        flux: &fleet.flux_index().post_build(id),
        applied: AppliedBy::Reconciler,
        shape: &FolderShape::of_neighbours(fleet.tree().as_ref(), fleet.layout(), id),
        schemas: fleet.schemas(),
    });
    let definition = subject.member.definition;
    let made = made.map_err(|why| Refused {
        message: why.to_string(),
        place: Some(definition.level.place(definition.offset)),
    })?;
    let gone = |path: &RepoPath| FileChange { path: path.clone(), before: None, after: None };
    let lies = fleet.tree().entries_in(id.folder()).iter().map(|entry| gone(&entry.path));
    let cleared: Arc<dyn Tree> =
        Arc::new(EditedTree::new(Arc::clone(fleet.tree()), &lies.collect::<Vec<_>>()));
    let mut rendered = render::render(&EditedTree::new(cleared, &made.files), &folders)?;
    provider_objects::in_served_version(&mut rendered)?;
    Ok(rendered.objects.into_iter().map(|object| object.value).collect())
}
