//! What receives change, as a value.
//!
//! A [`Target`] is written in trailers, folded blocks and tables as its folder: `gauss/peu01`. A target that
//! is not a cluster is written `<kind>://<path>`, like a source, which cannot be a path in Git:
//! `providers://mc-eu/providers`, `group://gauss`. Texts for people, patterns and commands contain only the
//! path.
//!
//! Deliberately absent: where a target may be written (`capstan_plan::proposal::Scope`).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::ClusterId;
use crate::source::SCHEME_END;
use crate::tree::RepoPath;

/// What kinds of targets there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    /// A cluster folder.
    #[default]
    Cluster,
    /// A folder with the provider objects of a management cluster.
    Providers,
}

impl TargetKind {
    /// How branches and the written form of a target call provider sets.
    pub const PROVIDERS: &'static str = "providers";

    /// What texts call one: `cluster`.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Cluster => "cluster",
            Self::Providers => "provider set",
        }
    }
}

/// How a group is written.
const GROUP: &str = "group://";

/// Clusters that share a pull request, by the beginning of their ids that they have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupName(String);

impl GroupName {
    /// The group of that name; `None` where no cluster's id could begin so.
    pub fn parse(name: &str) -> Option<Self> {
        let path = RepoPath::parse(name).ok().filter(|path| !path.is_root())?;
        (!name.contains(SCHEME_END)).then(|| Self(path.to_string()))
    }

    /// `gauss`
    pub fn as_str(&self) -> &str {
        &self.0
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
    /// The provider set of a management cluster; its id is its folder, as a cluster's is.
    Providers(ClusterId),
    /// Several clusters, as far as they share a pull request. What is planned and what is written is each cluster's own.
    Group(GroupName),
}

impl Target {
    /// The target of that kind in that folder.
    pub const fn new(kind: TargetKind, id: ClusterId) -> Self {
        match kind {
            TargetKind::Cluster => Self::Cluster(id),
            TargetKind::Providers => Self::Providers(id),
        }
    }

    /// Reads what [`fmt::Display`] writes; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(name) = text.strip_prefix(GROUP) {
            return GroupName::parse(name).map(Self::Group);
        }
        let (kind, folder) = match text.split_once(SCHEME_END) {
            None => (TargetKind::Cluster, text),
            Some((TargetKind::PROVIDERS, folder)) => (TargetKind::Providers, folder),
            Some(_) => return None,
        };
        if folder.contains(SCHEME_END) {
            return None;
        }
        RepoPath::parse(folder).ok().map(|folder| Self::new(kind, ClusterId::new(folder)))
    }

    /// What kind of folder it is; of a group, what its members are.
    pub const fn kind(&self) -> TargetKind {
        match self {
            Self::Cluster(_) | Self::Group(_) => TargetKind::Cluster,
            Self::Providers(_) => TargetKind::Providers,
        }
    }

    /// Its id among the folders that receive change, of whatever kind they are; a group has none.
    pub const fn id(&self) -> Option<&ClusterId> {
        match self {
            Self::Cluster(id) | Self::Providers(id) => Some(id),
            Self::Group(_) => None,
        }
    }

    /// The cluster, where it is one.
    pub const fn cluster(&self) -> Option<&ClusterId> {
        match self {
            Self::Cluster(cluster) => Some(cluster),
            Self::Providers(_) | Self::Group(_) => None,
        }
    }

    /// The group, where it is one.
    pub const fn group(&self) -> Option<&GroupName> {
        match self {
            Self::Cluster(_) | Self::Providers(_) => None,
            Self::Group(group) => Some(group),
        }
    }

    /// What texts call it: `cluster`, `group`.
    pub const fn noun(&self) -> &'static str {
        match self {
            Self::Group(_) => "group",
            Self::Cluster(_) | Self::Providers(_) => self.kind().noun(),
        }
    }

    /// The folder that is its own, where one is.
    pub const fn folder(&self) -> Option<&RepoPath> {
        match self.id() {
            Some(id) => Some(id.folder()),
            None => None,
        }
    }

    /// What people call it: the path of its folder, `gauss/peu01`; of a group what its clusters' ids begin with.
    pub fn path(&self) -> &str {
        match self {
            Self::Cluster(id) | Self::Providers(id) => id.as_str(),
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
        match self {
            Self::Cluster(_) => {}
            Self::Providers(_) => write!(f, "{}{SCHEME_END}", TargetKind::PROVIDERS)?,
            Self::Group(_) => f.write_str(GROUP)?,
        }
        f.write_str(self.path())
    }
}

impl TryFrom<String> for Target {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or_else(|| format!("`{text}` is not a target"))
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
    }

    #[test]
    fn a_provider_set_says_its_kind() {
        for (text, folder) in [("providers://mc-eu/providers", "mc-eu/providers"), ("providers://", "")] {
            let target = Target::parse(text).unwrap();
            assert_eq!(target.to_string(), text);
            assert_eq!((target.path(), target.folder().unwrap().as_str()), (folder, folder));
            assert_eq!((target.kind(), target.noun()), (TargetKind::Providers, "provider set"));
            assert_eq!(target.cluster(), None);
            assert_ne!(Some(target), Target::parse(folder));
        }
    }

    #[test]
    fn anything_else_is_not_a_target() {
        for text in ["values://mc-eu", "providers://a://b", "providers:///a", "../up", "a//b"] {
            assert_eq!(Target::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_group_is_not_a_folder_and_its_name_cannot_be_a_clusters() {
        for name in ["gauss", "teams/a b", "gauss/prod-"] {
            let target = Target::Group(GroupName::parse(name).unwrap());
            assert_eq!((target.path(), target.folder(), target.cluster()), (name, None, None));
            assert_eq!(target.to_string(), format!("group://{name}"));
            assert_eq!(Target::parse(&target.to_string()), Some(target));
        }
        for name in ["", "/", "../up", "a//b", "x://y"] {
            assert_eq!(GroupName::parse(name), None, "{name}");
        }
    }
}
