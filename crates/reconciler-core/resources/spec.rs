//! What people ask of a Fleet and of one of its clusters.
//!
//! The documentation and the bounds of what derives `JsonSchema` are those of the definitions that `k8s` prints.

use std::collections::BTreeMap;
use std::time::Duration;

use capstan_model::ids::ClusterId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// The service account that is impersonated for a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceAccountSpec {
    /// Its name.
    #[serde(default = "applier")]
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Its namespace. Default: the namespace of the folder's Cluster. Each customer's objects are then applied with
    /// rights in the customer's namespace only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
}

fn applier() -> String {
    ServiceAccountSpec::DEFAULT_NAME.to_owned()
}

impl Default for ServiceAccountSpec {
    fn default() -> Self {
        Self { name: applier(), namespace: None }
    }
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

/// What needs the consent of a person first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Guards {
    /// How many objects of one cluster one reconciliation may delete. If a commit asks for more, the folder deletes
    /// nothing and says so.
    #[serde(default = "deletions")]
    #[schemars(with = "i32", range(min = 0, max = 10000))]
    pub max_deletions: usize,
    /// How many clusters replace machines at a time. A change of more clusters continues with the next one, in the
    /// order of their folders, once the machines of one are done. A stuck cluster keeps its place. New clusters do
    /// not count. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i32>", range(min = 1, max = 10000))]
    pub max_rolling_clusters: Option<usize>,
    /// What happens to objects that others applied before (kubectl, Flux, Argo CD). With preview, they do not change,
    /// and the ManagedCluster shows what taking them over would change. With take, Capstan manages their fields, and
    /// removes those that Git does not name. spec.adopt of a ManagedCluster overrides it for one cluster.
    #[serde(default)]
    pub adopt: Adopt,
    /// Whether a Cluster that does not exist here is created. With recorded: only if no other management cluster is
    /// known to have had it. With always: any.
    #[serde(default)]
    pub create_clusters: CreateClusters,
}

const fn deletions() -> usize {
    5
}

impl Default for Guards {
    fn default() -> Self {
        Self {
            max_deletions: deletions(),
            max_rolling_clusters: None,
            adopt: Adopt::default(),
            create_clusters: CreateClusters::default(),
        }
    }
}

/// What happens to objects that others applied before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Adopt {
    /// Nothing; what taking them would change is shown.
    #[default]
    Preview,
    /// They are taken.
    Take,
}

/// Whether absent Clusters are created.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CreateClusters {
    /// Where no other management cluster is known to have had it.
    #[default]
    Recorded,
    /// Always.
    Always,
}

/// Which folder it is for, and what people request for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedClusterSpec {
    /// The cluster's id: the path of its folder, e.g. gauss/peu01.
    #[schemars(length(min = 1, max = 1024), extend("x-kubernetes-validations" = [
        {"rule": "self == oldSelf", "message": "the folder of a ManagedCluster is immutable: delete the ManagedCluster, and the reconciler writes the right one"}
    ]))]
    pub cluster: String,
    /// The Fleet, in the same namespace, whose repository holds the folder.
    #[schemars(length(min = 1, max = 253), extend("x-kubernetes-validations" = [
        {"rule": "self == oldSelf", "message": "the Fleet of a ManagedCluster is immutable: delete the ManagedCluster, and the reconciler writes the right one"}
    ]))]
    pub fleet: String,
    /// Apply and delete nothing of this cluster, and say so. Its live state is still reported.
    #[serde(default)]
    pub suspend: bool,
    /// What happens to objects of this cluster that others applied before: preview or take. Left out, the
    /// Fleet's guards say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopt: Option<Adopt>,
    /// Whether the cluster is created where it does not exist: always, or, with recorded, only where no other
    /// management cluster is known to have had it. Left out, the Fleet's guards say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
