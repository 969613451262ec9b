//! What a process remembers: logins by namespace and store, when each VaultSecret is due next, and what it wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use capstan_live::secrets::SECRET_LABEL;
use capstan_reconciler_core::leases::{Appliers, GroupKey, SeenVaultSecret, VaultSecretKey, kind};
use jiff::Timestamp;
use tokio::sync::Semaphore;

use super::logins::LoginGroup;
use super::patience::{PATIENCE, Patient};
use capstan_ports::{
    ApiKind, LiveChange, NoVaults, ObjectChange, Post, ServiceAccountTokens, VaultAddress, VaultError, Vaults,
};

/// Calls of all Vaults that are under way at a time.
const CALLS_OF_ALL: usize = 64;

/// Where a Vault is, and itself.
type OpenedVault = (VaultAddress, Arc<Patient>);
/// Of these one pass at a time.
type SharedGroup = Arc<tokio::sync::Mutex<LoginGroup>>;

/// Secrets out of Vault, and what this process remembers of them.
pub struct VaultSecrets {
    pub(super) vaults: Arc<dyn Vaults>,
    pub(super) tokens: Arc<dyn ServiceAccountTokens>,
    /// Capstan's own, where stores are.
    pub(super) namespace: String,
    calls: Arc<Semaphore>,
    patience: Duration,
    /// Vaults that are ready to be asked, by store and address: later requests use the same connections.
    opened: Mutex<BTreeMap<String, OpenedVault>>,
    groups: Mutex<BTreeMap<GroupKey, SharedGroup>>,
    looks: Mutex<Looks>,
    pub(super) appliers: tokio::sync::Mutex<Option<Arc<Appliers>>>,
}

/// When a VaultSecret is due next, and what was seen of it last.
#[derive(Debug, Clone)]
struct ScheduledLook {
    seen: SeenVaultSecret,
    next: Timestamp,
}

#[derive(Default)]
struct Looks {
    /// By store and VaultSecret. One that left a store is due there, too, until nothing of it is left there.
    of_stores: BTreeMap<(String, VaultSecretKey), ScheduledLook>,
    /// The resource version of each VaultSecret that is known.
    versions: BTreeMap<VaultSecretKey, String>,
    /// Whose a Secret is, and its resource version, by namespace and name.
    secrets: BTreeMap<VaultSecretKey, (VaultSecretKey, String)>,
    /// VaultSecrets of whose Secret there was news since their turn began.
    news: BTreeSet<VaultSecretKey>,
}

impl VaultSecrets {
    /// Asks these Vaults, with tokens of service accounts; stores are in that namespace.
    pub fn new(
        vaults: Arc<dyn Vaults>,
        tokens: Arc<dyn ServiceAccountTokens>,
        namespace: impl Into<String>,
    ) -> Self {
        Self {
            vaults,
            tokens,
            namespace: namespace.into(),
            calls: Arc::new(Semaphore::new(CALLS_OF_ALL)),
            patience: PATIENCE,
            opened: Mutex::default(),
            groups: Mutex::default(),
            looks: Mutex::default(),
            appliers: tokio::sync::Mutex::default(),
        }
    }

    /// The same, with other patience for a Vault that does not answer: so long a call may take.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// VaultSecrets, wherever they are, as they are watched.
    pub fn post() -> Post {
        Post { kind: kind(), namespace: None, name: None, labels: None }
    }

    /// The Secrets of a namespace that were written for VaultSecrets, as they are watched.
    pub fn secret_post(namespace: &str) -> Post {
        Post {
            kind: ApiKind::of_version("v1", "Secret"),
            namespace: Some(namespace.to_owned()),
            name: None,
            labels: Some(SECRET_LABEL.to_owned()),
        }
    }

    /// The Vault of a store, as it was opened for that address.
    pub(super) fn open(&self, store: &str, address: &VaultAddress) -> Result<Arc<Patient>, VaultError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, vault)) = opened.get(store)
            && known == address
        {
            return Ok(Arc::clone(vault));
        }
        let vault = self.vaults.open(address)?;
        let vault = Arc::new(Patient::new(vault, store, Arc::clone(&self.calls), self.patience));
        opened.insert(store.to_owned(), (address.clone(), Arc::clone(&vault)));
        Ok(vault)
    }

    /// The login of a namespace and store: one turn at a time.
    pub(super) fn group(&self, key: &GroupKey) -> SharedGroup {
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(groups.entry(key.clone()).or_default())
    }

    fn looks(&self) -> MutexGuard<'_, Looks> {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a VaultSecret is due for a store: its time has come, or it changed since its last turn.
    pub(super) fn is_due(
        &self,
        store: &str,
        key: &VaultSecretKey,
        seen: &SeenVaultSecret,
        now: Timestamp,
    ) -> bool {
        let looks = self.looks();
        let look = looks.of_stores.get(&(store.to_owned(), key.clone()));
        look.is_none_or(|look| look.seen != *seen || look.next <= now)
    }

    /// Its turn begins: it may miss changes that are reported from now on.
    pub(super) fn begins(&self, key: &VaultSecretKey) {
        self.looks().news.remove(key);
    }

    /// Notes that a VaultSecret had its turn for a store.
    pub(super) fn looked(
        &self,
        store: &str,
        key: &VaultSecretKey,
        (seen, version): (SeenVaultSecret, &str),
        next: Timestamp,
    ) {
        let mut looks = self.looks();
        let next = if looks.news.contains(key) { Timestamp::MIN } else { next };
        looks.of_stores.insert((store.to_owned(), key.clone()), ScheduledLook { seen, next });
        looks.versions.insert(key.clone(), version.to_owned());
    }

    /// Something of it is left at a store: that is due there.
    pub(super) fn expects(&self, store: &str, key: &VaultSecretKey, seen: SeenVaultSecret) {
        let at = (store.to_owned(), key.clone());
        self.looks().of_stores.entry(at).or_insert(ScheduledLook { seen, next: Timestamp::MIN });
    }

    /// The Secret of a VaultSecret is there in that version, as far as is known.
    pub(super) fn knows_secret(&self, owner: &VaultSecretKey, name: &str, version: &str) {
        let at = (owner.0.clone(), name.to_owned());
        self.looks().secrets.insert(at, (owner.clone(), version.to_owned()));
    }

    /// Forgets those that no longer belong to a store.
    pub(super) fn keep(&self, there: &BTreeSet<(String, VaultSecretKey)>) {
        let mut looks = self.looks();
        looks.of_stores.retain(|at, _| there.contains(at));
        let keys: BTreeSet<&VaultSecretKey> = there.iter().map(|(_, key)| key).collect();
        looks.versions.retain(|key, _| keys.contains(key));
        looks.secrets.retain(|_, (owner, _)| keys.contains(owner));
        looks.news.retain(|key| keys.contains(key));
    }

    /// When the next of them is due, but for these stores'.
    pub fn next(&self, but: &BTreeSet<String>) -> Option<Timestamp> {
        let looks = self.looks();
        let others = looks.of_stores.iter().filter(|((store, _), _)| !but.contains(store));
        others.map(|(_, look)| look.next).min()
    }

    /// Whether a change is news: of a VaultSecret that differs from what its turn saw, or of a Secret that differs from
    /// what was written. The VaultSecret of such a Secret is due.
    pub fn hears(&self, change: &LiveChange) -> bool {
        let is = |kind: &ApiKind| kind.group == change.object.group && kind.kind == change.object.kind;
        let namespace = change.object.namespace.clone().unwrap_or_default();
        let key = (namespace, change.object.name.clone());
        let mut looks = self.looks();
        if is(&kind()) {
            let is_known = looks.versions.get(&key) == Some(&change.resource_version);
            return matches!(change.change, ObjectChange::Added | ObjectChange::Spec) && !is_known;
        }
        let Some((owner, version)) = looks.secrets.get(&key).cloned() else { return false };
        if change.change != ObjectChange::Deleted && version == change.resource_version {
            return false;
        }
        for (_, look) in looks.of_stores.iter_mut().filter(|((_, key), _)| *key == owner) {
            look.next = Timestamp::MIN;
        }
        looks.news.insert(owner);
        true
    }
}

impl Default for VaultSecrets {
    fn default() -> Self {
        Self::new(Arc::new(NoVaults), Arc::new(NoVaults), "")
    }
}
