//! Credentials of clouds that are made for clusters: what a Fleet opens, and what a ManagedCluster's status holds.

use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A cloud whose credentials a Fleet opens for some of its clusters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudCredentialsSpec {
    /// Which clusters: patterns over the paths of their folders.
    pub clusters: Vec<String>,
    /// What `cloud` of their `capstan.yaml` calls it, and the entry of the maker's `clouds.yaml`.
    pub cloud: String,
    /// The namespace of the Secret with the `clouds.yaml` that they are made with.
    pub namespace: String,
    /// Its name.
    pub secret: String,
    /// How long each of them lives; 30 days by default.
    pub lifetime: Duration,
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
