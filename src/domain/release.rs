//! A release: version, components, objects and object fragments.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

/// A release's path without a segment `archived`: `aws/v21.0.0`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ReleaseId(Arc<str>);

impl ReleaseId {
    /// The id of the release at `path` (or of one named so in a settings file).
    pub fn from_path(path: &str) -> Self {
        let parts: Vec<&str> =
            path.split('/').filter(|part| !part.is_empty() && *part != "archived").collect();
        Self(parts.join("/").into())
    }

    /// `aws/v21.0.0`
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ReleaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
