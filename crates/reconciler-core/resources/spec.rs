//! What people ask of a Fleet and of one of its clusters.

use std::collections::BTreeMap;
use std::time::Duration;

use capstan_model::ids::ClusterId;

use super::cloud_credentials::CloudCredentialsSpec;
use capstan_ports::ServiceAccount;

/// `Fleet.spec`, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetSpec {
    /// The management cluster's name in `.capstan.yaml`; its UID there must be this cluster's.
    pub management_cluster: String,
    /// Where the tree comes from.
    pub source: SourceSpec,
    /// How often every cluster is compared with Git; 300 s by default.
    pub interval: Duration,
    /// How long the reconciliation of one cluster may take; 300 s by default.
    pub timeout: Duration,
    /// How long a rollout may make no step before it counts as stuck; 1,200 s by default.
    pub stuck_after: Duration,
    /// How many clusters are worked on at a time; 4 by default.
    pub concurrency: usize,
    /// With whose rights a folder is applied.
    pub service_account: ServiceAccountSpec,
    /// What is not done without being asked.
    pub guards: Guards,
    /// Clouds whose credentials are made for clusters; none by default.
    pub cloud_credentials: Vec<CloudCredentialsSpec>,
    /// Nothing is applied and nothing is judged.
    pub suspend: bool,
}

/// Where a Fleet's tree comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceSpec {
    /// The bot's archive of the claimed folders.
    Bot {
        /// The bot's URL.
        url: String,
        /// `owner/name` of the repository.
        repository: String,
        /// The Secret beside the Fleet with the join code, later the agent's key.
        secret: String,
    },
    /// A Git URL.
    Git {
        /// `https://…`, without credentials.
        url: String,
        /// The branch.
        branch: String,
        /// The Secret beside the Fleet with `token`, or `username` and `password`.
        secret: Option<String>,
    },
    /// The objects of an inventory in the Fleet's namespace.
    Inventory {
        /// The labels of the ConfigMaps there that are releases.
        releases: BTreeMap<String, String>,
    },
}

impl SourceSpec {
    /// The Secret beside the Fleet that it names.
    pub fn secret(&self) -> Option<&str> {
        match self {
            Self::Bot { secret, .. } => Some(secret),
            Self::Git { secret, .. } => secret.as_deref(),
            Self::Inventory { .. } => None,
        }
    }
}

/// With whose rights a folder is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceAccountSpec {
    /// Its name; `capstan-applier` by default.
    pub name: String,
    /// Its namespace; the one of the folder's `Cluster` by default.
    pub namespace: Option<String>,
}

impl ServiceAccountSpec {
    /// The name where a Fleet says none.
    pub const DEFAULT_NAME: &str = "capstan-applier";

    /// The account for a folder whose objects are in that namespace.
    pub fn of(&self, namespace: &str) -> ServiceAccount {
        let namespace = self.namespace.as_deref().unwrap_or(namespace);
        ServiceAccount { namespace: namespace.to_owned(), name: self.name.clone() }
    }
}

/// What is not done without being asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guards {
    /// How many objects of one cluster may be deleted in one reconciliation; 5 by default.
    pub max_deletions: usize,
    /// How many clusters replace machines at a time; any number where `None`.
    pub max_rolling_clusters: Option<usize>,
    /// What happens to objects that others applied before; `preview` by default.
    pub adopt: Adopt,
    /// When a `Cluster` that does not exist live is created; `recorded` by default.
    pub create_clusters: CreateClusters,
}

/// What happens to objects that others applied before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Adopt {
    /// The cluster waits; its status says what would change.
    #[default]
    Preview,
    /// They are taken over: their managers moved, fields that Git lacks removed.
    Take,
}

/// When a `Cluster` that does not exist live is created.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CreateClusters {
    /// Where the bot never heard of it from another management cluster.
    #[default]
    Recorded,
    /// Always: an admin said so.
    Always,
}

/// `ManagedCluster.spec`, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagedClusterSpec {
    /// The cluster's id, the path of its folder.
    pub cluster: String,
    /// The Fleet's name, in the same namespace.
    pub fleet: String,
    /// Nothing is applied to this cluster; it is still judged.
    pub suspend: bool,
    /// Wins over the Fleet's guard.
    pub adopt: Option<Adopt>,
    /// Wins over the Fleet's guard.
    pub create_cluster: Option<CreateClusters>,
}

impl ManagedClusterSpec {
    /// The spec for a folder that nobody has asked anything of yet.
    pub fn of(cluster: &ClusterId, fleet: &str) -> Self {
        Self {
            cluster: cluster.as_str().to_owned(),
            fleet: fleet.to_owned(),
            suspend: false,
            adopt: None,
            create_cluster: None,
        }
    }
}
