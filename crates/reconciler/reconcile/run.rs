//! One reconciliation of one cluster folder: look, decide, try, apply, prune, judge, say.
//!
//! *Expected flow*: the folder is rendered at one commit; its boundary, the names of its templates and the
//! live guards are decided on; every object is tried; the inventory is written with all that will be applied;
//! then the objects that differ are applied, phase by phase; then what is gone from Git is deleted under
//! guard; then the machines are judged, and all is said in the status.
//!
//! *Guarantees*: of a folder that is refused nothing is applied, by any phase. A reconciliation that finds nothing to
//! do writes nothing at all, no status either. A process that dies anywhere leaves objects that its
//! successor finds in the inventory; each step is the same when it is done again. A newer commit ends a
//! reconciliation before its next phase: a phase never mixes commits.
//!
//! *Caveat*: dry runs are per object. What only the whole shows (a reference to nothing, two minors hidden
//! in two steps) is found by the domain's guards, which look at the live cluster.

use std::collections::BTreeMap;

use capstan_live::kept_tree::{Attempted, TreeOrigin, may_repair};
use capstan_live::rollout::observed::RolloutVerdict;
use capstan_model::kinds::is_cluster;
use capstan_model::object::ObjectId;
use capstan_model::tree::TreeId;
use capstan_plan::settings::{Deletion, ProvidersBy};
use capstan_ports::LiveError;
use capstan_reconciler_core::conclude::{ReconcileFindings, notes, report, settle};
use capstan_reconciler_core::outcome::{Interruption, ReconcileEnd, ReconcileFailure};
use capstan_reconciler_core::reason::Reason;
use capstan_reconciler_core::resources::{Adopt, ManagedClusterSpec, ManagedClusterStatus, RolloutState};
use capstan_reconciler_core::services::failures;
use capstan_reconciler_core::unwanted::Unwanted;
use jiff::{SignedDuration, Timestamp};

use super::credentials::{publish_credentials, renew_remembered_credentials};
use super::in_hand::ReconcileRequest;
use super::observation::observe;
use super::owners::{forget_owners_key, guard_owners_key, publish_owners_key};
use super::ownership::FoldersBeside;
use super::ports::{ClusterKey, ClusterRecord};
use super::provider_sets;
use super::reconciliation::Reconciliation;

/// In how long a topology controller has taken up what its ClusterClass says, however many clusters are of it.
const TAKEN_UP: SignedDuration = SignedDuration::from_hours(1);

/// What a reconciliation did and found.
#[derive(Debug)]
pub struct ReconcileOutcome {
    /// How it ended.
    pub ended: ReconcileEnd,
    /// Objects that were written.
    pub applied: usize,
    /// Objects that were deleted.
    pub deleted: usize,
    /// The objects that were written, with the resource version that they got.
    pub written: BTreeMap<ObjectId, String>,
    /// Whether something is waited for besides machines: an object that is being deleted, say.
    pub again: bool,
    /// When nothing of the machines happens before, or nothing is tried: until then nobody needs to look.
    pub put_off_until: Option<Timestamp>,
    /// The generation of the ManagedCluster that was reconciled.
    pub generation: i64,
    /// The status as it is now.
    pub status: ManagedClusterStatus,
}

/// Reconciles one cluster, and writes its status.
///
/// # Errors
/// Its ManagedCluster cannot be read or written; the inventory has what was applied.
pub async fn reconcile(
    request: &ReconcileRequest<'_>,
    key: &ClusterKey,
) -> Result<ReconcileOutcome, LiveError> {
    let record = record(request, key).await?;
    let mut reconciliation = Reconciliation::new(request, record);
    let limit = request.fleet.spec.timeout;
    let ended = match tokio::time::timeout(limit, reconciliation.run()).await {
        Ok(ended) => ended,
        Err(_) => ReconcileEnd::Failed(ReconcileFailure {
            kind: "Timeout",
            message: format!("reconciling took longer than {} s", limit.as_secs()),
            reasons: Vec::new(),
        }),
    };
    reconciliation.conclude(ended).await
}

/// Writes why a cluster's folder is not tried before `until`.
///
/// # Errors
/// As [`reconcile`].
pub async fn pass_over(
    request: &ReconcileRequest<'_>,
    key: &ClusterKey,
    reason: Reason,
    until: Timestamp,
) -> Result<ReconcileOutcome, LiveError> {
    let record = record(request, key).await?;
    let outcome = Reconciliation::new(request, record).conclude(ReconcileEnd::Refused(vec![reason])).await?;
    Ok(ReconcileOutcome { put_off_until: Some(until), ..outcome })
}

/// The cluster's ManagedCluster, made where it is not there; what was asked by it is done now.
async fn record(request: &ReconcileRequest<'_>, key: &ClusterKey) -> Result<ClusterRecord, LiveError> {
    let (status_store, fleet) = (&request.ports.status_store, request.fleet);
    let mut record = match status_store.cluster(key).await? {
        Some(record) => record,
        None => {
            let spec = ManagedClusterSpec::of(request.id, &fleet.key.name);
            status_store.create_cluster(key, &spec).await?
        }
    };
    check_belongs(request, key, &record)?;
    if record.reconcile_requested {
        status_store.clear_request_of_cluster(key).await?;
        // The whole object is read again: what another client wrote meanwhile must not be overwritten with older
        // content.
        if let Some(now) = status_store.cluster(key).await? {
            check_belongs(request, key, &now)?;
            record = now;
        }
    }
    Ok(record)
}

/// Checks that a ManagedCluster is of this folder and this Fleet.
fn check_belongs(
    request: &ReconcileRequest<'_>,
    key: &ClusterKey,
    record: &ClusterRecord,
) -> Result<(), LiveError> {
    if record.spec.cluster != request.id.as_str() {
        // Somebody made it by hand for another folder: two folders must not share an inventory.
        return Err(LiveError::Malformed {
            doing: format!("reconciling {}", request.id),
            reason: format!("ManagedCluster {key} belongs to the folder {}", record.spec.cluster),
        });
    }
    if record.spec.fleet != request.fleet.key.name {
        return Err(LiveError::Malformed {
            doing: format!("reconciling {}", request.id),
            reason: format!(
                "ManagedCluster {key} belongs to the Fleet {}: leave the cluster to one Fleet, or correct its `spec.fleet`",
                record.spec.fleet
            ),
        });
    }
    Ok(())
}

impl Reconciliation<'_> {
    /// From the first look to the last phase that may be done now.
    async fn run(&mut self) -> ReconcileEnd {
        match self.try_run().await {
            Ok(ended) => ended,
            Err(Unwanted::Refused(reasons)) => {
                renew_remembered_credentials(&mut self.of).await;
                guard_owners_key(&mut self.of).await;
                ReconcileEnd::Refused(reasons)
            }
            Err(Unwanted::Forbidden { error, reason }) => {
                guard_owners_key(&mut self.of).await;
                ReconcileEnd::Failed(ReconcileFailure { reasons: vec![*reason], ..error.into() })
            }
            Err(Unwanted::Live(error)) => ReconcileEnd::Failed(error.into()),
        }
    }

    async fn try_run(&mut self) -> Result<ReconcileEnd, Unwanted> {
        let request = self.of.request;
        if !self.may_repair() {
            return Ok(ReconcileEnd::Interrupted(Interruption::Unconfirmed));
        }
        let changed_after = self.clones_changed_after();
        let mut observed = observe(
            request.ports,
            request.fleet,
            request.revision,
            request.id,
            &self.of.status,
            changed_after,
        )
        .await?;
        if observed.set.as_ref().is_some_and(|set| set.by == ProvidersBy::Capstan)
            && self.of.adopt() == Adopt::Take
        {
            provider_sets::note_adoption(&mut observed.objects);
        }
        self.cluster = observed.objects.iter().map(|object| &object.id).find(|id| is_cluster(id)).cloned();
        self.beside = FoldersBeside::of(&self.of, &observed).await?;
        if matches!(observed.wanted.tombstones, Deletion::Cluster) {
            if !request.standing.may_delete() {
                return Ok(ReconcileEnd::Interrupted(Interruption::Unconfirmed));
            }
            return self.remove_cluster(&observed).await;
        }
        self.of.status.cleanup = None;
        self.judge(&observed);
        if let Some(cluster) = &self.cluster {
            self.of.look_at_cloud(&observed, cluster, self.verdict.as_ref()).await;
        }
        if self.of.is_suspended() {
            guard_owners_key(&mut self.of).await;
            return Ok(ReconcileEnd::Suspended);
        }
        // Before whatever works with them.
        publish_credentials(&mut self.of, &observed).await;
        publish_owners_key(&mut self.of, &observed).await;
        let ended = self.apply(&mut observed).await?;
        self.judge(&observed);
        if let ReconcileEnd::Applied = ended {
            self.bring_services(&observed).await?;
            let ended = self.prune(&observed).await?;
            // What is held is not done, whatever else is.
            return Ok(match ended {
                ReconcileEnd::Applied if !self.kubernetes_held.is_empty() => {
                    ReconcileEnd::Waiting(std::mem::take(&mut self.kubernetes_held))
                }
                ended => ended,
            });
        }
        Ok(ended)
    }

    /// Whether this commit may be applied to this cluster at all.
    fn may_repair(&self) -> bool {
        let (revision, status) = (self.of.request.revision, &self.of.status);
        let attempted = Attempted {
            commit: status.attempted_commit.as_deref(),
            folder: status.attempted_folder.as_deref(),
        };
        let folder = revision.folder_id(self.of.request.id);
        self.of.request.standing == TreeOrigin::Confirmed
            || may_repair(&revision.commit, folder.as_ref(), attempted)
    }

    /// Which changes of a class are worth a look at what was cloned from it: none, of a rollout that was done, that
    /// the topology controller has long taken up; a controller that is away shows in the class itself.
    fn clones_changed_after(&self) -> Timestamp {
        let is_done =
            self.of.status.rollout.as_ref().is_some_and(|rollout| rollout.state == RolloutState::Done);
        if is_done { self.of.now.saturating_sub(TAKEN_UP).unwrap_or(Timestamp::MIN) } else { Timestamp::MIN }
    }

    /// Says how the reconciliation ended: status, events, report, log.
    async fn conclude(mut self, ended: ReconcileEnd) -> Result<ReconcileOutcome, LiveError> {
        let request = self.of.request;
        if matches!(ended, ReconcileEnd::Removed) {
            forget_owners_key(&mut self.of).await;
        }
        let folder = request.revision.folder_id(request.id);
        let found = ReconcileFindings {
            cluster: request.id,
            commit: &request.revision.commit,
            folder: folder.as_ref().map(TreeId::as_str),
            generation: self.of.record.generation,
            now: self.of.now,
            ended: &ended,
            kept: &self.of.kept,
            services: &self.of.services,
            owners_file: self.of.owners_file.as_ref(),
            applied: self.of.applied,
            deleted: self.of.deleted,
        };
        let before = &self.of.record.status;
        let status = settle(before, self.of.status.clone(), &found);
        let notes = notes(before, &status, &found);
        for (service, cause) in failures(before, &status) {
            metrics::counter!("capstan_service_failures_total", "service" => service, "cause" => cause)
                .increment(1);
        }
        let report = report(&status, &found, self.cluster.clone(), self.verdict.as_ref());
        log(request, &ended, self.of.applied, self.of.deleted);
        self.of.status = status;
        self.of.save().await?;
        for note in &notes {
            request.ports.status_store.note_cluster(&self.of.record, note).await;
        }
        if let Some(report) = report {
            // Where nothing was written nobody has looked yet.
            request.ports.check_leading("reporting").await?;
            if let Err(error) = request.bot.report(&report).await {
                tracing::warn!(cluster = %request.id, %error, "the report cannot be stored");
            }
        }
        Ok(ReconcileOutcome {
            ended,
            applied: self.of.applied,
            deleted: self.of.deleted,
            written: self.echoes,
            again: self.of.again,
            put_off_until: self.verdict.as_ref().and_then(RolloutVerdict::put_off_until),
            generation: self.of.record.generation,
            status: self.of.status,
        })
    }
}

fn log(request: &ReconcileRequest<'_>, ended: &ReconcileEnd, applied: usize, deleted: usize) {
    let (cluster, commit) = (request.id, &request.revision.commit);
    match ended {
        ReconcileEnd::Refused(reasons) => {
            let reason = reasons.first().map(Reason::line).unwrap_or_default();
            tracing::warn!(%cluster, %commit, reasons = reasons.len(), reason, "refused: nothing is applied");
        }
        ReconcileEnd::Failed(failure) => {
            tracing::warn!(%cluster, %commit, applied, deleted, cause = failure.kind, error = failure.message, "reconciling failed");
        }
        ReconcileEnd::Waiting(reasons) => {
            let reason = reasons.first().map(Reason::line).unwrap_or_default();
            tracing::info!(%cluster, %commit, reason, "waits");
        }
        ReconcileEnd::Interrupted(over) => {
            tracing::info!(%cluster, %commit, applied, ?over, "reconciling ended early")
        }
        ReconcileEnd::Applied | ReconcileEnd::Removed | ReconcileEnd::Suspended if applied + deleted > 0 => {
            tracing::info!(%cluster, %commit, applied, deleted, "reconciled");
        }
        ReconcileEnd::Applied | ReconcileEnd::Removed | ReconcileEnd::Suspended => {
            tracing::debug!(%cluster, %commit, "nothing to do");
        }
    }
}
