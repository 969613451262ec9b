//! `Fleet`: one repository whose clusters this management cluster applies.
//!
//! Its parts are the use cases' own types. The whole is not: a structural schema cannot say "exactly one of these" by its
//! types, which `source` is there, and the times are seconds here. `status_store/read.rs` reads it into theirs.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use capstan_reconciler::reconcile::resources::{
    CloudCredentialsSpec, FleetStatus, Guards, ServiceAccountSpec,
};

/// The desired state of a fleet: where its clusters come from, and how they are applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomResource, JsonSchema)]
#[kube(
    group = "capstan.dev",
    version = "v1alpha1",
    kind = "Fleet",
    plural = "fleets",
    shortname = "flt",
    category = "capstan",
    namespaced,
    status = "FleetStatus",
    derive = "PartialEq",
    doc = "A Fleet is one repository of cluster folders that this management cluster applies. It names their source (the Capstan bot, Git itself, or an inventory in this management cluster), the interval, and the rights to apply them with. It also says what Capstan never does without a person's consent. The repository's .capstan.yaml names the folders by the UID of this management cluster. The reconciler keeps one ManagedCluster for each, in the namespace of the Fleet.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status",
        description = "Whether the source was read and every claimed cluster was checked"
    ),
    printcolumn(
        name = "Clusters",
        type_ = "integer",
        json_path = ".status.clusters",
        description = "Clusters that this Fleet applies"
    ),
    printcolumn(
        name = "Done",
        type_ = "integer",
        json_path = ".status.ready",
        description = "Clusters among them that match Git, with all machines done"
    ),
    printcolumn(
        name = "Suspended",
        type_ = "boolean",
        json_path = ".spec.suspend",
        description = "Whether nothing is applied",
        priority = 1
    ),
    printcolumn(
        name = "Commit",
        type_ = "string",
        json_path = ".status.commit",
        description = "The commit last read",
        priority = 1
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        description = "Why it is ready or not"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct FleetSpec {
    /// The name of this management cluster in the repository's .capstan.yaml (managementClusters[].name).
    ///
    /// It must be the entry with the UID of this cluster's kube-system namespace. Any other is refused, so a Fleet
    /// that is copied to another cluster applies nothing there.
    #[schemars(length(min = 1, max = 253))]
    pub management_cluster: String,
    /// Where the cluster folders come from: exactly one of bot, git, inventory.
    pub source: FleetSource,
    /// How often everything is compared with the live cluster although nothing happened, in seconds. Each cluster has
    /// its own time within the interval. Changes in Git and of applied objects are seen at once.
    #[serde(default = "interval")]
    #[schemars(range(min = 5, max = 86400))]
    pub interval_seconds: i32,
    /// How long one reconciliation of one cluster may take, in seconds: reading, dry run and apply together. The next
    /// one does the rest.
    #[serde(default = "timeout")]
    #[schemars(range(min = 5, max = 3600))]
    pub timeout_seconds: i32,
    /// How long a rollout may make no progress (no machine more, no machine less) before it is reported as stuck, in
    /// seconds. It must be longer than a machine needs to boot.
    #[serde(default = "stuck_after")]
    #[schemars(range(min = 10, max = 86400))]
    pub stuck_after_seconds: i32,
    /// How many clusters are reconciled at the same time.
    #[serde(default = "concurrency")]
    #[schemars(range(min = 1, max = 64))]
    pub concurrency: i32,
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "[has(self.bot), has(self.git), has(self.inventory)].filter(one, one).size() == 1", "message": "set exactly one of bot, git and inventory"}
]))]
pub struct FleetSource {
    /// From the Capstan bot, which serves only the claimed folders, asks for preflights and accepts reports. The
    /// reconciler connects to the bot, never the other way round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bot: Option<BotSource>,
    /// From a Git repository, without a bot: no preflights, no reports on pull requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitSource>,
    /// From an inventory in this management cluster: the objects of its kinds in the Fleet's namespace, and releases
    /// in ConfigMaps beside them. There is no repository then, and the SHA-256 of all input takes the place of a
    /// commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inventory: Option<InventorySource>,
}

/// An inventory in the management cluster as a source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InventorySource {
    /// Which ConfigMaps are releases.
    #[serde(default)]
    pub releases: ReleaseSelector,
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

/// The Capstan bot as a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BotSource {
    /// The URL of the bot, for example `https://capstan.example.com`. Plain http only within this cluster (a host
    /// that ends in .svc or .svc.cluster.local) and on the loopback.
    #[schemars(length(min = 1, max = 2048), extend("x-kubernetes-validations" = [
        {"rule": "isURL(self) && (url(self).getScheme() == 'https' || (url(self).getScheme() == 'http' && (url(self).getHostname() in ['localhost', '127.0.0.1', '::1'] || url(self).getHostname().endsWith('.svc') || url(self).getHostname().endsWith('.svc.cluster.local'))))",
         "message": "use https for the bot; plain http is allowed only within this cluster (*.svc) and on the loopback"},
        {"rule": "!self.matches('^[A-Za-z]+://[^/]*@')",
         "message": "no credentials in a URL: put them into the Secret that secretName names"}
    ]))]
    pub url: String,
    /// The repository as the bot knows it: owner/name.
    #[schemars(length(min = 3, max = 256), regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+$"))]
    pub repository: String,
    /// A Secret in the Fleet's namespace with the one-time join code (key joinCode). It is needed until the
    /// reconciler has enrolled.
    #[schemars(length(min = 1, max = 253))]
    pub secret_name: String,
}

/// A Git repository as a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitSource {
    /// What git clones: https://…, ssh://git@…, file:///… (a folder that is mounted), or, within this cluster
    /// and on the loopback, http://….
    #[schemars(length(min = 1, max = 2048), extend("x-kubernetes-validations" = [
        {"rule": "isURL(self) && (url(self).getScheme() in ['https', 'ssh', 'file'] || (url(self).getScheme() == 'http' && (url(self).getHostname() in ['localhost', '127.0.0.1', '::1'] || url(self).getHostname().endsWith('.svc') || url(self).getHostname().endsWith('.svc.cluster.local'))))",
         "message": "use https://, ssh:// or file:/// for the repository; plain http:// is allowed only within this cluster (*.svc) and on the loopback"},
        {"rule": "!self.matches('^https?://[^/]*@') && !self.matches('^ssh://[^/@]*:[^/@]*@')",
         "message": "no credentials in a URL: put them into the Secret that secretName names"}
    ]))]
    pub url: String,
    /// The branch that is applied.
    #[serde(default = "branch")]
    #[schemars(length(min = 1, max = 244))]
    pub branch: String,
    /// A Secret in the Fleet's namespace with the key token, the keys username and password, or, for ssh, the keys
    /// identity and known_hosts. A public repository needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub secret_name: Option<String>,
}

const fn interval() -> i32 {
    300
}

const fn timeout() -> i32 {
    300
}

const fn stuck_after() -> i32 {
    1200
}

const fn concurrency() -> i32 {
    4
}

fn branch() -> String {
    "main".to_owned()
}
