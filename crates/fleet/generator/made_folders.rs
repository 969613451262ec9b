//! The folders of clusters as an inventory makes them, if they are stored nowhere: those of a live inventory.
//!
//! *Guarantee*: a folder is made as the bot makes that of a cluster which is to come, or not at all; what is wrong with
//! one definition, a fault of Capstan's included, is that one's own.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use capstan_inventory::kinds::Object;
use capstan_inventory::origin::LevelKind;
use capstan_model::digest::sha256_of_lines;
use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::tree::RepoPath;
use capstan_plan::creation::{FolderShape, Makes, NewCluster, make};
use capstan_plan::flux::PostBuild;
use capstan_plan::inventory::FleetInventory;
use capstan_plan::merge::AppliedBy;
use capstan_plan::settings::{FOLDER_FILE, record_deletion};

use super::to_come::ToCome;
use super::valued::{Subject, refused};
use super::{Fleet, Refused};

/// A folder that was made of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeFolder {
    /// The cluster's id, which is the folder.
    pub cluster: ClusterId,
    /// The release that it is made from.
    pub release: ReleaseId,
    /// The digest of all that its render saw besides (I9).
    pub digest: String,
    /// Its files with their texts.
    pub files: BTreeMap<RepoPath, String>,
}

/// A cluster that an inventory defines, and that has a folder of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToMake {
    /// Its id, which is the folder.
    pub cluster: ClusterId,
    /// What tells all that the folder is made from, from anything else that it might be made from.
    pub print: String,
}

/// What an inventory is to come to.
#[derive(Debug, Default)]
pub struct ToMakeAll {
    /// By the names of their definitions: what is to be made, or why nothing is.
    pub clusters: BTreeMap<String, Result<ToMake, Refused>>,
    /// How many clusters are of a level's object.
    pub of_levels: BTreeMap<(LevelKind, String), u32>,
}

/// Definitions that have no folder of their own, by their names, and why.
pub(super) fn without_folder(inventory: &FleetInventory) -> BTreeMap<String, Refused> {
    let clashing = inventory.clashing().map(|(name, folder)| {
        let message = format!("its folder `{folder}` belongs to another definition: write another `folder`");
        let place = inventory.inventory.cluster(name).map(|one| one.level.place(one.offset));
        (name.to_owned(), Refused { message, place })
    });
    let homeless = inventory.homeless().into_iter();
    clashing.chain(homeless.map(|(one, findings)| (one.level.name.clone(), refused(&findings)))).collect()
}

/// All clusters that the inventory defines, without management clusters.
///
/// # Errors
/// The inventory cannot be read.
pub fn folders_to_make(fleet: &Fleet) -> Result<ToMakeAll, Refused> {
    let mut all = ToMakeAll::default();
    let Some(inventory) = fleet.inventory() else { return Ok(all) };
    let is_cluster = |one: &Object| one.level.kind == LevelKind::ClusterDefinition;
    if inventory.inventory.unreadable.is_some()
        && let Some((message, place)) = inventory.unreadable()
    {
        return Err(Refused { message: message.clone(), place: Some(place.clone()) });
    }
    all.clusters.extend(without_folder(inventory).into_iter().map(|(name, why)| (name, Err(why))));
    // Values that one release does not know, another one may.
    let releases = fleet.layout().releases.iter().filter_map(|one| fleet.tree().folder_id(&one.folder));
    let releases = sha256_of_lines(releases.map(|id| id.to_string()));
    for (folder, definition) in inventory.clusters().filter(|(_, one)| is_cluster(one)) {
        let said = inventory.digest_in(folder).unwrap_or_default();
        let print = format!("{} {said} {releases}", env!("CARGO_PKG_VERSION"));
        let to_make = ToMake { cluster: ClusterId::new(folder.clone()), print };
        all.clusters.insert(definition.level.name.clone(), Ok(to_make));
    }
    let is_defined = |name: &str| inventory.inventory.object(LevelKind::ClusterDefinition, name).is_some();
    all.clusters.retain(|name, _| is_defined(name));
    for definition in inventory.inventory.clusters().filter(|one| is_cluster(one)) {
        let Ok(member) = inventory.member(definition) else { continue };
        for level in member.objects.iter().filter(|one| !one.level.kind.is_cluster()) {
            *all.of_levels.entry((level.level.kind, level.level.name.clone())).or_default() += 1;
        }
    }
    Ok(all)
}

/// The folder of one of them, as Capstan would create it.
///
/// # Errors
/// What is wrong with its values, its release or its render; a fault of Capstan's.
pub fn make_folder(fleet: &Fleet, id: &ClusterId) -> Result<MadeFolder, Refused> {
    let made = catch_unwind(AssertUnwindSafe(|| made_folder(fleet, id)));
    made.unwrap_or_else(|_| {
        let message = format!("making {id} failed with an internal error of Capstan, which the log shows");
        Err(Refused { message, place: None })
    })
}

fn made_folder(fleet: &Fleet, id: &ClusterId) -> Result<MadeFolder, Refused> {
    let gone = || Refused { message: format!("{id} is not defined any more"), place: None };
    let subject = Subject::of(fleet, id.folder())?.ok_or_else(gone)?;
    let definition = subject.member.definition;
    let at = |message: String| Refused { message, place: Some(definition.level.place(definition.offset)) };
    let to_come = ToCome::of(fleet, &subject)?;
    let made = make(NewCluster {
        id,
        makes: Makes::Cluster,
        base: &fleet.settings().clusters.base.inside(id.folder()),
        overlay: &fleet.settings().clusters.overlay.inside(id.folder()),
        release: to_come.source.as_ref(),
        variables: &BTreeMap::new(),
        flux: &PostBuild::default(),
        applied: AppliedBy::Reconciler,
        shape: &FolderShape::default(),
        schemas: fleet.schemas(),
    });
    let made = made.map_err(|why| at(why.to_string()))?;
    let files = made.files.into_iter().filter_map(|file| Some((file.path, file.after?)));
    let mut files: BTreeMap<RepoPath, String> = files.collect();
    if definition.retire.is_some() {
        let path = id.folder().join(FOLDER_FILE).map_err(|error| at(error.to_string()))?;
        let before = files.get(&path).map(String::as_str);
        let text = record_deletion(&path, before, id.folder().name());
        files.insert(path, text.map_err(|error| at(error.to_string()))?);
    }
    let digest = to_come.record.digest();
    Ok(MadeFolder { cluster: id.clone(), release: to_come.release, digest, files })
}
