//! A cluster that is to go: its tombstone, and what goes with it.
//!
//! Deliberately absent: deleting, which the reconciler does, in its order and under its guards.

use capstan_model::file_change::FileChange;
use capstan_model::ids::ClusterId;
use capstan_model::object::ObjectId;
use serde::{Deserialize, Serialize};

use crate::upgrade::Rollout;

/// A cluster's tombstone, not written yet, and what it deletes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RetiredCluster {
    pub cluster: ClusterId,
    /// The management cluster whose reconciler deletes it.
    pub claimed_by: String,
    /// Its `capstan.yaml`.
    pub file: FileChange,
    /// What is rendered of it.
    pub objects: Vec<ObjectId>,
    /// Its machines, as far as Git has replicas.
    pub machines: Vec<Rollout>,
}
