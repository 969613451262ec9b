//! The management cluster behind the ports, on the Kubernetes API: objects read, applied, deleted and
//! watched; Capstan's own kinds with their status; a Lease for leadership; events.
//!
//! Requests are made and answers read in one place (`rest`), so that bounds (`bounds`), impersonation and what may be
//! shown of an answer hold for all of them. Deliberately absent: what to apply, and when; caches of objects
//! (each pass reads what it needs, so what it decides on is never older than itself).

mod bounds;
#[cfg(test)]
mod bounds_tests;
mod cluster;
mod connect;
pub mod crd;
mod delete;
mod discovery;
mod events;
mod lease;
mod management_cluster;
mod rest;
mod status_store;
mod take_over;
mod tokens;
mod watch;
mod workload_clusters;

pub use cluster::KubeCluster;
pub use connect::{ConnectError, Connection, connect};
pub use lease::{KubeLease, KubeLeases, Timing};
pub use status_store::KubeStatusStore;
pub use tokens::KubeTokens;
pub use workload_clusters::KubeWorkloadClusters;
