//! What receives change, as a value.
//!
//! A [`Target`] is written in trailers, folded blocks, tables and texts as its folder: `gauss/peu01`. A kind of target
//! that is no cluster is written `<kind>://<path>`, as sources are, which is no path that Git has: `group://gauss`.
//!
//! Deliberately absent: where a target may be written (`capstan_plan::proposal::Scope`).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::ClusterId;
use crate::source::SCHEME_END;
use crate::tree::RepoPath;

/// How a group is written.
const GROUP: &str = "group://";

/// Clusters that share a pull request, by the beginning of their ids that they have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupName {
    /// `group://gauss`
    written: String,
}

impl GroupName {
    /// The group of that name; `None` where no cluster's id could begin so.
    pub fn parse(name: &str) -> Option<Self> {
        let path = RepoPath::parse(name).ok().filter(|path| !path.is_root())?;
        (!name.contains(SCHEME_END)).then(|| Self { written: format!("{GROUP}{path}") })
    }

    /// `gauss`
    pub fn as_str(&self) -> &str {
        &self.written[GROUP.len()..]
    }
}

impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What receives change. Another kind of target is another variant, so that the compiler shows every place that has
/// to know.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Target {
    /// A cluster folder.
    Cluster(ClusterId),
    /// Several clusters, as far as they share a pull request. What is planned and what is written is each cluster's own.
    Group(GroupName),
}

impl Target {
    /// Reads what [`fmt::Display`] writes; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(name) = text.strip_prefix(GROUP) {
            return GroupName::parse(name).map(Self::Group);
        }
        if text.contains(SCHEME_END) {
            return None;
        }
        RepoPath::parse(text).ok().map(|folder| Self::Cluster(ClusterId::new(folder)))
    }

    /// The cluster, where it is one.
    pub const fn cluster(&self) -> Option<&ClusterId> {
        match self {
            Self::Cluster(cluster) => Some(cluster),
            Self::Group(_) => None,
        }
    }

    /// The group, where it is one.
    pub const fn group(&self) -> Option<&GroupName> {
        match self {
            Self::Cluster(_) => None,
            Self::Group(group) => Some(group),
        }
    }

    /// What texts call it: `cluster`, `group`.
    pub const fn noun(&self) -> &'static str {
        match self {
            Self::Cluster(_) => "cluster",
            Self::Group(_) => "group",
        }
    }

    /// The folder that is its own, where one is.
    pub const fn folder(&self) -> Option<&RepoPath> {
        match self {
            Self::Cluster(cluster) => Some(cluster.folder()),
            Self::Group(_) => None,
        }
    }

    /// `gauss/peu01`, `group://gauss`
    pub fn as_str(&self) -> &str {
        match self {
            Self::Cluster(cluster) => cluster.as_str(),
            Self::Group(group) => &group.written,
        }
    }

    /// What people call it: `gauss/peu01`, and `gauss` of a group.
    pub fn name(&self) -> &str {
        match self {
            Self::Cluster(cluster) => cluster.as_str(),
            Self::Group(group) => group.as_str(),
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
            assert_eq!(target.folder().unwrap().as_str(), text);
            assert_eq!(target.cluster().unwrap().as_str(), text);
        }
        for text in ["providers://mc-eu", "../up", "a//b"] {
            assert_eq!(Target::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_group_is_no_folder_and_is_written_so_that_no_cluster_is() {
        for name in ["gauss", "teams/a b", "gauss/prod-"] {
            let target = Target::Group(GroupName::parse(name).unwrap());
            assert_eq!((target.name(), target.folder(), target.cluster()), (name, None, None));
            assert_eq!(target.to_string(), format!("group://{name}"));
            assert_eq!(Target::parse(target.as_str()), Some(target));
        }
        for name in ["", "/", "../up", "a//b", "x://y"] {
            assert_eq!(GroupName::parse(name), None, "{name}");
        }
    }
}
