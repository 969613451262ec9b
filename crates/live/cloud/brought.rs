//! What objects take of quotas that a folder brings, and that the cloud does not have yet.
//!
//! Machines are not among them: those are Cluster API's.

use super::facts::{Resource, Thing};

/// One such object.
#[derive(Debug, Clone)]
pub(super) struct CloudObjectNeeds {
    /// What it is called in sentences: `SecurityGroup peu01-cilium`.
    pub(super) what: String,
    /// How much it takes.
    pub(super) needs: Vec<(Resource, u64)>,
}

/// Something that the controller makes by what a folder says, so that the cloud need not have it before the merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ControllerObject {
    /// What it is.
    pub(super) thing: Thing,
    /// What the cloud will call it; `None` if that is unknown.
    pub(super) name: Option<String>,
}
