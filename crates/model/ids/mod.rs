//! Names of what a repository holds: clusters, releases and their providers.

mod content;
mod release_name;
mod source_id;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use content::ContentId;
pub use release_name::ReleaseName;

use crate::source::{ARCHIVED, release_path};
use crate::tree::RepoPath;
use crate::version::ReleaseVersion;

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

/// A release's path without [`ARCHIVED`]: `aws/v21.0.0`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct ReleaseId(Arc<str>);

impl ReleaseId {
    /// The id of the release at `path` (or of one named so in a settings file).
    pub fn from_path(path: &str) -> Self {
        Self(release_path(path))
    }

    /// `aws/v21.0.0`
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The folders that have this id: the path itself, and the same with [`ARCHIVED`] in any place.
    pub fn possible_folders(&self) -> Vec<RepoPath> {
        let parts: Vec<&str> = self.0.split('/').collect();
        let archived = (0..parts.len()).map(|at| {
            let (before, after) = parts.split_at(at);
            [before, &[ARCHIVED], after].concat().join("/")
        });
        let paths = [self.0.to_string()].into_iter().chain(archived);
        paths.filter_map(|path| RepoPath::parse(&path).ok()).collect()
    }

    /// The path before the version: `aws`.
    pub fn provider(&self) -> Provider {
        Provider::new(self.0.rsplit_once('/').map_or("", |(provider, _)| provider))
    }

    /// Whether it names that release, however its version is written: `aws/21.0.0` names `aws/v21.0.0`.
    pub fn names(&self, release: &Self) -> bool {
        let version = || self.version().filter(|version| release.version().as_ref() == Some(version));
        self == release || self.provider() == release.provider() && version().is_some()
    }

    /// The last part as a version; `None` where it is not one.
    pub fn version(&self) -> Option<ReleaseVersion> {
        ReleaseVersion::parse(self.0.rsplit('/').next().unwrap_or_default())
    }
}

impl From<String> for ReleaseId {
    fn from(path: String) -> Self {
        Self::from_path(&path)
    }
}

impl From<ReleaseId> for String {
    fn from(id: ReleaseId) -> Self {
        id.0.to_string()
    }
}

impl fmt::Display for ReleaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The path before a release's version, without [`ARCHIVED`]: `aws`. Releases of one provider follow
/// one another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Provider(Arc<str>);

impl Provider {
    /// The provider of that path; [`ARCHIVED`] does not count.
    pub fn new(path: &str) -> Self {
        Self(ReleaseId::from_path(path).0)
    }

    /// `aws`
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last part: what a chart or a person calls it.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }
}

impl From<String> for Provider {
    fn from(path: String) -> Self {
        Self::new(&path)
    }
}

impl From<Provider> for String {
    fn from(provider: Provider) -> Self {
        provider.0.to_string()
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "(root)" } else { &self.0 })
    }
}
