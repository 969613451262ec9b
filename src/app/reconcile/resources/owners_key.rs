//! The key of a cluster's owners, as it stands in a ManagedCluster's status. Nothing in here is secret.

use capstan_live::owners::Form;
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
    /// Who may have a file of this generation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub recipients: Vec<KeyRecipient>,
    /// The file that is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<KeyFile>,
}

/// Somebody whom a file was encrypted to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyRecipient {
    /// What Git calls them.
    pub name: String,
    /// The fingerprint of their public key.
    pub fingerprint: String,
}

/// A file that owners can open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyFile {
    /// What it is.
    pub form: Form,
    /// The Secret that it lies in, in the namespace of the Cluster.
    pub secret: String,
    /// SHA-256 of the file in lowercase hex digits.
    pub sha256: String,
    /// When what is in it ends, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub expires_at: Option<Timestamp>,
}
