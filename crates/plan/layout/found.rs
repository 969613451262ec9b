//! What the layout of a repository is found to be.

use std::sync::Arc;

use capstan_model::finding::FileError;
use capstan_model::ids::{ClusterId, Provider, ReleaseId};
use capstan_model::target::TargetKind;
use capstan_model::tree::{RepoPath, TreeEntry};
use capstan_model::version::ReleaseVersion;
use serde::{Deserialize, Serialize};

use super::services::ServiceFiles;

/// Where everything is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    /// Releases, ordered by provider, version, and then those in use before archived ones.
    pub releases: Vec<ReleaseFolder>,
    /// Clusters and provider sets, ordered by id; shared with the layouts of snapshots that have them too.
    pub targets: Vec<Arc<TargetFolder>>,
    /// What looks wrong, ordered by path and line.
    pub problems: Vec<FileError>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseFolder {
    /// Its id: the path without `archived`.
    pub id: ReleaseId,
    pub folder: RepoPath,
    /// The path before the version, without `archived`.
    pub provider: Provider,
    /// Its name as a version.
    pub version: ReleaseVersion,
    /// Whether a part of its path is `archived`.
    pub shelf: ReleaseShelf,
    /// The files of its `base/`, subfolders included; empty where it has none.
    pub base_files: Vec<TreeEntry>,
    pub overlay_files: Vec<TreeEntry>,
    /// Its `release.yaml`.
    pub manifest: Option<TreeEntry>,
    /// Its notes: `release.md`, else `README.md`.
    pub notes: Option<TreeEntry>,
    /// Its own `capstan.yaml`.
    pub settings: Option<TreeEntry>,
    /// The files of its services.
    #[serde(default)]
    pub services: Vec<ServiceFiles>,
}

/// Whether a release is in use or archived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReleaseShelf {
    /// It is in use.
    Current,
    /// It is below a folder `archived`.
    Archived,
}

/// A folder that receives change: a cluster, or a provider set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetFolder {
    /// Its id: its path, for every kind.
    pub id: ClusterId,
    /// What it is.
    pub kind: TargetKind,
    /// The folder of Capstan's files: `gauss/peu01/base`, or the cluster's own.
    pub base: RepoPath,
    /// The folder of the customer's files, whether it exists or not.
    pub overlay: RepoPath,
    /// The files of base, with subfolders. `capstan.yaml` and the overlay are not among them, even if they are in
    /// the same folder.
    pub base_files: Vec<TreeEntry>,
    /// The files of the overlay, without its `capstan.yaml`.
    pub overlay_files: Vec<TreeEntry>,
    /// `<cluster>/capstan.yaml`.
    pub settings: Option<TreeEntry>,
    /// `<cluster>/overlay/capstan.yaml`.
    pub overlay_settings: Option<TreeEntry>,
    /// The files of its services, which are beside base. Empty if base is the target's own folder.
    #[serde(default)]
    pub services: Vec<ServiceFiles>,
}
