//! The layout of a snapshot that differs little from one whose layout is known.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::clusters::{self, holder};
use super::found::Layout;
use super::releases::{BASE, MANIFEST, SCHEMA};
use crate::settings::RepositorySettings;
use capstan_model::tree::{RepoPath, Tree, is_manifest};

/// A layout that was made from an earlier one.
#[derive(Debug)]
pub struct Followed {
    /// What [`super::discover()`] would find; the targets are those of the earlier layout, in its order.
    pub layout: Layout,
    /// Targets in whose folders files came, went or changed: indexes into the layout's.
    pub touched: BTreeSet<usize>,
}

/// The layout of a snapshot that differs from the one of `earlier` in these files, found at the price of
/// what differs; `None` where only a new search can tell, because a cluster or release might have come,
/// gone or moved.
pub fn follow(
    earlier: &Layout,
    tree: &dyn Tree,
    settings: &RepositorySettings,
    changed: &[RepoPath],
) -> Option<Followed> {
    if !earlier.problems.is_empty() {
        return None;
    }
    let mut touched = BTreeSet::new();
    for path in changed {
        let is_link = tree.entry(path).is_some_and(|entry| !entry.is_file());
        if is_link || [MANIFEST, SCHEMA].contains(&path.name()) || decides_on_sets(earlier, settings, path) {
            return None;
        }
        match cluster_of(earlier, path) {
            Some(cluster) => {
                touched.insert(cluster);
            }
            None if may_found(earlier, settings, path) => return None,
            None => {}
        }
    }
    let mut targets = earlier.targets.clone();
    for at in &touched {
        let folder = targets.get_mut(*at)?;
        *folder = Arc::new(clusters::read_again(tree, settings, folder)?);
    }
    let layout = Layout { releases: earlier.releases.clone(), targets, problems: Vec::new() };
    Some(Followed { layout, touched })
}

/// The cluster whose folder contains a file.
fn cluster_of(layout: &Layout, path: &RepoPath) -> Option<usize> {
    let mut above = std::iter::successors(path.parent(), RepoPath::parent);
    let at = |folder: &RepoPath| {
        layout.targets.binary_search_by(|cluster| cluster.id.as_str().cmp(folder.as_str())).ok()
    };
    above.find_map(|folder| at(&folder))
}

/// Whether a file of the inventory may say of a provider set that is still to come that it is not.
fn decides_on_sets(layout: &Layout, settings: &RepositorySettings, path: &RepoPath) -> bool {
    let mut sets = settings.management_clusters.iter().filter_map(|management| management.providers.as_ref());
    settings.inventory.as_ref().is_some_and(|inventory| path.is_in(inventory.path.path()))
        && sets.any(|set| layout.target(set.path.path().as_str()).is_none())
}

/// Whether a file outside of clusters may make a release or a cluster of a folder, or is a release's.
fn may_found(layout: &Layout, settings: &RepositorySettings, path: &RepoPath) -> bool {
    let base = settings.clusters.base.path();
    let mut above = std::iter::successors(path.parent(), RepoPath::parent);
    base.is_root() && is_manifest(path)
        || layout.release_around(path).is_some()
        || above.any(|folder| folder.name() == BASE || !base.is_root() && holder(&folder, base).is_some())
}
