//! Credentials of clouds that are made for clusters: what a Fleet opens, and what a ManagedCluster's status holds.

use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Credentials of a cloud that Capstan makes for clusters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloudCredentialsSpec {
    /// For which clusters: patterns over the paths of their folders, for example `gauss/*`. Each of them must also
    /// ask for it with `cloud` in its capstan.yaml.
    #[schemars(length(min = 1, max = 100), inner(length(min = 1, max = 1024)))]
    pub clusters: Vec<String>,
    /// Its name in `cloud` of their capstan.yaml. The Secret's clouds.yaml has an entry of that name.
    #[schemars(length(min = 1, max = 100))]
    pub cloud: String,
    /// The Secret with the credential that makes the others, in a namespace that no folder applies to. It has the key
    /// clouds.yaml, and cacert if the cloud's certificates are from your own CA.
    pub secret_ref: SecretRef,
    /// How long each credential lives, in seconds. The next one is made after two thirds of it.
    #[serde(default = "lifetime")]
    #[schemars(with = "i32", range(min = 3600, max = 31_536_000))]
    pub lifetime_seconds: u32,
}

/// A Secret by namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretRef {
    /// Its namespace.
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// 30 days.
const fn lifetime() -> u32 {
    2_592_000
}

impl CloudCredentialsSpec {
    /// How long each credential lives.
    pub fn lifetime(&self) -> Duration {
        Duration::from_secs(self.lifetime_seconds.into())
    }
}

/// The credentials that were made for a cluster, as the Secrets had them at the end of the last look.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloudCredentialsStatus {
    /// The cloud, as `cloud` of its `capstan.yaml` says.
    pub cloud: String,
    /// The namespace of the Secrets.
    pub namespace: String,
    /// The name of the `Cluster`.
    pub cluster: String,
    /// The Secrets.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub secrets: Vec<PublishedSecret>,
}

/// One Secret with a credential. Nothing in here is secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublishedSecret {
    /// Its name.
    pub name: String,
    /// Keystone's id of the application credential that it holds.
    pub credential: String,
    /// When that ends, RFC 3339.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub expires_at: Timestamp,
    /// The last one that all programs inside the cluster were seen to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_use: Option<String>,
    /// Ids of those that it held before, and that may still be in use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub previous: Vec<String>,
}
