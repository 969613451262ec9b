//! `VaultStore` and `VaultSecret`: where secrets are, and which of them a Secret holds.
//!
//! `capstan_live::secrets` reads what the API server has taken by these.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use capstan_reconciler::reconcile::resources::VaultSecretStatus;

/// One Vault, how to log in there, and who may.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomResource, JsonSchema)]
#[kube(
    group = "capstan.dev",
    version = "v1alpha1",
    kind = "VaultStore",
    plural = "vaultstores",
    shortname = "vst",
    category = "capstan",
    namespaced,
    derive = "PartialEq",
    doc = "A VaultStore is one Vault, in Capstan's namespace: its address, how the reconciler logs in there for a namespace, and which namespaces may use it. It decides which Vault Capstan trusts, so only admins may write it.",
    printcolumn(name = "URL", type_ = "string", json_path = ".spec.url", description = "Its address"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct VaultStoreSpec {
    /// The URL of Vault, for example `https://vault.example.com:8200`. Plain http only within this cluster (a host
    /// that ends in .svc or .svc.cluster.local) and on the loopback.
    #[schemars(length(min = 1, max = 2048), extend("x-kubernetes-validations" = [
        {"rule": "isURL(self) && (url(self).getScheme() == 'https' || (url(self).getScheme() == 'http' && (url(self).getHostname() in ['localhost', '127.0.0.1', '::1'] || url(self).getHostname().endsWith('.svc') || url(self).getHostname().endsWith('.svc.cluster.local'))))",
         "message": "use https for Vault; plain http is allowed only within this cluster (*.svc) and on the loopback"},
        {"rule": "!self.matches('^[A-Za-z]+://[^/]*@')",
         "message": "no credentials in a URL: auth says how to log in"}
    ]))]
    pub url: String,
    /// A Secret beside this object with the CA of Vault's certificates, in PEM, under the key ca.crt. Default: the
    /// CAs of the reconciler's image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub ca_secret_name: Option<String>,
    /// Vault's own namespace, if it has namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub vault_namespace: Option<String>,
    /// How the reconciler logs in: exactly one of jwt, kubernetes, appRole and token.
    pub auth: VaultAuth,
    /// Which namespaces' VaultSecrets may use it: patterns over namespaces, for example org-*.
    #[schemars(length(min = 1, max = 100), inner(length(min = 1, max = 253)), extend("x-kubernetes-list-type" = "atomic"))]
    pub namespaces: Vec<String>,
}

/// How the reconciler logs in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "[has(self.jwt), has(self.kubernetes), has(self.appRole), has(self.token)].filter(is, is).size() == 1",
     "message": "set exactly one of jwt, kubernetes, appRole and token"}
]))]
pub struct VaultAuth {
    /// With a short-lived token of the service account of the VaultSecret's namespace. Vault checks its signature
    /// with a configured key. The namespace is in the token, so Vault's policy separates customers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwt: Option<JwtAuth>,
    /// With such a token, which Vault shows to this API server (TokenReview).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<KubernetesAuth>,
    /// With the keys roleId and secretId of a Secret beside this object: the same for every namespace that the store serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_role: Option<AppRoleAuth>,
    /// With the key token of a Secret beside this object: the same for every namespace that the store serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenAuth>,
}

/// The method jwt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JwtAuth {
    /// Where the method is mounted, below auth/.
    #[serde(default = "jwt")]
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$"))]
    pub path: String,
    /// The role; {namespace} in it is the VaultSecret's namespace.
    #[schemars(length(min = 1, max = 253))]
    pub role: String,
    /// The audience of the token: one of the role's bound_audiences.
    #[schemars(length(min = 1, max = 253))]
    pub audience: String,
}

/// The method kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubernetesAuth {
    /// Where the method is mounted, below auth/.
    #[serde(default = "kubernetes")]
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$"))]
    pub path: String,
    /// The role; {namespace} in it is the VaultSecret's namespace.
    #[schemars(length(min = 1, max = 253))]
    pub role: String,
    /// The audience of the token, if the role requires one. Default: the API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub audience: Option<String>,
}

/// The method approle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppRoleAuth {
    /// Where the method is mounted, below auth/.
    #[serde(default = "approle")]
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$"))]
    pub path: String,
    /// The Secret with the keys roleId and secretId.
    #[schemars(length(min = 1, max = 253))]
    pub secret_name: String,
}

/// A token that somebody made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenAuth {
    /// The Secret with the key token.
    #[schemars(length(min = 1, max = 253))]
    pub secret_name: String,
}

/// The content of a Secret from Vault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, CustomResource, JsonSchema)]
#[kube(
    group = "capstan.dev",
    version = "v1alpha1",
    kind = "VaultSecret",
    plural = "vaultsecrets",
    shortname = "vsec",
    category = "capstan",
    namespaced,
    status = "VaultSecretStatus",
    derive = "PartialEq",
    doc = "A VaultSecret defines the content of a Secret from Vault: fields of secrets by path and version, or the fields of a lease. The reconciler reads them with a login of this namespace, writes the Secret, and keeps it current. If it cannot read them, the Secret does not change. Deleting the VaultSecret ends its lease and deletes the Secret.",
    printcolumn(name = "Store", type_ = "string", json_path = ".spec.store", description = "The VaultStore"),
    printcolumn(
        name = "Resolved",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Resolved\")].status",
        description = "Whether the Secret has the requested content"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Resolved\")].reason",
        description = "The reason, in one word"
    ),
    printcolumn(
        name = "Lease until",
        type_ = "date",
        json_path = ".status.leaseExpires",
        description = "When its lease ends, unless it is renewed",
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "has(self.lease) != (has(self.data) && size(self.data) > 0)",
     "message": "set exactly one of data and lease"}
]))]
pub struct VaultSecretSpec {
    /// The VaultStore, in Capstan's namespace.
    #[schemars(length(min = 1, max = 253))]
    pub store: String,
    /// The Secret that is written.
    #[serde(default)]
    pub secret: TargetSecret,
    /// The value of each of its keys. A value that is not text is written as JSON.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 100))]
    pub data: BTreeMap<String, KvField>,
    /// A lease instead: every field of Vault's answer becomes a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<VaultLease>,
    /// How often Vault is asked for changes, and the Secret checked, in seconds.
    #[serde(default = "refresh")]
    #[schemars(range(min = 10, max = 86400))]
    pub refresh_seconds: i32,
}

/// The Secret that is written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetSecret {
    /// Its name. Default: that of the VaultSecret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub name: Option<String>,
    /// Its type. Default: Opaque.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), extend("x-kubernetes-validations" = [
        {"rule": "self != 'kubernetes.io/service-account-token'",
         "message": "Kubernetes fills a Secret of this type with a token for this cluster"}
    ]))]
    pub kind: Option<String>,
    /// Its labels besides capstan.dev/vault-secret; none of capstan.dev.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 50))]
    pub labels: BTreeMap<String, String>,
}

/// A field of a secret of the key-value engine, version 2.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KvField {
    /// Where the engine is mounted.
    #[schemars(length(min = 1, max = 253))]
    pub mount: String,
    /// The secret's path there, without data/.
    #[schemars(length(min = 1, max = 1024))]
    pub path: String,
    /// The field.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
    /// The version. Default: the newest, which arrives within refreshSeconds. A pinned one changes only with Git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub version: Option<i64>,
}

/// A lease.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VaultLease {
    /// What is requested, with its mount: database/creds/capi.
    #[schemars(length(min = 1, max = 1024))]
    pub path: String,
    /// GET, for credentials of databases, or POST, for certificates.
    #[serde(default)]
    pub method: Method,
    /// What is sent with POST.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub parameters: Map<String, Value>,
}

/// How a lease is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Method {
    /// As credentials of databases are.
    #[default]
    #[serde(rename = "GET")]
    Get,
    /// As certificates are.
    #[serde(rename = "POST")]
    Post,
}

const fn refresh() -> i32 {
    300
}

fn jwt() -> String {
    "jwt".to_owned()
}

fn kubernetes() -> String {
    "kubernetes".to_owned()
}

fn approle() -> String {
    "approle".to_owned()
}
