//! One walk over a snapshot.

use super::files::not_followed;
use super::found::Layout;
use super::{clusters, provider_sets, releases};
use crate::settings::RepositorySettings;
use capstan_model::finding::FileError;
use capstan_model::tree::Tree;

/// Finds releases, clusters and provider sets in a snapshot, as the settings say or by their shape.
pub fn discover(tree: &dyn Tree, settings: &RepositorySettings) -> Layout {
    let mut problems = Vec::new();
    let releases = releases::find(tree, settings, &mut problems);
    let taken = releases.iter().map(|release| release.folder.clone()).collect();
    let targets = clusters::find(tree, settings, &taken, &mut problems);
    problems.extend(linked_bases(tree, settings));
    let mut layout = Layout { releases, targets, problems };
    let misnamed = provider_sets::misnamed(tree, settings, &layout);
    layout.problems.extend(misnamed);
    layout.problems.sort();
    layout.problems.dedup();
    layout
}

/// A base or overlay that is itself a link would else look like one that is not there.
fn linked_bases(tree: &dyn Tree, settings: &RepositorySettings) -> Vec<FileError> {
    let names =
        [settings.clusters.base.path().name(), settings.clusters.overlay.path().name(), "base", "overlay"];
    let linked = tree.entries().iter().filter(|entry| !entry.is_file() && names.contains(&entry.path.name()));
    linked.map(not_followed).collect()
}
