//! What a process remembers: logins by namespace and store, and when each VaultSecret is looked at next.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;

use super::logins::Group;
use crate::app::ports::{NoVaults, ServiceAccountTokens, Vault, VaultAddress, VaultError, Vaults};

/// A VaultSecret's namespace and name.
pub(super) type Key = (String, String);

/// Whose login it is: namespace and store.
pub(super) type GroupKey = (String, String);

/// Where a Vault is, and itself.
type Opened = (VaultAddress, Arc<dyn Vault>);
/// Of these one pass at a time.
type SharedGroup = Arc<tokio::sync::Mutex<Group>>;

/// Secrets out of Vault, and what this process remembers of them.
pub struct VaultSecrets {
    pub(super) vaults: Arc<dyn Vaults>,
    pub(super) tokens: Arc<dyn ServiceAccountTokens>,
    /// Capstan's own, where stores are.
    pub(super) namespace: String,
    /// Vaults that are ready to be asked, by store and address: whoever asks again has the same connections.
    opened: Mutex<BTreeMap<String, Opened>>,
    groups: Mutex<BTreeMap<GroupKey, SharedGroup>>,
    looks: Mutex<BTreeMap<Key, Look>>,
}

/// A VaultSecret as it stood when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) uid: String,
    pub(super) generation: i64,
    pub(super) is_deleting: bool,
}

/// When something is looked at next, as it stood when it was looked at last.
#[derive(Debug, Clone)]
struct Look {
    seen: Seen,
    next: Timestamp,
}

impl VaultSecrets {
    /// Asks these Vaults, with tokens of service accounts; stores are in that namespace.
    pub fn new(
        vaults: Arc<dyn Vaults>,
        tokens: Arc<dyn ServiceAccountTokens>,
        namespace: impl Into<String>,
    ) -> Self {
        let namespace = namespace.into();
        let (opened, groups, looks) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self { vaults, tokens, namespace, opened, groups, looks }
    }

    /// The Vault of a store, as it was opened for that address.
    pub(super) fn open(&self, store: &str, address: &VaultAddress) -> Result<Arc<dyn Vault>, VaultError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, vault)) = opened.get(store)
            && known == address
        {
            return Ok(Arc::clone(vault));
        }
        let vault = self.vaults.open(address)?;
        opened.insert(store.to_owned(), (address.clone(), Arc::clone(&vault)));
        Ok(vault)
    }

    /// The login of a namespace and store: one turn at a time.
    pub(super) fn group(&self, key: &GroupKey) -> Arc<tokio::sync::Mutex<Group>> {
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(groups.entry(key.clone()).or_default())
    }

    /// Whether something is to be looked at: its time has come, or it is not what was looked at.
    pub(super) fn is_due(&self, key: &Key, seen: &Seen, now: Timestamp) -> bool {
        let looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        looks.get(key).is_none_or(|look| look.seen != *seen || look.next <= now)
    }

    /// It was looked at.
    pub(super) fn looked(&self, key: &Key, seen: Seen, next: Timestamp) {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        looks.insert(key.clone(), Look { seen, next });
    }

    /// Forgets those that are there no more, and gives when the next of the others is due.
    pub(super) fn keep(&self, is_there: impl Fn(&Key) -> bool) -> Option<Timestamp> {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        looks.retain(|key, _| is_there(key));
        looks.values().map(|look| look.next).min()
    }
}

impl Default for VaultSecrets {
    fn default() -> Self {
        Self::new(Arc::new(NoVaults), Arc::new(NoVaults), "")
    }
}
