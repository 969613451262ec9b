//! A plan that is kept, with all that it was given: what tells whether it may be used again.

use std::sync::Arc;

use capstan_model::ids::Provider;
use capstan_plan::classes::ClassRef;
use capstan_plan::upgrade::Upgrade;

use super::inputs::PlanInputs;
use super::record::Record;

/// A plan with what it was made from.
#[derive(Debug, Clone)]
pub(super) struct CachedPlan {
    pub(super) given: PlanInputs,
    /// The release that the cluster records.
    pub(super) record: Record,
    /// The ClusterClasses that its Clusters use.
    pub(super) classes_used: Vec<ClassRef>,
    /// The provider whose releases alone had a say in it, where that is certain.
    pub(super) follows: Option<Provider>,
    pub(super) upgrade: Arc<Upgrade>,
}
