//! Which release somebody names.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ReleaseId;
use crate::version::ReleaseVersion;

/// A release as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReleaseName {
    /// `aws/v21.0.0`
    Id(ReleaseId),
    /// `34.5.0`, without a provider.
    Version(ReleaseVersion),
}

impl ReleaseName {
    /// Reads `aws/v21.0.0` or `34.5.0`; `None` where the last part is not a version.
    pub fn parse(text: &str) -> Option<Self> {
        match ReleaseVersion::parse(text) {
            Some(version) => Some(Self::Version(version)),
            None => {
                let id = ReleaseId::from_path(text);
                id.version().map(|_| Self::Id(id))
            }
        }
    }

    pub fn version(&self) -> Option<ReleaseVersion> {
        match self {
            Self::Id(id) => id.version(),
            Self::Version(version) => Some(version.clone()),
        }
    }
}

impl fmt::Display for ReleaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Version(version) => version.fmt(f),
        }
    }
}
