//! Finding cluster folders.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::ClusterFolder;
use super::files::{Files, files_in};
use super::sniff::{Sniffed, content, has_cluster_object, is_broken, sniff};
use crate::settings::{FOLDER_FILE, RepositorySettings};
use capstan_model::finding::{FileError, Place, rules};
use capstan_model::ids::ClusterId;
use capstan_model::tree::{RepoPath, Tree, TreeEntry, is_manifest};
use capstan_model::version::ReleaseVersion;

/// Every cluster folder; `releases` are the folders that are taken already.
pub(super) fn find(
    tree: &dyn Tree,
    settings: &RepositorySettings,
    releases: &BTreeSet<RepoPath>,
    problems: &mut Vec<FileError>,
) -> Vec<Arc<ClusterFolder>> {
    let mut found: BTreeMap<RepoPath, ClusterFolder> = BTreeMap::new();
    for folder in candidates(tree.entries(), settings) {
        let with_ancestors = || std::iter::successors(Some(folder.clone()), RepoPath::parent);
        let is_release = ReleaseVersion::parse(folder.name()).is_some();
        if is_release || with_ancestors().any(|folder| releases.contains(&folder)) {
            continue;
        }
        let outer = with_ancestors().skip(1).find_map(|ancestor| found.get(&ancestor));
        if let Some(outer) = outer.filter(|outer| belongs_to(&folder, outer, settings)) {
            problems.extend(read_as_one(tree, &folder, outer));
            continue;
        }
        let mut said = Vec::new();
        let cluster = read(tree, settings, &folder, &mut said);
        if !is_cluster(tree, settings, &cluster, problems) {
            continue;
        }
        let refusal = if let Some(outer) = outer {
            Some(format!(
                "this folder is a cluster by its content, but lies in the cluster {}: a cluster never contains \
                 another. Move one of them, or say in `clusters.paths` which folders are clusters",
                outer.id
            ))
        } else if folder.is_root() {
            Some("the repository's root holds a cluster's files: move them to a folder of their own, whose path is \
                  then the cluster's id"
                .to_owned())
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

/// A known cluster's folder after files in it changed; `None` where a new search may find that it is none any
/// more, or holds another one.
pub(super) fn read_again(
    tree: &dyn Tree,
    settings: &RepositorySettings,
    known: &ClusterFolder,
) -> Option<ClusterFolder> {
    let mut problems = Vec::new();
    let folder = known.id.folder();
    let cluster = read(tree, settings, folder, &mut problems);
    let stays = is_cluster(tree, settings, &cluster, &mut problems) && problems.is_empty();
    let inside = candidates(tree.entries_in(folder), settings);
    let is_part = |inner: &RepoPath| {
        belongs_to(inner, &cluster, settings) && read_as_one(tree, inner, &cluster).is_none()
    };
    let alone = inside.iter().filter(|inner| inner.is_in(folder)).all(is_part);
    (stays && alone).then_some(cluster)
}

fn is_cluster(
    tree: &dyn Tree,
    settings: &RepositorySettings,
    cluster: &ClusterFolder,
    problems: &mut Vec<FileError>,
) -> bool {
    match &settings.clusters.paths {
        Some(patterns) => {
            !cluster.base_files.is_empty()
                && patterns.iter().any(|pattern| pattern.matches(cluster.id.as_str()))
        }
        None => has_shape(tree, cluster, settings, problems),
    }
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
                // A pattern may name a folder whose files all lie in subfolders.
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
fn belongs_to(folder: &RepoPath, cluster: &ClusterFolder, settings: &RepositorySettings) -> bool {
    let is_at = |place: &RepoPath| folder == place || folder.is_in(place);
    is_at(&cluster.overlay) || !settings.clusters.base.is_here() && is_at(&cluster.base) || {
        // With `base: "."` subfolders are base; only one that a pattern names is a rival.
        settings.clusters.base.is_here() && settings.clusters.paths.is_none()
    }
}

/// Two folders with a `Cluster` each that are read as one cluster, most likely by mistake.
fn read_as_one(tree: &dyn Tree, folder: &RepoPath, outer: &ClusterFolder) -> Option<FileError> {
    let holds_cluster = |folder: &RepoPath| {
        outer
            .base_files
            .iter()
            .filter(|entry| is_manifest(&entry.path) && entry.path.parent().as_ref() == Some(folder))
            .any(|entry| content(tree, entry).is_ok_and(|bytes| has_cluster_object(&bytes)))
    };
    (holds_cluster(folder) && holds_cluster(&outer.base)).then(|| {
        let message = format!(
            "this folder has a `Cluster` of its own, but is read as a part of the cluster {}, because subfolders \
             belong to a base: say in `clusters.paths` which folders are clusters",
            outer.id
        );
        FileError::new(rules::INVALID_LAYOUT, Place::whole(folder.clone()), message)
    })
}

fn has_shape(
    tree: &dyn Tree,
    cluster: &ClusterFolder,
    settings: &RepositorySettings,
    problems: &mut Vec<FileError>,
) -> bool {
    let mut doubts = Vec::new();
    let recorded = cluster.settings.is_some();
    // With `base: "."` a folder above several clusters holds their files too: its own ones decide.
    let decides = |entry: &&TreeEntry| {
        is_manifest(&entry.path)
            && (!settings.clusters.base.is_here() || entry.path.parent().as_ref() == Some(&cluster.base))
    };
    for entry in cluster.base_files.iter().filter(decides) {
        let doubt = match content(tree, entry).map(|bytes| (sniff(&bytes), bytes)) {
            Ok((Sniffed::Cluster, _)) => return true,
            // Where Capstan keeps a record, a broken file is a broken cluster: refused by name, not missed.
            Ok((Sniffed::Other, bytes)) if recorded && is_broken(&bytes) => return true,
            Ok((Sniffed::Unreadable(_), _)) | Err(_) if recorded => return true,
            Ok((Sniffed::Other, _)) => continue,
            Ok((Sniffed::Unreadable(error), _)) => (Some(error.position), error.message),
            Err(reason) => (None, reason),
        };
        doubts.push((entry.path.clone(), doubt));
    }
    problems.extend(doubts.into_iter().map(|(path, (position, reason))| {
        let message = format!("cannot tell whether {} is a cluster: {reason}", cluster.id);
        FileError::new(rules::INVALID_LAYOUT, Place::maybe_at(path, position), message)
    }));
    false
}

fn read(
    tree: &dyn Tree,
    settings: &RepositorySettings,
    folder: &RepoPath,
    problems: &mut Vec<FileError>,
) -> ClusterFolder {
    let base = settings.clusters.base.inside(folder);
    let overlay = settings.clusters.overlay.inside(folder);
    let file = |folder: &RepoPath| {
        let path = folder.join(FOLDER_FILE).ok()?;
        tree.entry(&path).filter(|entry| entry.is_file()).cloned()
    };
    let (own, customer) = (file(folder), file(&overlay));
    let base_files = if settings.clusters.base.is_here() {
        Files::of(base.clone()).without_folder(overlay.clone()).without_file(FOLDER_FILE)
    } else {
        Files::of(base.clone())
    };
    ClusterFolder {
        id: ClusterId::new(folder.clone()),
        base_files: files_in(tree, &base_files, problems),
        overlay_files: files_in(tree, &Files::of(overlay.clone()).without_file(FOLDER_FILE), problems),
        settings: own,
        overlay_settings: customer,
        base,
        overlay,
    }
}
