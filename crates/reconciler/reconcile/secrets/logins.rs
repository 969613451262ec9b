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
    /// It serves no new lease, and is ended when nothing hangs on it.
    pub(super) retires: bool,
}

/// A lease, as Capstan keeps it: a status tells people of it, and is believed of no other one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptLease {
    /// The UID of the VaultSecret that it was taken for.
    pub(super) uid: String,
    /// The accessor of the login that it hangs on.
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
    /// Whether it was looked what an earlier process kept.
    pub(super) is_read: bool,
    /// Whether they stand in the Secret.
    pub(super) is_kept: bool,
    /// Whether one retired since this was asked last: what hangs on it is to be looked at.
    pub(super) retired: bool,
}
