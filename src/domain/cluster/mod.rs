//! A cluster folder, read: base, overlay, settings, current release.
//!
//! Base files are parsed once and kept, so that whoever plans does not read them again.
//!
//! Deliberately absent: rendering ([`crate::render`]) and what an upgrade changes ([`crate::upgrade`]).

mod giant_swarm;
mod read;
mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use giant_swarm::GiantSwarmRecord;
pub(crate) use giant_swarm::{
    Holder, NamedRelease, chart_name, chart_of, deploys, generated_from, named_releases,
    names_giant_swarm_release,
};
pub use read::{ClusterError, Manifest, is_unread};
pub use record::{RecordedBy, RecordedRelease, ReleaseName};

use crate::finding::Finding;
use crate::layout::ClusterFolder;
use crate::settings::{ClusterSettings, OverlaySettings};
use crate::tree::RepoPath;
use crate::version::KubernetesVersion;

/// A cluster's id is the path of its folder: `gauss/peu01`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClusterId(RepoPath);

impl ClusterId {
    /// The cluster in that folder.
    pub const fn new(folder: RepoPath) -> Self {
        Self(folder)
    }

    /// The cluster's folder.
    pub const fn folder(&self) -> &RepoPath {
        &self.0
    }

    /// `gauss/peu01`
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A cluster, read.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// Its id.
    pub id: ClusterId,
    /// Its files.
    pub folder: ClusterFolder,
    /// Base's manifests (YAML and JSON), parsed, in the order of their paths.
    pub base: Vec<Manifest>,
    /// Its `capstan.yaml`.
    pub settings: Option<ClusterSettings>,
    /// Its overlay's `capstan.yaml`.
    pub overlay_settings: Option<OverlaySettings>,
    /// The release that it says it is at; `None` = unknown.
    pub recorded: Option<RecordedRelease>,
    /// The scalar in a ConfigMap that names its Giant Swarm release, where there is one.
    pub giant_swarm: Option<GiantSwarmRecord>,
    /// Kinds of its infrastructure objects: `AWSCluster`.
    pub infrastructure_kinds: BTreeSet<String>,
    /// The version of Kubernetes that its base asks for: the control plane's, else the newest.
    pub kubernetes: Option<KubernetesVersion>,
    /// What reading it found: `release-record-differs`.
    pub findings: Vec<Finding>,
}
