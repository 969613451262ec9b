//! The cluster in hand: what every part of its reconciliation works with, and what will be said of it.

use capstan_live::kept_tree::TreeOrigin;
use capstan_model::ids::ClusterId;
use capstan_ports::{LiveError, ManagementCluster};
use capstan_reconciler_core::outcome::Interruption;
use capstan_reconciler_core::reason::Reason;
use capstan_reconciler_core::resources::{Adopt, ConditionStatus, ConditionType, ManagedClusterStatus};
use capstan_reconciler_core::says::Says;
use capstan_reconciler_core::services::ServicesFound;
use jiff::Timestamp;

use super::dependencies::Ports;
use super::ports::{Bot, ClusterRecord, FleetRecord, Note, OwnersFile};
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

/// The cluster in hand. Phases hand their own findings on in [`Reconciliation`](super::reconciliation::Reconciliation).
pub(super) struct ClusterInHand<'a> {
    pub(super) request: &'a ReconcileRequest<'a>,
    pub(super) now: Timestamp,
    pub(super) record: ClusterRecord,
    /// The status that will be written; it begins as the last one.
    pub(super) status: ManagedClusterStatus,
    /// The status as the status store has it.
    written: ManagedClusterStatus,
    pub(super) applied: usize,
    pub(super) deleted: usize,
    /// Objects that Git names no more and that are kept, and why.
    pub(super) kept: Vec<Reason>,
    /// Something is waited for besides machines.
    pub(super) again: bool,
    /// What was found of services and of the cloud.
    pub(super) services: ServicesFound,
    /// What its owners can have a key in, as far as the bot has it.
    pub(super) owners_file: Option<OwnersFile>,
}

impl<'a> ClusterInHand<'a> {
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
            kept: Vec::new(),
            again: false,
            services: ServicesFound::default(),
            owners_file: None,
        }
    }

    pub(super) fn live(&self) -> &'a dyn ManagementCluster {
        self.request.ports.live.as_ref()
    }

    /// Writes the status, where it differs from the one in the status store. Others write only the spec and the
    /// annotations there. If the status or the UID is not the one that was read, another process leads, and the
    /// conflict is returned.
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

    /// What is to become of objects that others applied.
    pub(super) fn adopt(&self) -> Adopt {
        self.record.spec.adopt.unwrap_or(self.request.fleet.spec.guards.adopt)
    }

    /// Says a condition of its ManagedCluster.
    pub(super) fn says(&mut self, kind: ConditionType, status: ConditionStatus, reason: &str, message: &str) {
        let (now, generation) = (self.now, self.record.generation);
        Says { conditions: &mut self.status.conditions, now, generation }.that(kind, status, reason, message);
    }

    /// Writes an Event on its ManagedCluster.
    pub(super) async fn note(&self, note: Note) {
        self.request.ports.status_store.note_cluster(&self.record, &note).await;
    }
}
