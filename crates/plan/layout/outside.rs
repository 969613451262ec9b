//! Clusters in folders where Capstan does not look, and the settings that include them.
//!
//! By shape a cluster is a folder with `base/`. If a repository keeps its clusters in another way, Capstan would
//! find nothing and report nothing. Only whole `Cluster` objects count: one with `${…}` in its name is a template.
//! Objects in a release, or anywhere in a cluster's folder, are in their place. Nothing is reported if
//! `clusters.paths` is empty, or if it finds a cluster. An object that owns machines and has no `Cluster` beside it
//! is reported if nothing reaches it (`unreached`).

use std::collections::{BTreeMap, BTreeSet};

use super::found::Layout;
use super::patterns;
use super::sniff::{content, has_cluster_object, is_cluster_kind};
use super::unreached::{Unreached, is_name, unreached};
use crate::settings::{Glob, RepositorySettings};
use capstan_model::finding::{FileError, Place, rules};
use capstan_model::tree::{RepoPath, Tree, TreeEntry, is_manifest};
use capstan_model::version::ReleaseVersion;
use capstan_model::wording::{few, list};
use capstan_yaml::manifest::{group_and_kind, objects};
use capstan_yaml::{Node, YamlFile};

/// How many files and patterns are named at most.
const NAMED: usize = 3;
const PATTERNS: usize = 4;

/// The `Cluster` objects outside of the clusters and releases that were found, and what to do. If there are none:
/// the control planes and workers that nothing brings to a cluster. `None` if all are in their place.
pub fn outside(tree: &dyn Tree, layout: &Layout, settings: &RepositorySettings) -> Option<FileError> {
    // An empty list says that there are no clusters.
    let says = |paths: &Vec<Glob>| paths.is_empty() || layout.clusters().next().is_some();
    if settings.clusters.paths.as_ref().is_some_and(says) {
        return None;
    }
    let elsewhere: Vec<&TreeEntry> = tree.entries().iter().filter(|entry| may_be(entry, layout)).collect();
    let mut files = Vec::new();
    let mut folders: BTreeMap<RepoPath, usize> = BTreeMap::new();
    for entry in &elsewhere {
        let count = clusters_in(tree, entry);
        if count > 0 {
            files.push(entry.path.clone());
            *folders.entry(entry.path.parent().unwrap_or_default()).or_default() += count;
        }
    }
    let Some((first, others)) = files.split_first() else {
        return without_cluster(&unreached(tree, layout, &elsewhere), layout, settings);
    };
    let nor = nor_at(others);
    Some(FileError::new(
        rules::CLUSTER_OUTSIDE,
        Place::whole(first.clone()),
        format!(
            "the `Cluster` here is outside any cluster's folder `{}`, so Capstan ignores it{nor}. {}",
            base_name(settings),
            advice(tree, layout, settings, &folders)
        ),
    ))
}

/// The other files, in a few words.
fn nor_at(others: &[RepoPath]) -> String {
    let named = list(&few(others, NAMED, "more files"));
    if named.is_empty() { String::new() } else { format!(", and those of {named}") }
}

/// Control planes and workers that nothing brings to a cluster.
fn without_cluster(found: &[Unreached], layout: &Layout, settings: &RepositorySettings) -> Option<FileError> {
    let (first, others) = found.split_first()?;
    let others: Vec<RepoPath> = others.iter().map(|file| file.path.clone()).collect();
    let is_its = |name: &str| layout.clusters().find(|cluster| cluster.id.folder().name() == name);
    let its = first.cluster.as_deref().and_then(is_its);
    let to = its.map_or_else(
        || format!("into the folder `{}` of its cluster", base_name(settings)),
        |cluster| format!("into {}", cluster.base),
    );
    Some(FileError::new(
        rules::CLUSTER_OUTSIDE,
        Place::whole(first.path.clone()),
        format!(
            "the `{}` here is outside any cluster's folder, and no kustomization names the file, so Capstan ignores it{}. Move it {to}, or name it in a kustomization there",
            first.kind,
            nor_at(&others)
        ),
    ))
}

fn base_name(settings: &RepositorySettings) -> &str {
    let base = settings.clusters.base.path();
    if base.is_root() { "." } else { base.as_str() }
}

/// Whether a file is in a folder where Capstan does not look for clusters.
fn may_be(entry: &TreeEntry, layout: &Layout) -> bool {
    let hidden = || entry.path.parts().any(|part| part.starts_with('.'));
    let in_release = || {
        let mut folders = std::iter::successors(entry.path.parent(), RepoPath::parent);
        folders.any(|folder| ReleaseVersion::parse(folder.name()).is_some())
    };
    entry.is_file()
        && is_manifest(&entry.path)
        && !hidden()
        && !in_release()
        && layout.target_around(&entry.path).is_none()
        && layout.release_around(&entry.path).is_none()
}

/// How many whole `Cluster` objects a file holds.
fn clusters_in(tree: &dyn Tree, entry: &TreeEntry) -> usize {
    let Ok(bytes) = content(tree, entry) else { return 0 };
    if !has_cluster_object(&bytes) {
        return 0;
    }
    let Ok(file) = YamlFile::read_bytes(&bytes) else { return 0 };
    let roots = file.documents().iter().flat_map(|document| objects(&document.root));
    roots.filter(|(_, object)| is_cluster(object)).count()
}

fn is_cluster(object: &Node) -> bool {
    let name = object.get("metadata").and_then(|metadata| metadata.text_at("name"));
    group_and_kind(object).is_some_and(|(group, kind)| is_cluster_kind(group, kind))
        && name.is_some_and(is_name)
}

fn advice(
    tree: &dyn Tree,
    layout: &Layout,
    settings: &RepositorySettings,
    folders: &BTreeMap<RepoPath, usize>,
) -> String {
    let base = base_name(settings);
    if let Some(first) = layout.clusters().next().filter(|_| base != ".") {
        return format!("Give each cluster a folder with its manifests in `{base}`, like {}", first.id);
    }
    let crowded: Vec<&RepoPath> = folders
        .iter()
        .filter(|(folder, count)| folder.is_root() || **count > 1)
        .map(|(folder, _)| folder)
        .collect();
    if let Some(folder) = crowded.first() {
        let place = if folder.is_root() { "The repository's root has" } else { "This folder has" };
        let which = if folder.is_root() { String::new() } else { format!(" ({folder})") };
        return format!(
            "{place} clusters{which}, but a cluster is a folder: give each its own folder: `capstan init --write --move` moves them; or move them by hand, and write \
             `clusters: {{paths: [\"{}\"], base: \".\"}}` in .capstan.yaml",
            if folder.is_root() { "*".to_owned() } else { format!("{folder}/*") }
        );
    }
    let patterns: Vec<String> =
        few_patterns(tree, folders).into_iter().map(|pattern| format!("\"{pattern}\"")).collect();
    format!(
        "To include all of them, write `clusters: {{paths: [{}], base: \".\"}}` in .capstan.yaml",
        patterns.join(", ")
    )
}

/// Patterns that fit the folders, and no other folder that holds manifests where few are enough.
fn few_patterns(tree: &dyn Tree, folders: &BTreeMap<RepoPath, usize>) -> Vec<String> {
    let members: BTreeSet<RepoPath> = folders.keys().cloned().collect();
    let found = patterns(&members, &others(tree, &members));
    if found.len() <= PATTERNS {
        return found;
    }
    // Folders of folders: by depth below the first part.
    let by_depth: BTreeSet<String> = folders
        .keys()
        .map(|folder| {
            let mut parts = folder.parts();
            let first = parts.next().unwrap_or("*").to_owned();
            std::iter::once(first).chain(parts.map(|_| "*".to_owned())).collect::<Vec<_>>().join("/")
        })
        .collect();
    if by_depth.len() < found.len() { by_depth.into_iter().collect() } else { found }
}

/// The other folders that hold manifests, at any depth.
pub(crate) fn others(tree: &dyn Tree, members: &BTreeSet<RepoPath>) -> BTreeSet<RepoPath> {
    let mut folders = BTreeSet::new();
    for entry in tree.entries().iter().filter(|entry| is_manifest(&entry.path)) {
        // If a folder is known already, so are the folders above it.
        let above = std::iter::successors(entry.path.parent(), RepoPath::parent);
        for folder in above {
            if folder.is_root() || !folders.insert(folder) {
                break;
            }
        }
    }
    folders.retain(|folder| !members.contains(folder));
    folders
}
