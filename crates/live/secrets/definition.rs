//! `VaultStore` and `VaultSecret`, parsed: what the definitions cannot say is checked here.
//!
//! The documentation and the bounds of what derives `JsonSchema` are those of the definitions that `k8s` prints.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::digest::sha256;
use capstan_model::glob::Glob;
use capstan_model::wording::with_plain_type;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The label of every Secret that is written for a VaultSecret, with its name.
pub const SECRET_LABEL: &str = "capstan.dev/vault-secret";

/// What a template of a role names.
const NAMESPACE: &str = "{namespace}";

/// One Vault, how to log in there, and who may.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
// The API server demands namespaces. An object that it never saw has none, and serves none.
#[schemars(extend("required" = ["auth", "namespaces", "url"]))]
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
    pub auth: StoreAuth,
    /// Which namespaces' VaultSecrets may use it: patterns over namespaces, for example org-*.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 100), inner(length(min = 1, max = 253)), extend("x-kubernetes-list-type" = "atomic"))]
    pub namespaces: Vec<String>,
}

/// How the reconciler logs in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "[has(self.jwt), has(self.kubernetes), has(self.appRole), has(self.token)].filter(is, is).size() == 1",
     "message": "set exactly one of jwt, kubernetes, appRole and token"}
]))]
pub enum StoreAuth {
    /// With a short-lived token of the service account of the VaultSecret's namespace. Vault checks its signature
    /// with a configured key. The namespace is in the token, so Vault's policy separates customers.
    Jwt {
        /// Where the method is mounted, below auth/.
        #[serde(default = "jwt")]
        #[schemars(length(min = 1, max = 253), regex(pattern = r"^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$"))]
        path: String,
        /// The role; {namespace} in it is the VaultSecret's namespace.
        #[schemars(length(min = 1, max = 253))]
        role: String,
        /// The audience of the token: one of the role's bound_audiences.
        #[schemars(length(min = 1, max = 253))]
        audience: String,
    },
    /// With such a token, which Vault shows to this API server (TokenReview).
    Kubernetes {
        /// Where the method is mounted, below auth/.
        #[serde(default = "kubernetes")]
        #[schemars(length(min = 1, max = 253), regex(pattern = r"^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$"))]
        path: String,
        /// The role; {namespace} in it is the VaultSecret's namespace.
        #[schemars(length(min = 1, max = 253))]
        role: String,
        /// The audience of the token, if the role requires one. Default: the API server.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(length(min = 1, max = 253))]
        audience: Option<String>,
    },
    /// With the keys roleId and secretId of a Secret beside this object: the same for every namespace that the store serves.
    AppRole {
        /// Where the method is mounted, below auth/.
        #[serde(default = "approle")]
        #[schemars(length(min = 1, max = 253), regex(pattern = r"^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$"))]
        path: String,
        /// The Secret with the keys roleId and secretId.
        #[schemars(length(min = 1, max = 253))]
        secret_name: String,
    },
    /// With the key token of a Secret beside this object: the same for every namespace that the store serves.
    Token {
        /// The Secret with the key token.
        #[schemars(length(min = 1, max = 253))]
        secret_name: String,
    },
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

impl StoreAuth {
    /// A role's name for a namespace.
    pub fn role_for(role: &str, namespace: &str) -> String {
        role.replace(NAMESPACE, namespace)
    }
}

/// Reads a spec; an error names its field.
fn read<T: DeserializeOwned>(spec: &Value) -> Result<T, String> {
    serde_path_to_error::deserialize(spec).map_err(|error| {
        let why = with_plain_type(&error.inner().to_string());
        let path = error.path().to_string();
        // Of the whole there is none.
        let field = if path == "." { "spec".to_owned() } else { format!("spec.{path}") };
        format!("{field} cannot be read: {why}")
    })
}

impl VaultStoreSpec {
    /// Reads `spec`.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn read(object: &Value) -> Result<Self, String> {
        let spec = object.get("spec").unwrap_or(&Value::Null);
        read(spec)
    }

    /// Whether VaultSecrets of a namespace may use it.
    pub fn serves(&self, namespace: &str) -> bool {
        // Of a list that is not read whole nothing counts: what is lacking may be an exclusion.
        let read: Result<Vec<Glob>, _> = self.namespaces.iter().map(|pattern| Glob::parse(pattern)).collect();
        read.is_ok_and(|patterns| Glob::grants(&patterns, namespace))
    }
}

/// The content of a Secret from Vault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    pub lease: Option<LeaseRequest>,
    /// How often Vault is asked for changes, and the Secret checked, in seconds.
    #[serde(default = "refresh")]
    #[schemars(with = "i32", range(min = 10, max = 86400))]
    pub refresh_seconds: u32,
}

const fn refresh() -> u32 {
    300
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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
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
    #[schemars(with = "Option<i64>", range(min = 1))]
    pub version: Option<u64>,
}

/// What is read at once: a secret in one version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KvRead {
    /// Where the engine is mounted.
    pub mount: String,
    /// The secret's path there.
    pub path: String,
    /// The version; the newest where `None`.
    pub version: Option<u64>,
}

impl std::fmt::Display for KvRead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.mount, self.path)?;
        match self.version {
            Some(version) => write!(f, " version {version}"),
            None => Ok(()),
        }
    }
}

impl KvField {
    /// The secret that it is a field of.
    pub fn read(&self) -> KvRead {
        KvRead { mount: self.mount.clone(), path: self.path.clone(), version: self.version }
    }
}

/// A lease.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeaseRequest {
    /// What is requested, with its mount: database/creds/capi.
    #[schemars(length(min = 1, max = 1024))]
    pub path: String,
    /// GET, for credentials of databases, or POST, for certificates.
    #[serde(default)]
    pub method: LeaseMethod,
    /// What is sent with POST.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub parameters: Map<String, Value>,
}

/// How a lease is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LeaseMethod {
    /// As credentials of databases are.
    #[default]
    #[serde(rename = "GET")]
    Get,
    /// As certificates are.
    #[serde(rename = "POST")]
    Post,
}

impl LeaseRequest {
    /// A digest of the request for a lease of that store, which is noted beside the lease. The same request always has
    /// the same digest: a lease with another one is revoked, and a new one is requested.
    pub fn print(&self, store: &str) -> String {
        let method = match self.method {
            LeaseMethod::Get => "Get",
            LeaseMethod::Post => "Post",
        };
        sha256(json!([store, self.path, method, self.parameters]).to_string())
    }
}

impl VaultSecretSpec {
    /// Reads `spec`.
    ///
    /// # Errors
    /// What cannot be read, or leads out of a mount.
    pub fn read(object: &Value) -> Result<Self, String> {
        let spec = object.get("spec").unwrap_or(&Value::Null);
        let spec: Self = read(spec)?;
        if spec.lease.is_some() != spec.data.is_empty() {
            return Err("set exactly one of `data` and `lease`".to_owned());
        }
        if let Some(own) = spec.secret.labels.keys().find(|key| is_capstans(key)) {
            return Err(format!("the label `{own}` is Capstan's own: give the Secret another one"));
        }
        let paths = spec.data.values().flat_map(|field| [&field.mount, &field.path]);
        for path in paths.chain(spec.lease.iter().map(|lease| &lease.path)) {
            check_path(path)?;
        }
        Ok(spec)
    }

    pub fn secret_name<'s>(&'s self, own: &'s str) -> &'s str {
        self.secret.name.as_deref().unwrap_or(own)
    }

    pub fn secret_type(&self) -> &str {
        self.secret.kind.as_deref().unwrap_or("Opaque")
    }

    /// What is read of the key-value engine, each once.
    pub fn reads(&self) -> BTreeSet<KvRead> {
        self.data.values().map(KvField::read).collect()
    }
}

fn is_capstans(label: &str) -> bool {
    let domain = label.split_once('/').map_or("", |(domain, _)| domain);
    domain == "capstan.dev" || domain.ends_with(".capstan.dev")
}

fn check_path(path: &str) -> Result<(), String> {
    let is_part = |part: &str| !matches!(part, "" | "." | "..") && !part.chars().any(char::is_control);
    if path.split('/').all(is_part) {
        Ok(())
    } else {
        Err(format!("`{path}` is not a path: separate its parts by single slashes, without `.` or `..`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(spec: &Value) -> Result<VaultSecretSpec, String> {
        VaultSecretSpec::read(&json!({"spec": spec}))
    }

    #[test]
    fn a_secret_is_read_once_for_all_its_fields() {
        let field = |key: &str, version: Option<u64>| json!({"mount": "kv", "path": "acme/fra1", "key": key, "version": version});
        let spec = secret(&json!({"store": "eu", "data": {
            "clouds.yaml": field("clouds", None), "ca": field("ca", None), "old": field("clouds", Some(3))}}))
        .unwrap();
        let reads: Vec<String> = spec.reads().iter().map(ToString::to_string).collect();
        assert_eq!(reads, ["kv/acme/fra1", "kv/acme/fra1 version 3"]);
        assert_eq!(
            (spec.secret_name("own"), spec.secret_type(), spec.refresh_seconds),
            ("own", "Opaque", 300)
        );
    }

    /// Old statuses hold these digests: with another digest every lease would be requested again.
    #[test]
    fn a_request_for_a_lease_has_the_same_digest_for_ever() {
        for (store, lease, digest) in [
            (
                // ["vault","database/creds/app","Get",{}]
                "vault",
                json!({"path": "database/creds/app"}),
                "1857a17b1f637620fbd4b66d050654e7a0ecc19151587c415d19f12f8ffbb1fe",
            ),
            (
                // ["org/vault","pki/issue/web","Post",{"common_name":"web.example","alt_names":"a,b"}]
                "org/vault",
                json!({"path": "pki/issue/web", "method": "POST",
                    "parameters": {"common_name": "web.example", "alt_names": "a,b"}}),
                "cb5a522bd65908df92974bc0d1ae0da4e6eeaecb52760965293b4848b0bf98c6",
            ),
        ] {
            let spec = secret(&json!({"store": store, "lease": lease})).unwrap();
            assert_eq!(spec.lease.unwrap().print(&spec.store), digest, "{store}");
        }
    }

    #[test]
    fn what_leads_out_of_a_mount_is_refused() {
        for path in ["../sys/raw", "a//b", "/a", "a/", ".", "a/./b", "a\nb", ""] {
            let kv = json!({"store": "eu", "data": {"k": {"mount": "kv", "path": path, "key": "k"}}});
            assert!(secret(&kv).is_err(), "{path}");
            assert!(secret(&json!({"store": "eu", "lease": {"path": path}})).is_err(), "{path}");
        }
        let labelled = |label: &str| {
            secret(&json!({"store": "eu", "lease": {"path": "a"}, "secret": {"labels": {label: "b"}}}))
        };
        assert!(labelled("capstan.dev/vault-secret").is_err() && labelled("a.capstan.dev/b").is_err());
        assert!(labelled("example.com/capstan.dev").is_ok());
        assert!(secret(&json!({"store": "eu"})).unwrap_err().contains("exactly one of `data` and `lease`"));
    }

    #[test]
    fn a_store_serves_the_namespaces_that_it_names() {
        let store = VaultStoreSpec::read(&json!({"spec": {
            "url": "https://vault.example.com:8200", "namespaces": ["org-*", "infra"],
            "auth": {"jwt": {"path": "jwt", "role": "capstan-{namespace}", "audience": "vault"}}}}))
        .unwrap();
        let StoreAuth::Jwt { role, .. } = &store.auth else { panic!("{:?}", store.auth) };
        assert_eq!(StoreAuth::role_for(role, "org-acme"), "capstan-org-acme");
        for (namespace, serves) in
            [("org-acme", true), ("infra", true), ("infra2", false), ("my-org-acme", false)]
        {
            assert_eq!(store.serves(namespace), serves, "{namespace}");
        }
        let serves = |patterns: &[&str], namespace: &str| {
            let namespaces = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
            VaultStoreSpec { namespaces, ..store.clone() }.serves(namespace)
        };
        assert!(serves(&["org-*", "!org-beta"], "org-acme"));
        assert!(!serves(&["org-*", "!org-beta"], "org-beta"));
        assert!(!serves(&["org-*", "!org-beta"], "infra"), "an exclusion opens nothing");
        assert!(!serves(&["!org-beta"], "org-acme"));
        assert!(!serves(&["org-*", "!org-[beta"], "org-acme"), "one that cannot be read may be an exclusion");
        let token =
            VaultStoreSpec::read(&json!({"spec": {"url": "u", "auth": {"token": {"secretName": "t"}}}}))
                .unwrap();
        assert_eq!(token.auth, StoreAuth::Token { secret_name: "t".to_owned() });
        assert!(!token.serves("org-acme"), "whom nobody named is served by none");
    }
}
