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

/// The desired state of a fleet: where its clusters come from, and how they are applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetSpec {
    /// The name of this management cluster in the repository's .capstan.yaml (managementClusters[].name).
    ///
    /// It must be the entry with the UID of this cluster's kube-system namespace. Any other is refused, so a Fleet
    /// that is copied to another cluster applies nothing there.
    #[schemars(length(min = 1, max = 253))]
    pub management_cluster: String,
    /// Where the cluster folders come from: exactly one of bot, git, inventory.
    pub source: SourceSpec,
    /// How often everything is compared with the live cluster although nothing happened, in seconds. Each cluster has
    /// its own time within the interval. Changes in Git and of applied objects are seen at once.
    #[serde(default = "interval", rename = "intervalSeconds", with = "seconds")]
    #[schemars(with = "i32", range(min = 5, max = 86400))]
    pub interval: Duration,
    /// How long one reconciliation of one cluster may take, in seconds: reading, dry run and apply together. The next
    /// one does the rest.
    #[serde(default = "timeout", rename = "timeoutSeconds", with = "seconds")]
    #[schemars(with = "i32", range(min = 5, max = 3600))]
    pub timeout: Duration,
    /// How long a rollout may make no progress (no machine more, no machine less) before it is reported as stuck, in
    /// seconds. It must be longer than a machine needs to boot.
    #[serde(default = "stuck_after", rename = "stuckAfterSeconds", with = "seconds")]
    #[schemars(with = "i32", range(min = 10, max = 86400))]
    pub stuck_after: Duration,
    /// How many clusters are reconciled at the same time.
    #[serde(default = "concurrency")]
    #[schemars(with = "i32", range(min = 1, max = 64))]
    pub concurrency: usize,
    /// The service account whose rights read and write the objects of a folder.
    #[serde(default)]
    pub service_account: ServiceAccountSpec,
    /// What needs the consent of a person first.
    #[serde(default)]
    pub guards: Guards,
    /// Clouds for which Capstan makes and renews application credentials of clusters. The first matching entry
    /// applies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub cloud_credentials: Vec<CloudCredentialsSpec>,
    /// Apply and delete nothing, and say so. The state of live clusters is still reported.
    #[serde(default)]
    pub suspend: bool,
}

/// Where the cluster folders come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "[has(self.bot), has(self.git), has(self.inventory)].filter(one, one).size() == 1", "message": "set exactly one of bot, git and inventory"}
]))]
pub enum SourceSpec {
    /// From the Capstan bot, which serves only the claimed folders, asks for preflights and accepts reports. The
    /// reconciler connects to the bot, never the other way round.
    Bot {
        /// The URL of the bot, for example `https://capstan.example.com`. Plain http only within this cluster (a host
        /// that ends in .svc or .svc.cluster.local) and on the loopback.
        #[schemars(length(min = 1, max = 2048), extend("x-kubernetes-validations" = [
            {"rule": "isURL(self) && (url(self).getScheme() == 'https' || (url(self).getScheme() == 'http' && (url(self).getHostname() in ['localhost', '127.0.0.1', '::1'] || url(self).getHostname().endsWith('.svc') || url(self).getHostname().endsWith('.svc.cluster.local'))))",
             "message": "use https for the bot; plain http is allowed only within this cluster (*.svc) and on the loopback"},
            {"rule": "!self.matches('^[A-Za-z]+://[^/]*@')",
             "message": "no credentials in a URL: put them into the Secret that secretName names"}
        ]))]
        url: String,
        /// The repository as the bot knows it: owner/name.
        #[schemars(
            length(min = 3, max = 256),
            regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+$")
        )]
        repository: String,
        /// A Secret in the Fleet's namespace with the one-time join code (key joinCode). It is needed until the
        /// reconciler has enrolled.
        #[schemars(length(min = 1, max = 253))]
        #[serde(rename = "secretName")]
        secret: String,
    },
    /// From a Git repository, without a bot: no preflights, no reports on pull requests.
    Git {
        /// What git clones: https://…, ssh://git@…, file:///… (a folder that is mounted), or, within this cluster
        /// and on the loopback, http://….
        #[schemars(length(min = 1, max = 2048), extend("x-kubernetes-validations" = [
            {"rule": "isURL(self) && (url(self).getScheme() in ['https', 'ssh', 'file'] || (url(self).getScheme() == 'http' && (url(self).getHostname() in ['localhost', '127.0.0.1', '::1'] || url(self).getHostname().endsWith('.svc') || url(self).getHostname().endsWith('.svc.cluster.local'))))",
             "message": "use https://, ssh:// or file:/// for the repository; plain http:// is allowed only within this cluster (*.svc) and on the loopback"},
            {"rule": "!self.matches('^https?://[^/]*@') && !self.matches('^ssh://[^/@]*:[^/@]*@')",
             "message": "no credentials in a URL: put them into the Secret that secretName names"}
        ]))]
        url: String,
        /// The branch that is applied.
        #[serde(default = "branch")]
        #[schemars(length(min = 1, max = 244))]
        branch: String,
        /// A Secret in the Fleet's namespace with the key token, the keys username and password, or, for ssh, the keys
        /// identity and known_hosts. A public repository needs none.
        #[serde(default, rename = "secretName", skip_serializing_if = "Option::is_none")]
        #[schemars(length(min = 1, max = 253))]
        secret: Option<String>,
    },
    /// From an inventory in this management cluster: the objects of its kinds in the Fleet's namespace, and releases
    /// in ConfigMaps beside them. There is no repository then, and the SHA-256 of all input takes the place of a
    /// commit.
    Inventory {
        /// Which ConfigMaps are releases.
        #[serde(default)]
        releases: ReleaseSelector,
    },
}

/// Which ConfigMaps in the Fleet's namespace are releases. Each says by its labels capstan.dev/release-provider and
/// capstan.dev/release-version which one it is; its keys are the names of files: schema.yaml, and templates. binaryData is
/// gzip.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseSelector {
    /// Labels that each of them has.
    #[serde(default = "release_labels")]
    #[schemars(extend("minProperties" = 1, "maxProperties" = 20))]
    pub match_labels: BTreeMap<String, String>,
}

impl Default for ReleaseSelector {
    fn default() -> Self {
        Self { match_labels: release_labels() }
    }
}

fn release_labels() -> BTreeMap<String, String> {
    BTreeMap::from([("capstan.dev/release".to_owned(), "true".to_owned())])
}

const fn interval() -> Duration {
    Duration::from_secs(300)
}

const fn timeout() -> Duration {
    Duration::from_secs(300)
}

const fn stuck_after() -> Duration {
    Duration::from_secs(1200)
}

const fn concurrency() -> usize {
    4
}

fn branch() -> String {
    "main".to_owned()
}

/// Times, which the API has as whole seconds.
mod seconds {
    use std::time::Duration;

    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(time.as_secs())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let seconds = u32::deserialize(deserializer)?;
        Ok(Duration::from_secs(seconds.max(1).into()))
    }
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
