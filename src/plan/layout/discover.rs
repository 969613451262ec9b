//! One walk over a snapshot.

use super::files::not_followed;
use super::{Layout, clusters, releases};
use crate::settings::RepositorySettings;
use capstan_model::finding::FileError;
use capstan_model::tree::Tree;

/// Finds releases and clusters in a snapshot, as the settings say or by their shape.
pub fn discover(tree: &dyn Tree, settings: &RepositorySettings) -> Layout {
    let mut problems = Vec::new();
    let releases = releases::find(tree, settings, &mut problems);
    let taken = releases.iter().map(|release| release.folder.clone()).collect();
    let clusters = clusters::find(tree, settings, &taken, &mut problems);
    problems.extend(linked_bases(tree, settings));
    problems.sort();
    problems.dedup();
    Layout { releases, clusters, problems }
}

/// A base or overlay that is itself a link would else look like one that is not there.
fn linked_bases(tree: &dyn Tree, settings: &RepositorySettings) -> Vec<FileError> {
    let names =
        [settings.clusters.base.path().name(), settings.clusters.overlay.path().name(), "base", "overlay"];
    let linked = tree.entries().iter().filter(|entry| !entry.is_file() && names.contains(&entry.path.name()));
    linked.map(not_followed).collect()
}
