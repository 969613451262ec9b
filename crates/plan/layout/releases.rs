//! Finding release folders.

use std::collections::BTreeSet;

use super::files::{FolderFiles, files_in, folder_or_root};
use super::found::{ReleaseFolder, ReleaseShelf};
use super::services;
use crate::settings::{FOLDER_FILE, Glob, RepositorySettings};
use capstan_model::finding::{FileError, Place, rules};
use capstan_model::ids::{Provider, ReleaseId};
use capstan_model::source::is_archived;
use capstan_model::tree::{RepoPath, Tree};
use capstan_model::version::ReleaseVersion;

/// A release's folders have these names, whatever a cluster's are called.
pub(super) const BASE: &str = "base";
const OVERLAY: &str = "overlay";
pub(super) const MANIFEST: &str = "release.yaml";
/// What people wrote of a release: the first of these that is there.
pub const NOTES: [&str; 2] = ["release.md", "README.md"];
/// Identifies a release with templates alone. The folder of templates does not, because charts have one in version
/// folders, too.
pub(super) const SCHEMA: &str = "schema.yaml";

/// Every release folder.
pub(super) fn find(
    tree: &dyn Tree,
    settings: &RepositorySettings,
    problems: &mut Vec<FileError>,
) -> Vec<ReleaseFolder> {
    let mut found: Vec<ReleaseFolder> = Vec::new();
    let mut taken: BTreeSet<RepoPath> = BTreeSet::new();
    for folder in candidates(tree) {
        let above = || std::iter::successors(folder.parent(), RepoPath::parent);
        if above().any(|ancestor| taken.contains(&ancestor)) {
            continue;
        }
        let asked_for = match &settings.releases.paths {
            Some(patterns) if Glob::any(patterns, folder.as_str()) => ReleaseSearch::Pattern,
            None if !is_in_base_or_overlay(&folder, settings) => ReleaseSearch::Shape,
            _ => continue,
        };
        match (ReleaseVersion::parse(folder.name()), asked_for) {
            (Some(version), _) => {
                found.push(read(tree, &folder, version, problems));
                taken.insert(folder);
            }
            (None, ReleaseSearch::Pattern) => {
                let message = format!(
                    "`releases.paths` matches this folder, but its name is not a version such as v21.0.0: \
                     rename it, or narrow the pattern{}",
                    folder_or_root(&folder)
                );
                problems.push(FileError::new(rules::INVALID_LAYOUT, Place::whole(folder), message));
            }
            (None, ReleaseSearch::Shape) => {}
        }
    }
    found.sort_by(|a, b| {
        let order =
            |release: &ReleaseFolder| (release.provider.clone(), release.version.clone(), release.shelf);
        order(a).cmp(&order(b)).then_with(|| a.folder.cmp(&b.folder))
    });
    found
}

enum ReleaseSearch {
    Pattern,
    Shape,
}

/// Whether a folder holds what makes one of its name a release.
pub(super) fn has_release_shape(tree: &dyn Tree, folder: &RepoPath) -> bool {
    let below = |name: &str| folder.join(name).ok();
    let has_file = |name: &str| below(name).is_some_and(|path| tree.entry(&path).is_some());
    below(BASE).is_some_and(|base| !tree.entries_in(&base).is_empty())
        || has_file(MANIFEST)
        || has_file(SCHEMA)
}

/// Folders that hold `base/`, `release.yaml` or `schema.yaml`, parents before what they hold.
fn candidates(tree: &dyn Tree) -> BTreeSet<RepoPath> {
    let mut folders = BTreeSet::new();
    for entry in tree.entries() {
        let parts: Vec<&str> = entry.path.parts().collect();
        let ends = parts.iter().enumerate().filter(|(index, part)| {
            let is_last = index + 1 == parts.len();
            **part == BASE && !is_last || [MANIFEST, SCHEMA].contains(*part) && is_last
        });
        for (index, _) in ends {
            folders.extend(RepoPath::parse(&parts[..index].join("/")));
        }
    }
    folders
}

/// A folder inside the base or overlay of a cluster, or of another release, belongs to that one.
fn is_in_base_or_overlay(folder: &RepoPath, settings: &RepositorySettings) -> bool {
    let names =
        [settings.clusters.base.path().as_str(), settings.clusters.overlay.path().as_str(), BASE, OVERLAY];
    let above: Vec<&str> = folder.parts().collect();
    let above = above.split_last().map_or(&[][..], |(_, above)| above);
    above.iter().any(|part| names.contains(part))
}

fn read(
    tree: &dyn Tree,
    folder: &RepoPath,
    version: ReleaseVersion,
    problems: &mut Vec<FileError>,
) -> ReleaseFolder {
    let below = |name: &str| folder.join(name).unwrap_or_else(|_| folder.clone());
    let file = |name: &str| tree.entry(&below(name)).filter(|entry| entry.is_file()).cloned();
    let services = services::find(tree, folder, &below(OVERLAY), problems);
    let overlay = services.iter().fold(FolderFiles::of(below(OVERLAY)), |files, service| {
        files.without_folder(service.folder.inside(&below(OVERLAY)))
    });
    ReleaseFolder {
        id: ReleaseId::from_path(folder.as_str()),
        folder: folder.clone(),
        provider: Provider::new(folder.parent().unwrap_or_default().as_str()),
        version,
        shelf: if is_archived(folder) { ReleaseShelf::Archived } else { ReleaseShelf::Current },
        base_files: files_in(tree, &FolderFiles::of(below(BASE)), problems),
        overlay_files: files_in(tree, &overlay, problems),
        manifest: file(MANIFEST),
        notes: NOTES.into_iter().find_map(file),
        settings: file(FOLDER_FILE),
        services,
    }
}
