//! What receives change, as a value.
//!
//! A [`Target`] is written in trailers, folded blocks, tables and texts as its folder: `gauss/peu01`. A kind of target
//! that is no cluster is written `<kind>://<path>`, as sources are, which is no path that Git has.
//!
//! Deliberately absent: where a target may be written (`capstan_plan::proposal::Scope`).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::ClusterId;
use crate::source::SCHEME_END;
use crate::tree::RepoPath;

/// What receives change. Another kind of target is another variant, so that the compiler shows every place that has
/// to know.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Target {
    /// A cluster folder.
    Cluster(ClusterId),
}

impl Target {
    /// Reads what [`fmt::Display`] writes; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        if text.contains(SCHEME_END) {
            return None;
        }
        RepoPath::parse(text).ok().map(|folder| Self::Cluster(ClusterId::new(folder)))
    }

    /// The cluster, where it is one.
    pub const fn cluster(&self) -> Option<&ClusterId> {
        match self {
            Self::Cluster(cluster) => Some(cluster),
        }
    }

    /// What texts call it: `cluster`.
    pub const fn noun(&self) -> &'static str {
        match self {
            Self::Cluster(_) => "cluster",
        }
    }

    /// The folder that is its own.
    pub const fn folder(&self) -> &RepoPath {
        match self {
            Self::Cluster(cluster) => cluster.folder(),
        }
    }

    /// `gauss/peu01`
    pub fn as_str(&self) -> &str {
        match self {
            Self::Cluster(cluster) => cluster.as_str(),
        }
    }
}

impl From<ClusterId> for Target {
    fn from(cluster: ClusterId) -> Self {
        Self::Cluster(cluster)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl TryFrom<String> for Target {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or_else(|| format!("`{text}` is no target"))
    }
}

impl From<Target> for String {
    fn from(target: Target) -> Self {
        target.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_its_folder() {
        for text in ["gauss/peu01", "", "a b/größe"] {
            let target = Target::parse(text).unwrap();
            assert_eq!(target.to_string(), text);
            assert_eq!(target.folder().as_str(), text);
            assert_eq!(target.cluster().unwrap().as_str(), text);
        }
        for text in ["providers://mc-eu", "../up", "a//b"] {
            assert_eq!(Target::parse(text), None, "{text}");
        }
    }
}
