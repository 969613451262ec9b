//! A cluster's or provider set's folder, read: base, overlay, settings, current release.
//!
//! Base files are parsed once and kept, so that planning does not read them again.
//!
//! Deliberately absent: rendering ([`capstan_kustomize::render`]) and what an upgrade changes ([`crate::upgrade`]).

mod provider_sets;
mod read;
mod record;
mod services;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

pub use crate::giant_swarm::ReleaseScalar;
pub use read::is_unread;
pub use record::{RecordedBy, RecordedRelease};
pub use services::{judge_release_services, owners_changed_between, services_not_claimed};

use crate::layout::TargetFolder;
use crate::settings::{ClusterSettings, OverlaySettings};
use capstan_model::finding::Finding;
use capstan_model::ids::ClusterId;
use capstan_model::tree::TreeEntry;
use capstan_model::version::KubernetesVersion;
use capstan_yaml::YamlFile;

#[derive(Debug, Clone)]
pub struct ParsedBaseFile {
    /// The file.
    pub entry: TreeEntry,
    /// Its content.
    pub file: YamlFile,
}

/// A cluster, read. A provider set is read as one, without infrastructure and without a version of Kubernetes.
#[derive(Debug, Clone)]
pub struct Cluster {
    pub id: ClusterId,
    /// Its files.
    pub folder: TargetFolder,
    /// Base's manifests (YAML and JSON), parsed, in the order of their paths.
    pub base: Vec<ParsedBaseFile>,
    /// Its `capstan.yaml`.
    pub settings: Option<ClusterSettings>,
    /// Its overlay's `capstan.yaml`.
    pub overlay_settings: Option<OverlaySettings>,
    /// The release that it says it is at; `None` = unknown.
    pub recorded: Option<RecordedRelease>,
    /// The scalar of its base that names its release, where there is one.
    pub release_scalar: Option<ReleaseScalar>,
    /// Kinds of its infrastructure objects: `AWSCluster`.
    pub infrastructure_kinds: BTreeSet<String>,
    /// The version of Kubernetes that its base asks for: the control plane's, else the newest.
    pub kubernetes: Option<KubernetesVersion>,
    /// The versions that the ClusterClasses of its base list, class by class.
    pub class_versions: Vec<Vec<KubernetesVersion>>,
    /// What reading it found: `release-record-differs`, `providers-beside-others`, `overlay-changes-providers`,
    /// `invalid-services`, `invalid-owners`, `owners-admin`.
    pub findings: Vec<Finding>,
}
