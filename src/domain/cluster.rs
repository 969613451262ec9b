//! A cluster folder: base, overlay, settings, current release.

use std::fmt;

use serde::Serialize;

use crate::tree::RepoPath;

/// A cluster's id is the path of its folder: `gauss/peu01`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
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
