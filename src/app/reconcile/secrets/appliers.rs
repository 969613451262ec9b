//! With whose rights a VaultSecret is read and written, and who logs in for it: the service account of the Fleet that
//! applies it.
//!
//! Where Fleets of one management cluster name different accounts, the one whose folder brought a VaultSecret says which; of
//! one that no folder brought, the one that applies in its namespace; else the first by name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::memory::{GroupKey, Key, VaultSecrets};
use super::subject::{Subject, kind};
use crate::app::ports::{As, LiveError, ServiceAccount};
use crate::app::reconcile::dependencies::Ports;
use crate::app::reconcile::ports::{FleetKey, FleetRecord};
use crate::app::reconcile::resources::ServiceAccountSpec;

/// How long it is believed which Fleet a VaultSecret is of.
const FRESH: SignedDuration = SignedDuration::from_secs(60);

/// With whose rights a namespace is read and written, and who logs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Accounts {
    pub(super) by: As,
    pub(super) account: ServiceAccount,
}

impl Accounts {
    /// Those of a Fleet, in a namespace.
    pub(super) fn of(spec: &ServiceAccountSpec, namespace: &str) -> Self {
        Self {
            by: As::Impersonated(spec.of(namespace)),
            account: ServiceAccount { namespace: namespace.to_owned(), name: spec.name.clone() },
        }
    }

    /// Whose login it is at a store.
    pub(super) fn group(&self, store: &str) -> GroupKey {
        let ServiceAccount { namespace, name } = self.account.clone();
        GroupKey { store: store.to_owned(), namespace, account: name }
    }
}

/// Which Fleet says the account.
pub(super) struct Appliers {
    /// What Fleets say, by name.
    said: Vec<(FleetKey, ServiceAccountSpec)>,
    brought: BTreeMap<Key, ServiceAccountSpec>,
    in_namespaces: BTreeMap<String, ServiceAccountSpec>,
    /// Of which VaultSecrets it was looked, by UID.
    known: BTreeSet<String>,
    read: Timestamp,
}

impl VaultSecrets {
    /// Which Fleet says the account of these VaultSecrets.
    pub(super) async fn appliers(
        &self,
        ports: &Ports,
        subjects: &[Subject],
        now: Timestamp,
    ) -> Result<Arc<Appliers>, LiveError> {
        let mut fleets = ports.status_store.fleets().await?;
        fleets.sort_by(|one, other| one.key.cmp(&other.key));
        let said: Vec<_> =
            fleets.iter().map(|fleet| (fleet.key.clone(), fleet.spec.service_account.clone())).collect();
        let known: BTreeSet<String> = subjects.iter().map(|subject| subject.uid.clone()).collect();
        let mut kept = self.appliers.lock().await;
        // A new one may be any Fleet's: what it was before that is written down is not believed.
        let serves = |kept: &Appliers| {
            kept.said == said
                && (kept.is_one() || kept.known.is_superset(&known) && now.duration_since(kept.read) < FRESH)
        };
        if let Some(kept) = kept.as_ref().filter(|kept| serves(kept)) {
            return Ok(Arc::clone(kept));
        }
        let (brought, in_namespaces) = (BTreeMap::new(), BTreeMap::new());
        let mut read = Appliers { said, brought, in_namespaces, known, read: now };
        if !read.is_one() {
            read.ask(ports, &fleets).await?;
        }
        let read = Arc::new(read);
        *kept = Some(Arc::clone(&read));
        Ok(read)
    }
}

impl Appliers {
    /// Whether all Fleets say the same.
    fn is_one(&self) -> bool {
        let mut accounts = self.said.iter().map(|(_, account)| account);
        let first = accounts.next();
        accounts.all(|account| Some(account) == first)
    }

    /// An object is written down before it is applied: so whoever brought one is known as soon as it is there.
    async fn ask(&mut self, ports: &Ports, fleets: &[FleetRecord]) -> Result<(), LiveError> {
        let is_secret = kind();
        for fleet in fleets {
            let account = &fleet.spec.service_account;
            for record in ports.status_store.clusters(&fleet.key).await? {
                for object in record.status.inventory.objects() {
                    let Some(namespace) = object.namespace.clone() else { continue };
                    if object.group == is_secret.group && object.kind == is_secret.kind {
                        let key = (namespace.clone(), object.name.clone());
                        self.brought.entry(key).or_insert_with(|| account.clone());
                    }
                    self.in_namespaces.entry(namespace).or_insert_with(|| account.clone());
                }
            }
        }
        Ok(())
    }

    /// Who acts for a VaultSecret; `None` where there is no Fleet, or it was not there when it was looked. One that goes does so as the account that Fleets have
    /// where they say none.
    pub(super) fn of(&self, subject: &Subject) -> Option<Accounts> {
        if !self.is_one() && !self.known.contains(&subject.uid) {
            return None;
        }
        let namespace = &subject.key.0;
        let first = || self.said.first().map(|(_, account)| account);
        let said =
            self.brought.get(&subject.key).or_else(|| self.in_namespaces.get(namespace)).or_else(first);
        let nobodys =
            ServiceAccountSpec { name: ServiceAccountSpec::DEFAULT_NAME.to_owned(), namespace: None };
        let said = said.or(subject.is_deleting.then_some(&nobodys));
        said.map(|account| Accounts::of(account, namespace))
    }
}
