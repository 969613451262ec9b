//! The reconciler's loops: when which cluster is reconciled, and nothing of what happens in it.
//!
//! *Expected flow*: [`Reconciler::run`] waits until it is the leader, then keeps one loop per Fleet
//! ([`fleet`]). A loop follows its source ([`follow`]), opens each new commit, and reconciles every cluster
//! ([`capstan_reconciler::reconcile`]) when it is due ([`capstan_reconciler_core::schedule`]): after its interval, when its folder has changed,
//! when somebody touched a live object of it ([`drift`]), or when a person asked. At most so many clusters of
//! a Fleet at a time. *Guarantees*: a cluster has one reconciliation at a time; one that fails is tried again ever
//! more seldom and never holds up the next; a stop ends reconciliations before their next phase. Before anything is
//! applied from a commit, the Fleet says that it is that one. Whoever leads no more writes nothing more.
//!
//! Beside the Fleets goes one loop over the VaultSecrets ([`secrets`]), and one over the providers of the management cluster
//! ([`providers`]), where the reconciler installs them.
//!
//! Deliberately absent: decisions about objects, requests to the API server, HTTP calls to the bot.

mod cluster;
mod drift;
mod fleet;
mod follow;
mod gauges;
mod hosts;
mod operator_leases;
mod preflight_worker;
mod probes;
mod providers;
mod reconciler;
mod secrets;
mod watching;

use tokio::time::Instant;

pub use operator_leases::OperatorLeases;
pub use probes::{Health, bind, serve_probes};
pub use providers::Providers;
pub use reconciler::{Parts, Reconciler};

/// Sleeps until then; for ever where there is no such time.
async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
