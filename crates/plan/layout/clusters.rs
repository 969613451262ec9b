//! Finding the folders that receive change: clusters and provider sets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::files::{FolderFiles, files_in};
use super::found::TargetFolder;
use super::releases::has_release_shape;
use super::services;
use super::sniff::{Sniffed, content, has_cluster_object, is_broken, says_providers, sniff};
use crate::settings::{FOLDER_FILE, Glob, RepositorySettings};
use capstan_model::finding::{FileError, Place, rules};
use capstan_model::ids::ClusterId;
use capstan_model::target::TargetKind;
use capstan_model::tree::{RepoPath, Tree, TreeEntry, is_manifest};
use capstan_model::version::ReleaseVersion;

/// What Capstan records in a target's folder. It is not part of a base, even if the base is the same folder.
const RECORDS: [&str; 2] = [FOLDER_FILE, capstan_inventory::record::FILE];

/// Every such folder; `releases` are the folders that are taken already.
pub(super) fn find(
    tree: &dyn Tree,
    settings: &RepositorySettings,
    releases: &BTreeSet<RepoPath>,
    problems: &mut Vec<FileError>,
) -> Vec<Arc<TargetFolder>> {
    let mut found: BTreeMap<RepoPath, TargetFolder> = BTreeMap::new();
    for folder in candidates(tree.entries(), settings) {
        let with_ancestors = || std::iter::successors(Some(folder.clone()), RepoPath::parent);
        if is_release(tree, settings, &folder) || with_ancestors().any(|folder| releases.contains(&folder)) {
            continue;
        }
        let outer = with_ancestors().skip(1).find_map(|ancestor| found.get(&ancestor));
        if let Some(outer) = outer.filter(|outer| belongs_to(&folder, outer, settings)) {
            problems.extend(read_as_one(tree, &folder, outer));
            continue;
        }
        let mut said = Vec::new();
        let mut cluster = read(tree, settings, &folder, &mut said);
        let Some(kind) = kind_of(tree, settings, &cluster, problems) else { continue };
        cluster.kind = kind;
        let noun = kind.noun();
        let refusal = if let Some(outer) = outer {
            let (around, id) = (outer.kind.noun(), &outer.id);
            let inner = if kind == outer.kind { "another".to_owned() } else { format!("a {noun}") };
            Some(format!(
                "this folder has the content of a {noun}, but is inside the {around} {id}: a {around} never contains {inner}. Move one of them, or list the cluster folders in `clusters.paths`"
            ))
        } else if folder.is_root() {
            Some(format!(
                "the repository's root has the files of a {noun}: move them to a folder of their own, whose path becomes the {noun}'s id"
            ))
        } else {
            None
        };
        match refusal {
            Some(message) => {
                problems.push(FileError::new(rules::INVALID_LAYOUT, Place::whole(folder), message))
            }
            None => {
                problems.append(&mut said);
                found.insert(folder, cluster);
            }
        }
    }
    found.into_values().map(Arc::new).collect()
}

/// Whether a folder is a release by its name. A folder that patterns name and that has no content of a release is a
/// cluster with such a name.
fn is_release(tree: &dyn Tree, settings: &RepositorySettings, folder: &RepoPath) -> bool {
    let is_named = |patterns: &Vec<Glob>| Glob::any(patterns, folder.as_str());
    ReleaseVersion::parse(folder.name()).is_some()
        && (has_release_shape(tree, folder) || !settings.clusters.paths.as_ref().is_some_and(is_named))
}

/// Reads a known folder again after files in it changed. `None` if only a new search can decide: the folder may not
/// be a target any more, may be of another kind, or may contain another target.
pub(super) fn read_again(
    tree: &dyn Tree,
    settings: &RepositorySettings,
    known: &TargetFolder,
) -> Option<TargetFolder> {
    let mut problems = Vec::new();
    let folder = known.id.folder();
    let cluster = TargetFolder { kind: known.kind, ..read(tree, settings, folder, &mut problems) };
    let kind = kind_of(tree, settings, &cluster, &mut problems);
    let stays = kind == Some(known.kind) && problems.is_empty();
    let inside = candidates(tree.entries_in(folder), settings);
    let is_part = |inner: &RepoPath| {
        belongs_to(inner, &cluster, settings) && read_as_one(tree, inner, &cluster).is_none()
    };
    let alone = inside.iter().filter(|inner| inner.is_in(folder)).all(is_part);
    (stays && alone).then_some(cluster)
}

/// What a folder is; `None` where it is nothing that receives change.
fn kind_of(
    tree: &dyn Tree,
    settings: &RepositorySettings,
    folder: &TargetFolder,
    problems: &mut Vec<FileError>,
) -> Option<TargetKind> {
    let says = |entry: &TreeEntry| content(tree, entry).is_ok_and(|bytes| says_providers(&bytes));
    if settings.names_providers(&folder.id)
        && folder.base_files.iter().filter(|entry| is_manifest(&entry.path)).any(says)
    {
        return Some(TargetKind::Providers);
    }
    match &settings.clusters.paths {
        Some(patterns) => {
            let is_one = !folder.base_files.is_empty() && Glob::any(patterns, folder.id.as_str());
            // If its shape is unclear, it is a cluster, because the settings name it.
            is_one.then(|| shape(tree, folder, settings, &mut Vec::new()).unwrap_or_default())
        }
        None => shape(tree, folder, settings, problems),
    }
}

/// Whether Capstan made a folder from an inventory, as that of a management cluster, which Cluster API did not make: nothing
/// in it need be of Cluster API.
fn is_of_inventory(tree: &dyn Tree, folder: &TargetFolder) -> bool {
    let record = folder.id.folder().join(capstan_inventory::record::FILE);
    folder.settings.is_some() && record.is_ok_and(|path| tree.entry(&path).is_some())
}

/// Folders that hold a base, shallow ones first.
fn candidates(entries: &[TreeEntry], settings: &RepositorySettings) -> Vec<RepoPath> {
    let base = settings.clusters.base.path();
    let mut folders = BTreeSet::new();
    for entry in entries {
        if base.is_root() {
            if !is_manifest(&entry.path) {
                continue;
            }
            match (&settings.clusters.paths, entry.path.parent()) {
                // A pattern may name a folder whose files are all in subfolders.
                (Some(_), parent) => folders.extend(std::iter::successors(parent, RepoPath::parent)),
                (None, parent) => folders.extend(parent),
            }
        } else {
            let ancestors = std::iter::successors(entry.path.parent(), RepoPath::parent);
            folders.extend(ancestors.filter_map(|folder| holder(&folder, base)));
        }
    }
    let mut folders: Vec<RepoPath> = folders.into_iter().collect();
    folders.sort_by_key(|folder| folder.parts().count());
    folders
}

/// The folder that `folder` is the base of: `gauss/peu01` for `gauss/peu01/base`.
pub(crate) fn holder(folder: &RepoPath, base: &RepoPath) -> Option<RepoPath> {
    let above = folder.as_str().strip_suffix(base.as_str())?;
    match above.strip_suffix('/') {
        Some(above) => RepoPath::parse(above).ok(),
        None => above.is_empty().then(RepoPath::root),
    }
}

/// Whether a folder is a part of a cluster's base or overlay.
fn belongs_to(folder: &RepoPath, cluster: &TargetFolder, settings: &RepositorySettings) -> bool {
    let is_at = |place: &RepoPath| folder == place || folder.is_in(place);
    is_at(&cluster.overlay) || !settings.clusters.base.is_here() && is_at(&cluster.base) || {
        // With `base: "."` subfolders are base; only one that a pattern names is a rival.
        settings.clusters.base.is_here() && settings.clusters.paths.is_none()
    }
}

/// Two folders with a `Cluster` each that are read as one cluster, most likely by mistake.
fn read_as_one(tree: &dyn Tree, folder: &RepoPath, outer: &TargetFolder) -> Option<FileError> {
    let holds_cluster = |folder: &RepoPath| {
        outer
            .base_files
            .iter()
            .filter(|entry| is_manifest(&entry.path) && entry.path.parent().as_ref() == Some(folder))
            .any(|entry| content(tree, entry).is_ok_and(|bytes| has_cluster_object(&bytes)))
    };
    (holds_cluster(folder) && holds_cluster(&outer.base)).then(|| {
        let message = format!(
            "this folder has its own `Cluster`, but Capstan reads it as part of the cluster {}, because subfolders belong to a base: list the cluster folders in `clusters.paths`",
            outer.id
        );
        FileError::new(rules::INVALID_LAYOUT, Place::whole(folder.clone()), message)
    })
}

/// What a folder is by its content. One with provider objects and others of Cluster API is a cluster, and
/// [`crate::cluster`] says what is wrong with it.
fn shape(
    tree: &dyn Tree,
    cluster: &TargetFolder,
    settings: &RepositorySettings,
    problems: &mut Vec<FileError>,
) -> Option<TargetKind> {
    let mut doubts = Vec::new();
    let mut found = None;
    let recorded = cluster.settings.is_some();
    // With `base: "."` a folder above several clusters holds their files too: its own ones decide.
    let decides = |entry: &&TreeEntry| {
        is_manifest(&entry.path)
            && (!settings.clusters.base.is_here() || entry.path.parent().as_ref() == Some(&cluster.base))
    };
    for entry in cluster.base_files.iter().filter(decides) {
        let doubt = match content(tree, entry).map(|bytes| (sniff(&bytes), bytes)) {
            Ok((Sniffed::Cluster, _)) => return Some(TargetKind::Cluster),
            Ok((Sniffed::Providers, _)) => {
                found = Some(TargetKind::Providers);
                continue;
            }
            // Where Capstan keeps a record, a broken file is a broken cluster: refused by name, not missed.
            Ok((Sniffed::Other, bytes)) if recorded && is_broken(&bytes) => {
                found = found.or(Some(TargetKind::Cluster));
                continue;
            }
            Ok((Sniffed::Unreadable(_), _)) | Err(_) if recorded => {
                found = found.or(Some(TargetKind::Cluster));
                continue;
            }
            Ok((Sniffed::Other, _)) => continue,
            Ok((Sniffed::Unreadable(error), _)) => (Some(error.position), error.message),
            Err(reason) => (None, reason),
        };
        doubts.push((entry.path.clone(), doubt));
    }
    if found.is_none() && is_of_inventory(tree, cluster) {
        return Some(TargetKind::Cluster);
    }
    if found.is_none() {
        problems.extend(doubts.into_iter().map(|(path, (position, reason))| {
            let message = format!("cannot tell whether {} is a cluster: {reason}", cluster.id);
            FileError::new(rules::INVALID_LAYOUT, Place::maybe_at(path, position), message)
        }));
    }
    found
}

fn read(
    tree: &dyn Tree,
    settings: &RepositorySettings,
    folder: &RepoPath,
    problems: &mut Vec<FileError>,
) -> TargetFolder {
    let base = settings.clusters.base.inside(folder);
    let overlay = settings.clusters.overlay.inside(folder);
    let file = |folder: &RepoPath| {
        let path = folder.join(FOLDER_FILE).ok()?;
        tree.entry(&path).filter(|entry| entry.is_file()).cloned()
    };
    let (own, customer) = (file(folder), file(&overlay));
    let base_files = if settings.clusters.base.is_here() {
        FolderFiles::of(base.clone()).without_folder(overlay.clone()).without_files(&RECORDS)
    } else {
        FolderFiles::of(base.clone())
    };
    let services = if settings.clusters.base.is_here() {
        Vec::new()
    } else {
        services::find(tree, folder, &overlay, problems)
    };
    let of_overlay = FolderFiles::of(overlay.clone()).without_files(&RECORDS);
    let of_overlay = services
        .iter()
        .fold(of_overlay, |files, service| files.without_folder(service.folder.inside(&overlay)));
    TargetFolder {
        id: ClusterId::new(folder.clone()),
        kind: TargetKind::default(),
        base_files: files_in(tree, &base_files, problems),
        overlay_files: files_in(tree, &of_overlay, problems),
        settings: own,
        overlay_settings: customer,
        services,
        base,
        overlay,
    }
}
