//! The logins of one namespace and store: one that serves, and earlier ones that leases still hang on; and those leases.

use std::collections::BTreeMap;

use capstan_reconciler_core::leases::LoginTimes;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone)]
pub(super) struct StoreLogin {
    pub(super) accessor: String,
    pub(super) token: SecretString,
    pub(super) times: LoginTimes,
    /// Of the store that it was made for.
    pub(super) print: String,
    /// It was made here with the namespace's own service account: so it may be kept in that namespace, and is ended here.
    pub(super) is_own: bool,
    /// It serves no new lease, and is ended when it has no lease left.
    pub(super) retires: bool,
}

/// A lease, as Capstan keeps it. A status shows it to people, and counts for no lease that is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptLease {
    /// The UID of the VaultSecret that it was taken for.
    pub(super) uid: String,
    /// The accessor of its login.
    pub(super) login: String,
    /// What was asked for.
    pub(super) path: String,
}

/// The logins of a namespace and store.
#[derive(Default)]
pub(super) struct LoginGroup {
    pub(super) current: Option<StoreLogin>,
    pub(super) retiring: Vec<StoreLogin>,
    /// By their ids in Vault.
    pub(super) leases: BTreeMap<String, KeptLease>,
    /// Whether the Secret of an earlier process was read.
    pub(super) is_read: bool,
    /// Whether the Secret holds them.
    pub(super) is_kept: bool,
    /// Whether a login retired since this was asked last: its leases are then due.
    pub(super) retired: bool,
}
