//! A plan that is kept, with all that it was made from: what tells whether it may be used again.

use std::sync::Arc;

use capstan_model::tree::TreeId;
use capstan_plan::classes::ClassRef;
use capstan_plan::upgrade::Upgrade;

use super::plan::Record;
use super::seen::Seen;

/// A plan with all that it was made from, beside the fleet's own inputs.
#[derive(Debug)]
pub(super) struct Kept {
    /// The cluster's folder.
    pub(super) folder: TreeId,
    /// What was looked at outside of it.
    pub(super) seen: Vec<Seen>,
    /// The release that the cluster records.
    pub(super) record: Record,
    /// The ClusterClasses that its Clusters use.
    pub(super) classes_used: Vec<ClassRef>,
    pub(super) upgrade: Arc<Upgrade>,
}
