//! Folders that hold several `Cluster` objects, and are one cluster to Capstan.

use super::sniff::{content, has_cluster_object, is_cluster_kind};
use super::unreached::is_name;
use super::{Layout, TargetFolder};
use capstan_model::finding::{FileError, Place, rules};
use capstan_model::tree::{Tree, is_manifest};
use capstan_model::wording::{few, list};
use capstan_yaml::YamlFile;
use capstan_yaml::manifest::{group_and_kind, objects};

/// How many names a message has.
const NAMED: usize = 5;

/// The error for each such folder, at its second `Cluster`.
pub fn crowded(tree: &dyn Tree, layout: &Layout) -> Vec<FileError> {
    layout.clusters().filter_map(|cluster| of_folder(tree, cluster)).collect()
}

fn of_folder(tree: &dyn Tree, folder: &TargetFolder) -> Option<FileError> {
    let mut names: Vec<(String, Place)> = Vec::new();
    for entry in folder.base_files.iter().filter(|entry| is_manifest(&entry.path)) {
        let Ok(bytes) = content(tree, entry) else { continue };
        if !has_cluster_object(&bytes) {
            continue;
        }
        let Ok(file) = YamlFile::read_bytes(&bytes) else { continue };
        for (_, object) in file.documents().iter().flat_map(|document| objects(&document.root)) {
            let is_cluster = group_and_kind(object).is_some_and(|(group, kind)| is_cluster_kind(group, kind));
            let name = object.get("metadata").and_then(|metadata| metadata.text_at("name"));
            let Some(name) = name.filter(|name| is_cluster && is_name(name)) else { continue };
            if !names.iter().any(|(known, _)| known == name) {
                let place = Place::at(entry.path.clone(), file.position(object.span.start));
                names.push((name.to_owned(), place));
            }
        }
    }
    let (_, place) = names.get(1)?;
    let named = list(&few(names.iter().map(|(name, _)| format!("`{name}`")), NAMED, "more"));
    let message = format!(
        "{} is one cluster for Capstan, but has {} `Cluster` objects: {named}. Capstan plans, checks and releases all of them together. To upgrade them separately, give each its own folder",
        folder.id,
        names.len()
    );
    Some(FileError::new(rules::SEVERAL_CLUSTERS, place.clone(), message))
}
