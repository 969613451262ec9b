//! What VaultSecrets are known by.

use capstan_ports::ApiKind;

pub(super) const API_VERSION: &str = "capstan.dev/v1alpha1";
pub(super) const KIND: &str = "VaultSecret";

/// The kind, as it is listed.
pub(super) fn kind() -> ApiKind {
    ApiKind::of_version(API_VERSION, KIND)
}

/// A VaultSecret's namespace and name.
pub(super) type Key = (String, String);

/// Whose login it is: a namespace's service account, at a store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupKey {
    pub(super) store: String,
    pub(super) namespace: String,
    /// The name of the service account there.
    pub(super) account: String,
}

/// A VaultSecret as it stood when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) uid: String,
    pub(super) generation: i64,
    pub(super) is_deleting: bool,
}
