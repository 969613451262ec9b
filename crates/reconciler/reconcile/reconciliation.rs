//! A reconciliation under way: what one phase hands to the next.

use std::collections::BTreeMap;

use capstan_live::rollout::observed::{self, RolloutPatience, RolloutVerdict};
use capstan_model::object::ObjectId;
use capstan_reconciler_core::reason::Reason;
use capstan_reconciler_core::resources::RolloutStatus;
use jiff::SignedDuration;

use super::in_hand::{ClusterInHand, ReconcileRequest};
use super::observation::Observation;
use super::ownership::FoldersBeside;
use super::ports::ClusterRecord;
use super::provider_sets;

/// A reconciliation under way.
pub(super) struct Reconciliation<'a> {
    pub(super) of: ClusterInHand<'a>,
    pub(super) verdict: Option<RolloutVerdict>,
    /// The objects that were written, with the resource version that they got.
    pub(super) echoes: BTreeMap<ObjectId, String>,
    /// Why control planes do not get the version that Git says.
    pub(super) kubernetes_held: Vec<Reason>,
    /// The folder's `Cluster`.
    pub(super) cluster: Option<ObjectId>,
    pub(super) beside: FoldersBeside,
}

impl<'a> Reconciliation<'a> {
    pub(super) fn new(request: &'a ReconcileRequest<'a>, record: ClusterRecord) -> Self {
        Self {
            of: ClusterInHand::new(request, record),
            verdict: None,
            echoes: BTreeMap::new(),
            kubernetes_held: Vec::new(),
            cluster: None,
            beside: FoldersBeside::default(),
        }
    }

    /// Says how the machines stand, or the providers of a set, by what was read.
    pub(super) fn judge(&mut self, observed: &Observation) {
        let patience = RolloutPatience::default();
        let still =
            SignedDuration::try_from(self.of.request.fleet.spec.stuck_after).unwrap_or(patience.still);
        let (objects, live) = (&observed.objects, &observed.live);
        let verdict = match &observed.set {
            Some(set) => {
                provider_sets::judge(set, objects, live, self.of.status.last_applied_time, self.of.now, still)
            }
            None => observed::judge(objects, live, self.of.now, RolloutPatience { still, ..patience }),
        };
        self.of.status.rollout = RolloutStatus::of(&verdict);
        self.verdict = Some(verdict);
    }
}
