//! The reconciler's loops: when which cluster is reconciled, and nothing of what happens in it.
//!
//! *Expected flow*: [`Reconciler::run`] waits until it is the leader, then keeps one loop per Fleet
//! ([`fleet`]). A loop follows its source ([`follow`]), opens each new commit, and reconciles every cluster
//! ([`capstan_reconciler::reconcile`]) when it is due ([`capstan_reconciler_core::schedule`]): after its
//! interval, when its folder or a live object of it has changed ([`drift`]), or when a person asked. A Fleet
//! has a limit of simultaneous reconciliations. *Guarantees*: a cluster has one reconciliation at a time; one
//! that fails is tried again at growing intervals and never holds up the next; a stop ends reconciliations
//! before their next phase. The Fleet records a commit before anything of it is applied. A process that no
//! longer leads writes nothing more.
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
pub use probes::{ProbeHealth, bind, serve_probes};
pub use providers::Providers;
pub use reconciler::{Reconciler, ReconcilerParts};

/// Sleeps until then; for ever where there is no such time.
async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
