//! A reconciliation under way: what is known in it, what is remembered of it, and what will be said.

use std::collections::{BTreeMap, BTreeSet};

use capstan_live::applying::AppliedInventory;
use capstan_live::kept_tree::TreeOrigin;
use capstan_live::rollout::observed::{self, RolloutPatience, RolloutVerdict};
use capstan_model::ids::ClusterId;
use capstan_model::object::ObjectId;
use capstan_ports::{LiveError, ManagementCluster};
use capstan_reconciler_core::outcome::Interruption;
use capstan_reconciler_core::reason::Reason;
use capstan_reconciler_core::resources::{ManagedClusterStatus, RolloutStatus};
use capstan_reconciler_core::services::ServicesFound;
use jiff::{SignedDuration, Timestamp};

use super::dependencies::Ports;
use super::observation::Observation;
use super::ports::{Bot, ClusterRecord, FleetRecord, OwnersFile};
use super::provider_sets;
use super::revision::Revision;

/// How often a status is written again where somebody touched its object meanwhile.
const SAVES: usize = 5;

/// What one cluster is reconciled with.
pub struct ReconcileRequest<'a> {
    /// What is needed from outside.
    pub ports: &'a Ports,
    /// Who hears of it.
    pub bot: &'a dyn Bot,
    pub fleet: &'a FleetRecord,
    /// The commit.
    pub revision: &'a Revision,
    /// How it came to be the one that is applied from.
    pub standing: TreeOrigin,
    /// The cluster.
    pub id: &'a ClusterId,
    /// Whether to stop before the next effect: a newer commit is there, or the process ends.
    pub is_over: &'a (dyn Fn() -> Option<Interruption> + Sync),
}

/// A reconciliation under way.
pub(super) struct Reconciliation<'a> {
    pub(super) request: &'a ReconcileRequest<'a>,
    pub(super) now: Timestamp,
    pub(super) record: ClusterRecord,
    /// What will be said; begins as what was said last.
    pub(super) status: ManagedClusterStatus,
    /// What stands in the status store.
    pub(super) written: ManagedClusterStatus,
    pub(super) applied: usize,
    pub(super) deleted: usize,
    pub(super) verdict: Option<RolloutVerdict>,
    /// Objects that Git names no more and that are kept, and why.
    pub(super) kept: Vec<Reason>,
    /// The objects that were written, with the resource version that they got.
    pub(super) echoes: BTreeMap<ObjectId, String>,
    /// Something is waited for besides machines.
    pub(super) again: bool,
    /// What was found of services and of the cloud.
    pub(super) services: ServicesFound,
    /// Why control planes do not get the version that Git says.
    pub(super) kubernetes_held: Vec<Reason>,
    /// The folder's `Cluster`.
    pub(super) cluster: Option<ObjectId>,
    /// What its owners can have a key in, as far as the bot has it.
    pub(super) owners_file: Option<OwnersFile>,
    /// What the folders have applied that render something which this one has and does not render.
    pub(super) beside: BTreeMap<ClusterId, AppliedInventory>,
    /// Those of them that are refused.
    pub(super) refused_beside: BTreeSet<ClusterId>,
}

impl<'a> Reconciliation<'a> {
    pub(super) fn new(request: &'a ReconcileRequest<'a>, record: ClusterRecord) -> Self {
        let (status, written) = (record.status.clone(), record.status.clone());
        // Kubernetes writes times in whole seconds.
        let now = request.ports.clock.now();
        let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
        Self {
            request,
            now,
            record,
            status,
            written,
            applied: 0,
            deleted: 0,
            verdict: None,
            kept: Vec::new(),
            echoes: BTreeMap::new(),
            again: false,
            services: ServicesFound::default(),
            kubernetes_held: Vec::new(),
            cluster: None,
            owners_file: None,
            beside: BTreeMap::new(),
            refused_beside: BTreeSet::new(),
        }
    }

    pub(super) fn live(&self) -> &'a dyn ManagementCluster {
        self.request.ports.live.as_ref()
    }

    /// Writes what is to be remembered, where that differs from what stands in the status store. What others write
    /// there is spec and annotations; another status than the one that was read means that another process leads.
    pub(super) async fn save(&mut self) -> Result<(), LiveError> {
        if self.status == self.written {
            return Ok(());
        }
        let status_store = &self.request.ports.status_store;
        for attempt in 1.. {
            match status_store.write_cluster(&self.record, &self.status).await {
                Ok(version) => {
                    self.record.resource_version = version;
                    break;
                }
                Err(error) if error.is_conflict() && attempt < SAVES => {
                    let now = status_store.cluster(&self.record.key).await?;
                    let as_it_was =
                        |now: &ClusterRecord| now.uid == self.record.uid && now.status == self.written;
                    match now.filter(as_it_was) {
                        Some(now) => self.record.resource_version = now.resource_version,
                        None => return Err(error),
                    }
                }
                Err(error) => return Err(error),
            }
        }
        self.written = self.status.clone();
        Ok(())
    }

    /// Whether somebody said that nothing is to be applied.
    pub(super) const fn is_suspended(&self) -> bool {
        self.record.spec.suspend || self.request.fleet.spec.suspend
    }

    /// Says how the machines stand, or the providers of a set, by what was read.
    pub(super) fn judge(&mut self, observed: &Observation) {
        let patience = RolloutPatience::default();
        let still = SignedDuration::try_from(self.request.fleet.spec.stuck_after).unwrap_or(patience.still);
        let (objects, live) = (&observed.objects, &observed.live);
        let verdict = match &observed.set {
            Some(set) => {
                provider_sets::judge(set, objects, live, self.status.last_applied_time, self.now, still)
            }
            None => observed::judge(objects, live, self.now, RolloutPatience { still, ..patience }),
        };
        self.status.rollout = RolloutStatus::of(&verdict);
        self.verdict = Some(verdict);
    }
}
