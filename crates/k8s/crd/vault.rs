//! `VaultStore` and `VaultSecret`: where secrets are, and which of them a Secret holds.
//!
//! `capstan_live::secrets` reads what the API server has taken by these. A `VaultStore` has a form of its own there: a
//! structural schema cannot say "exactly one of these" by its types, which a store's login is there.

use capstan_live::secrets as definition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
#[serde(transparent)]
pub struct VaultSecretSpec(pub definition::VaultSecretSpec);

fn jwt() -> String {
    "jwt".to_owned()
}

fn kubernetes() -> String {
    "kubernetes".to_owned()
}

fn approle() -> String {
    "approle".to_owned()
}
