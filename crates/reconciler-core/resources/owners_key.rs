//! The key of a cluster's owners, as a ManagedCluster's status holds it. Nothing in here is secret.

use capstan_live::owners::OwnersForm;
use capstan_plan::settings::{LifetimeDays, PublishedAt};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the owners of a cluster were given, as it was at the end of the last look.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnersKeyStatus {
    /// The number of their group: capstan:owners:3 is the third. It rises as soon as one of them leaves.
    #[schemars(with = "i64", range(min = 0))]
    pub generation: u64,
    /// Who may have a file of this generation, or will soon get one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub recipients: Vec<KeyRecipient>,
    /// The file that is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<KeyFile>,
}

/// A person that a file was encrypted to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyRecipient {
    /// Their name in Git.
    pub name: String,
    /// The fingerprint of their public key.
    pub fingerprint: String,
    /// The public key, as Git named it. The file is renewed with it while Git cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// A file that owners can open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyFile {
    /// What it is.
    pub form: OwnersForm,
    /// The number of its group.
    #[serde(default)]
    #[schemars(with = "i64", range(min = 0))]
    pub generation: u64,
    /// For how many days its certificate was requested.
    #[serde(default)]
    #[schemars(with = "i32", range(min = 1, max = 365))]
    pub lifetime_days: LifetimeDays,
    /// Its place.
    #[serde(default)]
    pub publish: PublishedAt,
    /// The Secret that has it, in the namespace of the Cluster.
    pub secret: String,
    /// SHA-256 of the file in lowercase hex digits.
    pub sha256: String,
    /// When its content expires, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub expires_at: Option<Timestamp>,
}
