//! The facts that an upgrade is planned from.

use serde::{Deserialize, Serialize};

use super::change_source::ChangeSource;
use super::model::SettledConflict;
use crate::merge::{ClusterFacts, ReleaseSource};
use crate::settings::{ConflictPolicy, FieldRule};
use capstan_kustomize::schema::Schemas;
use capstan_model::object::FieldPath;

/// What is known of the state that the cluster comes from (O).
#[derive(Debug, Clone, Copy)]
pub enum OldSource<'a> {
    /// The recorded source, with its content as it was recorded.
    Known(&'a dyn ChangeSource),
    /// Not recorded: the one of these whose fields are all in the base still, else unknown. The releases of the
    /// provider, the offered one included.
    Infer(&'a [&'a ReleaseSource]),
    /// Not recorded and not to be looked for: what the cluster lacks comes ([U5](crate::merge::fields#u5)).
    Unknown,
}

/// What the settings, and people by command, say of a merge.
#[derive(Debug, Clone, Default)]
pub struct MergeSettings {
    /// What conflicts come to.
    pub conflicts: ConflictPolicy,
    /// Field owners; the last rule that fits wins.
    pub owners: Vec<FieldRule>,
    /// Conflicts that people settled.
    pub settled: Vec<SettledConflict>,
    /// Whether versions and images move.
    pub versions: Versions,
    /// What may be overwritten where the old release is unknown.
    pub overwrite: Overwrite,
}

/// What the new release may overwrite in a cluster of unknown origin, as somebody said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Overwrite {
    /// Nothing that the cluster has.
    #[default]
    Nothing,
    /// These fields and all below them, in whichever object.
    Fields(Vec<FieldPath>),
    /// Everything.
    All,
}

impl Overwrite {
    /// Whether somebody named that field.
    pub fn names(&self, field: &FieldPath) -> bool {
        match self {
            Self::Nothing => false,
            Self::Fields(named) => named.iter().any(|path| field.starts_with(path)),
            Self::All => true,
        }
    }
}

/// Whether the fields of the step group move ([U9](crate::merge::step_group#u9)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Versions {
    /// With the release.
    #[default]
    Move,
    /// They stay as the cluster has them, whatever the release says: what a rollback leaves, for Kubernetes never goes
    /// back.
    Stay,
}

/// One plan's facts. Sources are read once and borrowed by every plan.
#[derive(Debug, Clone, Copy)]
pub struct UpgradeRequest<'a> {
    pub cluster: &'a ClusterFacts,
    /// O: where it comes from.
    pub old: OldSource<'a>,
    /// N: where it goes.
    pub new: &'a dyn ChangeSource,
    pub settings: &'a MergeSettings,
    /// What is known of objects' fields: [`Schemas::built_in`] where the repository has no definitions.
    pub schemas: &'a Schemas,
    /// Whether names of rotated templates may be edited in the overlay.
    pub retarget: Retarget,
}

/// Whether an upgrade may edit the one thing that it ever edits in an overlay ([U12](crate::templates#u12)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Retarget {
    /// The overlay is never written: a patch that names a rotated template blocks.
    #[default]
    Refused,
    /// Somebody asked for it: the old name in such a patch becomes the new one.
    Allowed,
}
