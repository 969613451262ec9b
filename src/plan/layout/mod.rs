//! Which folders are releases and which are clusters: the meaning of the settings (DESIGN 5.1).
//!
//! [`discover()`] walks a snapshot once. By default the shape decides: a folder with `base/` or
//! `release.yaml` whose name is a version is a release; any other folder with `base/` is a cluster
//! where a document in it says so. Patterns in the settings replace the search for the shape.
//!
//! Deliberately absent: what the files mean ([`crate::release`], [`crate::cluster`]), and following
//! symbolic links or submodules: those are problems.

mod clusters;
mod definitions;
mod discover;
mod files;
mod follow;
mod outside;
mod patterns;
mod releases;
mod sniff;
#[cfg(test)]
mod tests;
mod unreached;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::settings::FOLDER_FILE;
use capstan_model::finding::FileError;
use capstan_model::ids::{ClusterId, Provider, ReleaseId};
use capstan_model::tree::{RepoPath, TreeEntry};
use capstan_model::version::ReleaseVersion;

pub(crate) use clusters::holder;
pub use definitions::{definitions, may_define, schemas_of};
pub use discover::discover;
pub use files::not_followed;
pub use follow::{Followed, follow};
pub(crate) use outside::others;
pub use outside::outside;
pub(crate) use patterns::{exact, patterns};
pub(crate) use sniff::may_hold;
pub(crate) use unreached::is_name;

/// Where everything is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    /// Releases, ordered by provider, version, and then those in use before archived ones.
    pub releases: Vec<ReleaseFolder>,
    /// Clusters, ordered by id; shared with the layouts of snapshots that have them too.
    pub clusters: Vec<Arc<ClusterFolder>>,
    /// What looks wrong, ordered by path and line.
    pub problems: Vec<FileError>,
}

impl Layout {
    /// The cluster of that id.
    pub fn cluster(&self, id: &str) -> Option<&ClusterFolder> {
        let at = self.clusters.binary_search_by(|cluster| cluster.id.as_str().cmp(id)).ok()?;
        self.clusters.get(at).map(AsRef::as_ref)
    }

    /// The cluster in whose folder a file stands.
    pub fn cluster_around(&self, path: &RepoPath) -> Option<&ClusterFolder> {
        let mut above = std::iter::successors(path.parent(), RepoPath::parent);
        above.find_map(|folder| self.cluster(folder.as_str()))
    }

    /// The release in whose folder a file stands.
    pub fn release_around(&self, path: &RepoPath) -> Option<&ReleaseFolder> {
        let mut above = std::iter::successors(path.parent(), RepoPath::parent);
        above.find_map(|folder| {
            ReleaseVersion::parse(folder.name())?;
            self.releases.iter().find(|release| release.folder == folder)
        })
    }

    /// Whether a file is the `capstan.yaml` of a cluster: settings of one document, which hold no objects.
    pub fn is_record(&self, path: &RepoPath) -> bool {
        let is = |cluster: &ClusterFolder| {
            let files = [&cluster.settings, &cluster.overlay_settings];
            files.into_iter().flatten().any(|entry| entry.path == *path)
        };
        path.name() == FOLDER_FILE && self.cluster_around(path).is_some_and(is)
    }

    /// Whether a file stands in a release, or in a cluster's base or overlay.
    pub fn holds(&self, path: &RepoPath) -> bool {
        self.release_around(path).is_some()
            || self
                .cluster_around(path)
                .is_some_and(|cluster| path.is_in(&cluster.base) || path.is_in(&cluster.overlay))
    }
}

/// A folder that is a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseFolder {
    /// Its id: the path without `archived`.
    pub id: ReleaseId,
    /// Where it lies.
    pub folder: RepoPath,
    /// The path before the version, without `archived`.
    pub provider: Provider,
    /// Its name as a version.
    pub version: ReleaseVersion,
    /// Whether a part of its path is `archived`.
    pub shelf: Shelf,
    /// The files of its `base/`, subfolders included; empty where it has none.
    pub base_files: Vec<TreeEntry>,
    /// The files of its `overlay/`.
    pub overlay_files: Vec<TreeEntry>,
    /// Its `release.yaml`.
    pub manifest: Option<TreeEntry>,
    /// Its notes, `README.md`.
    pub notes: Option<TreeEntry>,
    /// Its own `capstan.yaml`.
    pub settings: Option<TreeEntry>,
}

/// Whether a release lies among those in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shelf {
    /// It does.
    Current,
    /// It lies below a folder `archived`.
    Archived,
}

/// A folder that is a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterFolder {
    /// Its id: the path.
    pub id: ClusterId,
    /// The folder of Capstan's files: `gauss/peu01/base`, or the cluster's own.
    pub base: RepoPath,
    /// The folder of the customer's files, whether it exists or not.
    pub overlay: RepoPath,
    /// The files of base, subfolders included, without `capstan.yaml` and the overlay where those lie
    /// in the same folder.
    pub base_files: Vec<TreeEntry>,
    /// The files of the overlay, without its `capstan.yaml`.
    pub overlay_files: Vec<TreeEntry>,
    /// `<cluster>/capstan.yaml`.
    pub settings: Option<TreeEntry>,
    /// `<cluster>/overlay/capstan.yaml`.
    pub overlay_settings: Option<TreeEntry>,
}

impl ClusterFolder {
    /// Where the cluster's `capstan.yaml` is, or would be.
    pub fn settings_path(&self) -> RepoPath {
        let folder = self.id.folder();
        folder.join(FOLDER_FILE).unwrap_or_else(|_| folder.clone())
    }
}
