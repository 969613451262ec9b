//! The reconciler's use cases: what a Git tree asks of a management cluster is applied, judged and reported.
//!
//! *Expected flow* of one cluster's reconciliation ([`reconcile`]): the folder is rendered ([`revision`]), compared
//! with the live cluster, tried, applied phase by phase, pruned, judged. Then the status of its `ManagedCluster` is
//! written. [`preflight`] does the first half for a head commit and writes nothing.
//!
//! Decisions are the domain's ([`capstan_live::applying`], [`capstan_live::rollout::observed`]); requests
//! go through [`ports`]. Deliberately absent: when which cluster is reconciled (`controllers`), the Kubernetes
//! API (`k8s`), and every word to GitHub (the bot's).

mod acceptance;
mod apply;
mod blocking;
mod cloud_memory;
mod cloud_objects;
mod cloud_preflight;
mod credentials;
mod deletion;
mod dependencies;
mod dry_run_cache;
mod dry_runs;
mod fenced;
mod gather;
mod hosts_preflight;
mod in_hand;
mod kinds;
mod live_inventory;
mod observation;
mod owners;
mod ownership;
pub mod ports;
pub mod preflight;
mod provider_sets;
mod prune;
mod reconciliation;
pub mod rename_migration;
pub mod revision;
mod rolling;
mod rolls_later;
mod run;
mod secrets;
mod services;
mod set_preflight;
mod set_trial;
mod take_over;
mod templates;
mod trial;
pub mod unclaimed;
mod underway;
mod wanted;

pub use capstan_reconciler_core::conclude::{FleetState, fleet_status};
pub use capstan_reconciler_core::outcome::{Interruption, ReconcileEnd, ReconcileFailure};
pub use capstan_reconciler_core::{names, reason, resources};
pub use cloud_memory::CloudPreflight;
pub use credentials::CloudCredentials;
pub use dependencies::Ports;
pub use dry_run_cache::DryRunCache;
pub use in_hand::ReconcileRequest;
pub use kinds::Kinds;
pub use live_inventory::InventorySource;
pub use owners::OwnersKeys;
pub use provider_sets::{Operators, applied_as};
pub use rolling::RollingClusters;
pub use run::{ReconcileOutcome, pass_over, reconcile};
pub use secrets::{Passed, SecretsReport, StoreWork, VaultSecrets};
pub use services::Workloads;
pub use trial::Trial;
pub use underway::{FolderAtCommit, FolderStart, FolderTurn, Underway};
