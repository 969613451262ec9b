//! What a process remembers: logins by namespace and store, and when each VaultSecret is looked at next.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;

use super::group::Group;
use super::subject::{Key, Subject};
use crate::app::ports::{NoVaults, ServiceAccountTokens, Vaults};

/// Whose login it is: namespace and store.
pub(super) type GroupKey = (String, String);

/// Secrets out of Vault, and what this process remembers of them.
pub struct VaultSecrets {
    pub(super) vaults: Arc<dyn Vaults>,
    pub(super) tokens: Arc<dyn ServiceAccountTokens>,
    /// Capstan's own, where stores are.
    pub(super) namespace: String,
    groups: Mutex<BTreeMap<GroupKey, Arc<tokio::sync::Mutex<Group>>>>,
    looks: Mutex<BTreeMap<Key, Look>>,
}

/// When something is looked at next, as it stood when it was looked at last.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Look {
    uid: String,
    generation: i64,
    is_deleting: bool,
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
        Self { vaults, tokens, namespace, groups: Mutex::default(), looks: Mutex::default() }
    }

    /// The login of a namespace and store: one turn at a time.
    pub(super) fn group(&self, key: &GroupKey) -> Arc<tokio::sync::Mutex<Group>> {
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(groups.entry(key.clone()).or_default())
    }

    /// Whether something is to be looked at: its time has come, or it is not what was looked at.
    pub(super) fn is_due(&self, subject: &Subject, now: Timestamp) -> bool {
        let looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        looks.get(&subject.key).is_none_or(|look| {
            let is_it = look.uid == subject.uid
                && look.generation == subject.generation
                && look.is_deleting == subject.is_deleting;
            !is_it || look.next <= now
        })
    }

    /// It was looked at.
    pub(super) fn looked(&self, subject: &Subject, next: Timestamp) {
        let look = Look {
            uid: subject.uid.clone(),
            generation: subject.generation,
            is_deleting: subject.is_deleting,
            next,
        };
        self.looks.lock().unwrap_or_else(PoisonError::into_inner).insert(subject.key.clone(), look);
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
