//! The folders of services: `services/NAME` beside a base, and what an overlay has for each.

use std::collections::BTreeMap;

use super::files::{FolderFiles, files_in};
use crate::settings::{SERVICES_FOLDER, ServiceFolder};
use capstan_model::finding::FileError;
use capstan_model::tree::{RepoPath, Tree, TreeEntry};
use serde::{Deserialize, Serialize};

/// The files of one service in a cluster's or a release's folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceFiles {
    /// Its folder below that one.
    pub folder: ServiceFolder,
    /// Its files, subfolders included.
    pub files: Vec<TreeEntry>,
    /// Those of the overlay's folder of that name.
    pub overlay_files: Vec<TreeEntry>,
}

/// The services in a release's folder that was found without a layout.
pub fn services_in(tree: &dyn Tree, folder: &RepoPath) -> Vec<ServiceFiles> {
    let overlay = folder.join("overlay").unwrap_or_default();
    find(tree, folder, &overlay, &mut Vec::new())
}

/// The services in a folder, ordered by name. A folder whose name is not valid for a service is skipped.
pub(super) fn find(
    tree: &dyn Tree,
    folder: &RepoPath,
    overlay: &RepoPath,
    problems: &mut Vec<FileError>,
) -> Vec<ServiceFiles> {
    let Ok(services) = folder.join(SERVICES_FOLDER) else { return Vec::new() };
    let mut found: BTreeMap<ServiceFolder, RepoPath> = BTreeMap::new();
    for entry in tree.entries_in(&services) {
        let name = entry.path.below(&services).and_then(|below| below.split_once('/'));
        let Some((name, _)) = name else { continue };
        if let Ok(service) = ServiceFolder::parse(&format!("{SERVICES_FOLDER}/{name}")) {
            found.entry(service).or_insert_with_key(|service| service.inside(folder));
        }
    }
    let mut of = |at: RepoPath| files_in(tree, &FolderFiles::of(at), problems);
    found
        .into_iter()
        .map(|(folder, own)| {
            let (files, overlay_files) = (of(own), of(folder.inside(overlay)));
            ServiceFiles { folder, files, overlay_files }
        })
        .filter(|service| !service.files.is_empty())
        .collect()
}
