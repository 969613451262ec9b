//! Folders that hold several `Cluster` objects, and are one cluster to Capstan.

use super::found::{Layout, TargetFolder};
use super::sniff::{content, has_cluster_object, is_cluster_kind};
use super::unreached::is_name;
use capstan_model::finding::{FileError, Place, rules};
use capstan_model::tree::{Tree, is_manifest};
use capstan_model::wording::{few, list};
use capstan_yaml::manifest::{group_and_kind, objects};
use capstan_yaml::{Node, YamlFile};
use std::collections::BTreeSet;

/// What tells one `Cluster` of a folder from another.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClusterName {
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

impl ClusterName {
    pub(crate) fn of(object: &Node) -> Option<Self> {
        let metadata = object.get("metadata")?;
        let namespace = metadata.text_at("namespace").map(str::to_owned);
        Some(Self { namespace, name: metadata.text_at("name")?.to_owned() })
    }

    /// The first mention of each cluster. What names no namespace may be in any, so it does not count beside those that
    /// have its name, wherever these are mentioned.
    pub(crate) fn distinct<'n, P>(found: &[(&'n Self, P)]) -> Vec<(&'n Self, P)>
    where
        P: Copy,
    {
        let placed = found.iter().filter(|(own, _)| own.namespace.is_some());
        let placed: BTreeSet<&str> = placed.map(|(own, _)| own.name.as_str()).collect();
        let mut known = BTreeSet::new();
        let is_own = |own: &Self| own.namespace.is_some() || !placed.contains(own.name.as_str());
        found.iter().filter(|(own, _)| is_own(own) && known.insert(*own)).copied().collect()
    }

    /// `web`, or `shop/web` where another one has the same name.
    pub(crate) fn shown(&self, is_shared: bool) -> String {
        match &self.namespace {
            Some(namespace) if is_shared => format!("{namespace}/{}", self.name),
            _ => self.name.clone(),
        }
    }

    /// The name of a folder of its own.
    pub(crate) fn folder(&self, is_shared: bool) -> String {
        self.shown(is_shared).replace('/', "-")
    }
}

/// How many names a message has.
const NAMED: usize = 5;

/// The error for each such folder, at its second `Cluster`.
pub fn crowded(tree: &dyn Tree, layout: &Layout) -> Vec<FileError> {
    layout.clusters().filter_map(|cluster| of_folder(tree, cluster)).collect()
}

fn of_folder(tree: &dyn Tree, folder: &TargetFolder) -> Option<FileError> {
    let mut found: Vec<(ClusterName, Place)> = Vec::new();
    for entry in folder.base_files.iter().filter(|entry| is_manifest(&entry.path)) {
        let Ok(bytes) = content(tree, entry) else { continue };
        if !has_cluster_object(&bytes) {
            continue;
        }
        let Ok(file) = YamlFile::read_bytes(&bytes) else { continue };
        for (_, object) in file.documents().iter().flat_map(|document| objects(&document.root)) {
            let is_cluster = group_and_kind(object).is_some_and(|(group, kind)| is_cluster_kind(group, kind));
            let Some(name) = ClusterName::of(object).filter(|name| is_cluster && is_name(&name.name)) else {
                continue;
            };
            found.push((name, Place::at(entry.path.clone(), file.position(object.span.start))));
        }
    }
    let found: Vec<(&ClusterName, &Place)> = found.iter().map(|(name, place)| (name, place)).collect();
    let clusters = ClusterName::distinct(&found);
    let (_, place) = clusters.get(1)?;
    let names: Vec<&str> = clusters.iter().map(|(cluster, _)| cluster.name.as_str()).collect();
    let is_shared = |name: &str| names.iter().filter(|other| **other == name).count() > 1;
    let shown = clusters.iter().map(|(cluster, _)| format!("`{}`", cluster.shown(is_shared(&cluster.name))));
    let named = list(&few(shown, NAMED, "more"));
    let message = format!(
        "{} is one cluster for Capstan, but has {} `Cluster` objects: {named}. Capstan plans, checks and releases all of them together. To upgrade them separately, give each its own folder",
        folder.id,
        clusters.len()
    );
    Some(FileError::new(rules::SEVERAL_CLUSTERS, (*place).clone(), message))
}
