//! One reconciliation of a cluster, and how soon another one follows.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::Mutex;

use capstan_ports::LiveError;
use capstan_reconciler::reconcile::ports::ClusterKey;
use capstan_reconciler::reconcile::rename_migration::{Migrated, migrate};
use capstan_reconciler::reconcile::{
    FolderAtCommit, FolderStart, ReconcileOutcome, ReconcileRequest, pass_over, reconcile,
};
use capstan_reconciler_core::requeue::ReconcileTurn;

/// What is said of a reconciliation that panicked: its cluster is tried again, and the others go on.
const PANICKED: &str = "it failed with an internal error of Capstan, which the log shows";

/// So soon it is tried again whether there is room for a large folder.
const ROOM: Duration = Duration::from_secs(1);

/// What became of a cluster's turn.
pub(super) enum Ran {
    /// It was reconciled, or passed over for a reason.
    Reconciled(Box<ReconcileOutcome>),
    /// It was over before it began.
    Over,
    /// It is not its turn yet, and nobody needs to know: so long.
    NotYet(Duration),
}

/// Takes over what renamed folders had of the cluster, and reconciles it; of the sources those stay that it took over.
/// Noted before it is begun; a panic is its own.
pub(super) async fn reconcile_one(
    request: &ReconcileRequest<'_>,
    key: &ClusterKey,
    migration_sources: &mut Vec<ClusterKey>,
    migrating: &Mutex<()>,
) -> Result<Ran, LiveError> {
    let room = request.revision.is_large(request.id).then(|| request.ports.trial.room());
    if matches!(room, Some(None)) {
        return Ok(Ran::NotYet(ROOM));
    }
    let subject = FolderAtCommit::applied(&request.fleet.key, request.id, request.revision);
    let _turn = match request.ports.underway.begin(&subject) {
        FolderStart::Turn(turn) => turn,
        FolderStart::Wait(pause) => return Ok(Ran::NotYet(pause)),
        FolderStart::PassedOver(reason, until) => {
            return pass_over(request, key, reason, until).await.map(Box::new).map(Ran::Reconciled);
        }
    };
    let reconciling = reconcile_noted(request, key, migration_sources, migrating);
    let result = AssertUnwindSafe(reconciling).catch_unwind().await;
    result.unwrap_or_else(|_| {
        let (doing, reason) = (format!("reconciling {}", request.id), PANICKED.to_owned());
        Err(LiveError::Malformed { doing, reason })
    })
}

/// The same, of what was noted.
async fn reconcile_noted(
    request: &ReconcileRequest<'_>,
    key: &ClusterKey,
    migration_sources: &mut Vec<ClusterKey>,
    migrating: &Mutex<()>,
) -> Result<Ran, LiveError> {
    if !migration_sources.is_empty() {
        let _migrating = migrating.lock().await;
        match migrate(request, key, migration_sources).await? {
            Migrated::Over(_) => return Ok(Ran::Over),
            // Tried again at its next turn.
            Migrated::But(left) => migration_sources.retain(|source| !left.contains(source)),
        }
    }
    reconcile(request, key).await.map(Box::new).map(Ran::Reconciled)
}

/// What it came to, as far as the next turn depends on it.
pub(super) fn turn_of(outcome: &ReconcileOutcome) -> ReconcileTurn<'_> {
    ReconcileTurn {
        ended: &outcome.ended,
        rollout: outcome.status.rollout.as_ref().map(|rollout| rollout.state),
        put_off_until: outcome.put_off_until,
        again: outcome.again,
    }
}
