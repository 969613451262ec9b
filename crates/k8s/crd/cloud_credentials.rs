//! The part of a `Fleet` that opens clouds for its clusters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Credentials of a cloud that Capstan makes for clusters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloudCredentials {
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
    #[schemars(range(min = 3600, max = 31_536_000))]
    pub lifetime_seconds: i32,
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
const fn lifetime() -> i32 {
    2_592_000
}
