//! A release that was read, and what it consists of.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use capstan_model::finding::Place;
use capstan_model::ids::{ContentId, Provider, ReleaseId};
use capstan_model::target::TargetKind;
use capstan_model::tree::{RepoPath, TreeEntry};
use capstan_model::version::{KubernetesVersion, LooseVersion, ReleaseVersion};
use serde::Serialize;

use super::rendered::Rendering;
use crate::layout::ServiceFiles;

/// A release, read.
#[derive(Debug, Clone)]
pub struct Release {
    pub id: ReleaseId,
    pub folder: RepoPath,
    pub provider: Provider,
    pub version: ReleaseVersion,
    /// What kind of target it is for: one whose objects are provider objects is for provider sets.
    pub kind: TargetKind,
    /// Whether it is meant to be used.
    pub state: ReleaseState,
    /// Its content's id.
    pub content: Option<ContentId>,
    /// When it was published, as its `release.yaml` says.
    pub date: Option<String>,
    /// The version of Kubernetes that it brings, where it says one.
    pub kubernetes: Option<KubernetesVersion>,
    /// The versions that its ClusterClasses list, class by class.
    pub class_versions: Vec<Vec<KubernetesVersion>>,
    /// Components with their versions, in the order of the file.
    pub components: Vec<ReleaseComponent>,
    /// Apps with their versions, in the order of the file.
    pub apps: Vec<App>,
    /// Variables that belong to the release, with its values.
    pub variables: BTreeMap<String, String>,
    /// Kinds of infrastructure objects that its files hold: `AWSCluster`.
    pub infrastructure_kinds: BTreeSet<String>,
    pub base_files: Vec<TreeEntry>,
    pub overlay_files: Vec<TreeEntry>,
    pub services: Arc<[ReleaseService]>,
    /// What its kustomizations come to.
    pub rendering: Arc<Rendering>,
    /// Its `release.yaml`.
    pub manifest: Option<TreeEntry>,
    /// Its notes: `release.md`, else `README.md`.
    pub notes: Option<TreeEntry>,
    /// What its provider's `requests.yaml` asks for and it does not have.
    pub unmet: Vec<Unmet>,
}

impl Release {
    /// Whether it is offered without being asked for by name.
    pub fn is_offered(&self) -> bool {
        self.state == ReleaseState::Active && self.unmet.is_empty()
    }

    /// Why it is not offered, to be read after its name; `None` where it is.
    pub fn why_not_offered(&self) -> Option<String> {
        match (self.state, self.unmet.first()) {
            (ReleaseState::Active, None) => None,
            (ReleaseState::Active, Some(unmet)) => {
                Some(format!("does not have what its provider's requests ask for: {unmet}"))
            }
            (state, _) => Some(format!("is {state}")),
        }
    }
}

#[derive(Debug, Clone)]
pub struct ReleaseService {
    pub files: ServiceFiles,
    /// What its kustomizations come to.
    pub rendering: Arc<Rendering>,
}

/// Whether a release is meant to be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReleaseState {
    /// It is.
    Active,
    /// Its version is a pre-release.
    Prerelease,
    /// `state: preview`
    Preview,
    /// `state: wip`
    Wip,
    /// `state: deprecated`
    Deprecated,
    /// It is below a folder `archived`.
    Archived,
}

impl fmt::Display for ReleaseState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Active => "active",
            Self::Prerelease => "a pre-release",
            Self::Preview => "preview",
            Self::Wip => "wip",
            Self::Deprecated => "deprecated",
            Self::Archived => "archived",
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseComponent {
    /// Its name: `flatcar`.
    pub name: String,
    pub version: LooseVersion,
}

/// One app of a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct App {
    /// Its name: `cilium`.
    pub name: String,
    pub version: LooseVersion,
    /// Its catalog, where the release names one.
    pub catalog: Option<String>,
    /// Apps that come before it.
    pub depends_on: Vec<String>,
}

/// A request that a release does not meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
    /// The component or app.
    pub name: String,
    /// The range that is asked for.
    pub wanted: String,
    /// The version that the release has; `None` where it has none.
    pub found: Option<String>,
    /// Where it is asked for.
    pub place: Place,
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, wanted, found, place } = self;
        let line = place.clone().without_column();
        match found {
            Some(found) => write!(f, "{name} is {found}, but {line} requests {wanted}"),
            None => write!(f, "{name} is missing, but {line} requests {wanted}"),
        }
    }
}
