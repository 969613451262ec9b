//! Components and apps of a source, with their versions.

use serde::{Deserialize, Serialize};

/// One component or app of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentVersion {
    /// The list that it is in.
    pub part: ReleaseList,
    /// Its name: `cilium`.
    pub name: String,
    pub version: String,
}

/// A component or app of a source that differs between the old state and the new one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentChange {
    /// The list that it is in.
    pub part: ReleaseList,
    /// Its name: `cilium`.
    pub name: String,
    /// Its version before; `None` where it comes.
    pub old: Option<String>,
    /// Its version after; `None` where it goes.
    pub new: Option<String>,
    /// Links to changelogs of its way, as the releases' own notes give them, oldest first.
    pub changelogs: Vec<String>,
}

/// A list of a release: its components, or its apps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ReleaseList {
    /// `spec.components`
    Component,
    /// `spec.apps`
    App,
}

impl ReleaseList {
    pub(super) const ALL: [(Self, &'static str); 2] = [(Self::Component, "components"), (Self::App, "apps")];
}

impl std::fmt::Display for ReleaseList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Component => "Component",
            Self::App => "App",
        })
    }
}

impl std::fmt::Display for ComponentChange {
    /// `Component flatcar: 4593.2.2 -> 4593.2.4.`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { part, name, .. } = self;
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => write!(f, "{part} {name}: {old} -> {new}."),
            (None, Some(new)) => write!(f, "{part} {name} {new} is new."),
            (Some(old), None) => write!(f, "{part} {name} {old} is removed."),
            (None, None) => write!(f, "{part} {name}."),
        }
    }
}
