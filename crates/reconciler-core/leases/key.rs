//! What VaultSecrets are known by.

use capstan_ports::ApiKind;

/// Their API version.
pub const API_VERSION: &str = "capstan.dev/v1alpha1";
/// Their kind.
pub const KIND: &str = "VaultSecret";

/// The kind, as it is listed.
pub fn kind() -> ApiKind {
    ApiKind::of_version(API_VERSION, KIND)
}

/// A VaultSecret's namespace and name.
pub type VaultSecretKey = (String, String);

/// Whose login it is: a namespace's service account, at a store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupKey {
    /// The VaultStore.
    pub store: String,
    pub namespace: String,
    /// The name of the service account there.
    pub account: String,
}

/// A VaultSecret, as its last turn saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenVaultSecret {
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// Whether it was being deleted.
    pub is_deleting: bool,
}
