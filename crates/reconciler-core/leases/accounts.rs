//! With whose rights a VaultSecret is read and written, and who logs in for it: the service account of the Fleet that
//! applies it.
//!
//! Where Fleets of one management cluster name different accounts, the one whose folder brought a VaultSecret says which; of
//! one that no folder brought, the one that applies in its namespace; else the first by name.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::key::{GroupKey, VaultSecretKey, kind};
use crate::records::{ClusterRecord, FleetKey, FleetRecord};
use crate::resources::ServiceAccountSpec;
use capstan_ports::{As, ServiceAccount};

/// With whose rights a namespace is read and written, and who logs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accounts {
    /// With whose rights it is read and written.
    pub by: As,
    /// Who logs in.
    pub account: ServiceAccount,
}

impl Accounts {
    /// Those of a Fleet, in a namespace.
    pub fn of(spec: &ServiceAccountSpec, namespace: &str) -> Self {
        Self {
            by: As::Impersonated(spec.of(namespace)),
            account: ServiceAccount { namespace: namespace.to_owned(), name: spec.name.clone() },
        }
    }

    /// Whose login it is at a store.
    pub fn group(&self, store: &str) -> GroupKey {
        let ServiceAccount { namespace, name } = self.account.clone();
        GroupKey { store: store.to_owned(), namespace, account: name }
    }
}

/// Which Fleet says the account.
pub struct Appliers {
    /// What Fleets say, by name.
    pub said: Vec<(FleetKey, ServiceAccountSpec)>,
    /// Of the Fleet whose folder brought a VaultSecret.
    pub brought: BTreeMap<VaultSecretKey, ServiceAccountSpec>,
    /// Of the Fleet that applies in a namespace.
    pub in_namespaces: BTreeMap<String, ServiceAccountSpec>,
    /// Of which VaultSecrets it was looked, by UID.
    pub known: BTreeSet<String>,
    /// When that was found out.
    pub read: Timestamp,
}

impl Appliers {
    /// Whether all Fleets say the same.
    pub fn is_one(&self) -> bool {
        let mut accounts = self.said.iter().map(|(_, account)| account);
        let first = accounts.next();
        accounts.all(|account| Some(account) == first)
    }

    /// Takes up what the clusters of a Fleet have. An object is written down before it is applied, so the Fleet that
    /// brought it is known as soon as it exists.
    pub fn note(&mut self, fleet: &FleetRecord, clusters: &[ClusterRecord]) {
        let is_secret = kind();
        let account = &fleet.spec.service_account;
        for object in clusters.iter().flat_map(|record| record.status.inventory.objects()) {
            let Some(namespace) = object.namespace.clone() else { continue };
            if object.group == is_secret.group && object.kind == is_secret.kind {
                let key = (namespace.clone(), object.name.clone());
                self.brought.entry(key).or_insert_with(|| account.clone());
            }
            self.in_namespaces.entry(namespace).or_insert_with(|| account.clone());
        }
    }

    /// Who acts for a VaultSecret; `None` where there is no Fleet, or where Fleets name several accounts and it did not
    /// exist at the last look. Without a Fleet, one that is being deleted acts as the default account.
    pub fn of(&self, (key, uid): (&VaultSecretKey, &str), is_deleting: bool) -> Option<Accounts> {
        if !self.is_one() && !self.known.contains(uid) {
            return None;
        }
        let namespace = &key.0;
        let first = || self.said.first().map(|(_, account)| account);
        let said = self.brought.get(key).or_else(|| self.in_namespaces.get(namespace)).or_else(first);
        let nobodys =
            ServiceAccountSpec { name: ServiceAccountSpec::DEFAULT_NAME.to_owned(), namespace: None };
        let said = said.or(is_deleting.then_some(&nobodys));
        said.map(|account| Accounts::of(account, namespace))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(name: &str) -> ServiceAccountSpec {
        ServiceAccountSpec { name: name.to_owned(), namespace: None }
    }

    fn fleet(name: &str) -> FleetKey {
        FleetKey { namespace: "capstan-system".to_owned(), name: name.to_owned() }
    }

    fn appliers(said: &[(&str, &str)]) -> Appliers {
        Appliers {
            said: said.iter().map(|(name, account)| (fleet(name), says(account))).collect(),
            brought: BTreeMap::new(),
            in_namespaces: BTreeMap::new(),
            known: BTreeSet::from(["u1".to_owned()]),
            read: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn the_fleet_that_brought_a_secret_acts_for_it_then_the_one_of_its_namespace_then_the_first() {
        let one = || appliers(&[("a", "first")]);
        let two = || appliers(&[("a", "first"), ("b", "second")]);
        let key: VaultSecretKey = ("shop".to_owned(), "db".to_owned());
        let brought = || BTreeMap::from([(key.clone(), says("bringer"))]);
        let in_namespaces = || BTreeMap::from([("shop".to_owned(), says("neighbour"))]);
        for (appliers, uid, is_deleting, expected) in [
            (one(), "u1", false, Some("first")),
            (one(), "u9", false, Some("first")),
            (two(), "u1", false, Some("first")),
            // It was not there when it was looked whose it is.
            (two(), "u9", false, None),
            (Appliers { brought: brought(), ..two() }, "u1", false, Some("bringer")),
            (Appliers { in_namespaces: in_namespaces(), ..two() }, "u1", false, Some("neighbour")),
            (
                Appliers { brought: brought(), in_namespaces: in_namespaces(), ..two() },
                "u1",
                false,
                Some("bringer"),
            ),
            (appliers(&[]), "u1", false, None),
            (appliers(&[]), "u1", true, Some("capstan-applier")),
        ] {
            let accounts = appliers.of((&key, uid), is_deleting);
            let name = accounts.as_ref().map(|accounts| accounts.account.name.as_str());
            assert_eq!(name, expected, "{uid} {is_deleting}");
            // The account is always of the namespace itself.
            assert!(accounts.is_none_or(|accounts| accounts.account.namespace == "shop"));
        }
    }
}
