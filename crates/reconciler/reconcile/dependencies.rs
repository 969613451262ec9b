//! What the use cases of the reconciler need from outside: of every cluster the same.

use std::sync::Arc;

use tokio::sync::Mutex;

use super::cloud_memory::CloudPreflight;
use super::credentials::CloudCredentials;
use super::dry_run_cache::DryRunCache;
use super::kinds::Kinds;
use super::owners::OwnersKeys;
use super::ports::StatusStore;
use super::provider_sets::Operators;
use super::rolling::RollingClusters;
use super::secrets::VaultSecrets;
use super::services::Workloads;
use super::trial::Trial;
use super::underway::Underway;
use crate::gate::Gate;
use capstan_fleet::components::Downloads;
use capstan_ports::Clock;

/// What passes need from outside.
#[derive(Clone)]
pub struct Ports {
    /// The management cluster.
    pub live: Arc<Gate>,
    /// Capstan's own custom resources there.
    pub status_store: Arc<dyn StatusStore>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// The kinds that discovery gave.
    pub kinds: Arc<Kinds>,
    /// What was tried and needs no second try.
    pub dry_run_cache: Arc<DryRunCache>,
    /// What others wrote is tried with that first.
    pub trial: Arc<Trial>,
    /// What is reconciled now, for those who come after a death.
    pub underway: Arc<Underway>,
    /// Held from the look at what other Fleets have until it is written down what this one will have: so that two
    /// that render one object do not both find it free.
    pub claiming: Arc<Mutex<()>>,
    /// What was seen of the Cluster API operators here.
    pub operators: Arc<Operators>,
    /// Fetches components of providers, from the hosts that the reconciler's settings name.
    pub downloads: Downloads,
    /// Asks clouds, before a merge, for what it takes besides.
    pub cloud_preflight: Arc<CloudPreflight>,
    /// The clusters that services are brought into.
    pub workloads: Arc<Workloads>,
    /// What is remembered of making keys for clusters' owners.
    pub owners_keys: Arc<OwnersKeys>,
    /// Makes clusters' own credentials of their clouds.
    pub cloud_credentials: Arc<CloudCredentials>,
    /// Which clusters of each Fleet replace machines now.
    pub rolling: Arc<RollingClusters>,
    /// Resolves references to Vault.
    pub vault_secrets: Arc<VaultSecrets>,
}
