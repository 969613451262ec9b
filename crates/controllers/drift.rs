//! Maps a live object to its cluster, so that a change of one reconciles the other; and says what to watch
//! for that: kinds, and for each namespace the account that applies objects there.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use capstan_model::ids::ClusterId;
use capstan_model::object::ObjectId;
use tokio::sync::watch;

use capstan_ports::{ApiKind, ServiceAccount, Watched};
use capstan_reconciler::reconcile::ports::FleetKey;
use capstan_reconciler::reconcile::resources::ServiceAccountSpec;

/// Live objects of all Fleets, and where they are watched.
pub(super) struct Drift {
    index: Mutex<DriftIndex>,
    watched: watch::Sender<Watched>,
}

type DriftKey = (FleetKey, ClusterId);
/// A namespace, and who applies there; `None` for objects that have none.
type ApplierNamespace = Option<(String, ServiceAccount)>;

#[derive(Default)]
struct DriftIndex {
    owners: BTreeMap<ObjectId, DriftKey>,
    clusters: BTreeMap<DriftKey, AppliedCluster>,
    /// How many objects of a kind are applied in a place.
    counts: BTreeMap<ApiKind, BTreeMap<ApplierNamespace, usize>>,
}

/// What is applied for a cluster, and by which rule for the account.
#[derive(PartialEq)]
struct AppliedCluster {
    account: ServiceAccountSpec,
    objects: Vec<ObjectId>,
}

impl AppliedCluster {
    fn places(&self) -> impl Iterator<Item = (ApiKind, ApplierNamespace)> {
        self.objects.iter().map(|object| {
            let place =
                object.namespace.as_ref().map(|namespace| (namespace.clone(), self.account.of(namespace)));
            (ApiKind::preferred(&object.group, &object.kind), place)
        })
    }
}

impl Drift {
    pub(super) fn new() -> Self {
        Self { index: Mutex::default(), watched: watch::Sender::new(Watched::new()) }
    }

    /// What is worth watching, as it changes.
    pub(super) fn watched(&self) -> watch::Receiver<Watched> {
        self.watched.subscribe()
    }

    /// Whose an object is.
    pub(super) fn owner(&self, object: &ObjectId) -> Option<(FleetKey, ClusterId)> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner).owners.get(object).cloned()
    }

    /// These are the objects of a cluster now, applied as the account that the Fleet names.
    pub(super) fn set(
        &self,
        fleet: &FleetKey,
        cluster: &ClusterId,
        account: &ServiceAccountSpec,
        objects: Vec<ObjectId>,
    ) {
        let now = AppliedCluster { account: account.clone(), objects };
        self.replace((fleet.clone(), cluster.clone()), now);
    }

    /// The Fleet has these clusters and no others: nobody applies what others had.
    pub(super) fn keep(&self, fleet: &FleetKey, keeps: impl Fn(&ClusterId) -> bool) {
        let gone: Vec<(DriftKey, ServiceAccountSpec)> = {
            let index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
            let clusters = index.clusters.iter();
            clusters
                .filter(|((of, cluster), _)| of == fleet && !keeps(cluster))
                .map(|(key, applied)| (key.clone(), applied.account.clone()))
                .collect()
        };
        for (key, account) in gone {
            self.replace(key, AppliedCluster { account, objects: Vec::new() });
        }
    }

    fn replace(&self, key: DriftKey, now: AppliedCluster) {
        let mut guard = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let index = &mut *guard;
        if index.clusters.get(&key) == Some(&now) {
            return;
        }
        let before = index.clusters.remove(&key);
        for object in before.iter().flat_map(|before| &before.objects) {
            if index.owners.get(object) == Some(&key) {
                index.owners.remove(object);
            }
        }
        for object in &now.objects {
            index.owners.insert(object.clone(), key.clone());
        }
        // An entry before and after is never removed in between: its watch continues.
        let (mut appeared, mut gone) = (Vec::new(), Vec::new());
        for (kind, place) in now.places() {
            let count = index.counts.entry(kind.clone()).or_default().entry(place.clone()).or_default();
            *count += 1;
            if *count == 1 {
                appeared.push((kind, place));
            }
        }
        for (kind, place) in before.iter().flat_map(AppliedCluster::places) {
            let Some(places) = index.counts.get_mut(&kind) else { continue };
            let Some(count) = places.get_mut(&place) else { continue };
            *count -= 1;
            if *count == 0 {
                places.remove(&place);
                gone.push((kind, place));
            }
        }
        for (kind, _) in &gone {
            if index.counts.get(kind).is_some_and(BTreeMap::is_empty) {
                index.counts.remove(kind);
            }
        }
        if !now.objects.is_empty() {
            index.clusters.insert(key, now);
        }
        // Under the lock: the last message is the last state.
        if !appeared.is_empty() || !gone.is_empty() {
            self.watched.send_modify(|watched| {
                appeared.into_iter().for_each(|(kind, place)| add(watched, kind, place));
                gone.iter().for_each(|(kind, place)| remove(watched, kind, place.as_ref()));
                watched.retain(|kind, _| index.counts.contains_key(kind));
            });
        }
    }
}

fn add(watched: &mut Watched, kind: ApiKind, place: ApplierNamespace) {
    let places = watched.entry(kind).or_default();
    if let Some((namespace, account)) = place {
        places.entry(namespace).or_default().insert(account);
    }
}

fn remove(watched: &mut Watched, kind: &ApiKind, place: Option<&(String, ServiceAccount)>) {
    let Some((namespace, account)) = place else { return };
    let Some(places) = watched.get_mut(kind) else { return };
    if let Some(accounts) = places.get_mut(namespace) {
        accounts.remove(account);
        if accounts.is_empty() {
            places.remove(namespace);
        }
    }
}

#[cfg(test)]
mod tests {
    use capstan_model::tree::RepoPath;

    use super::*;

    fn object(kind: &str, namespace: &str, name: &str) -> ObjectId {
        ObjectId {
            group: String::new(),
            kind: kind.into(),
            namespace: (!namespace.is_empty()).then(|| namespace.into()),
            name: name.into(),
        }
    }

    fn fleet() -> FleetKey {
        FleetKey { namespace: "capstan-system".into(), name: "fleet".into() }
    }

    fn id(text: &str) -> ClusterId {
        ClusterId::new(RepoPath::parse(text).unwrap())
    }

    fn account(namespace: Option<&str>) -> ServiceAccountSpec {
        ServiceAccountSpec { name: "capstan-applier".into(), namespace: namespace.map(str::to_owned) }
    }

    /// `ConfigMap in org as capstan-applier of org`, in order.
    fn watched_lines(drift: &Drift) -> Vec<String> {
        let watched = drift.watched().borrow().clone();
        let mut told = Vec::new();
        for (kind, places) in watched {
            if places.is_empty() {
                told.push(kind.to_string());
            }
            for (namespace, accounts) in places {
                let accounts =
                    accounts.iter().map(|account| format!("{} of {}", account.name, account.namespace));
                let accounts: Vec<String> = accounts.collect();
                told.push(format!("{kind} in {namespace} as {}", accounts.join(", ")));
            }
        }
        told
    }

    #[test]
    fn an_object_belongs_to_the_folder_that_named_it_last() {
        let (drift, fleet, account) = (Drift::new(), fleet(), account(None));
        let (one, two) = (object("ConfigMap", "org", "one"), object("Secret", "org", "two"));
        drift.set(&fleet, &id("a"), &account, vec![one.clone(), two.clone()]);
        // Moved from one folder to another: the new owner comes first, the old one lets go later.
        drift.set(&fleet, &id("b"), &account, vec![one.clone()]);
        drift.set(&fleet, &id("a"), &account, vec![two.clone()]);
        assert_eq!(drift.owner(&one), Some((fleet.clone(), id("b"))));
        assert_eq!(drift.owner(&two), Some((fleet.clone(), id("a"))));
        assert_eq!(drift.watched().borrow().len(), 2);
        drift.set(&fleet, &id("a"), &account, vec![]);
        assert_eq!(drift.owner(&two), None);
        assert_eq!(watched_lines(&drift), ["ConfigMap in org as capstan-applier of org"]);
    }

    #[test]
    fn a_namespace_is_watched_as_long_as_something_is_applied_there() {
        let (drift, fleet) = (Drift::new(), fleet());
        let map = |namespace: &str, name: &str| object("ConfigMap", namespace, name);
        drift.set(&fleet, &id("a"), &account(None), vec![map("org", "a"), object("Namespace", "", "org")]);
        drift.set(&fleet, &id("b"), &account(None), vec![map("org", "b")]);
        drift.set(&fleet, &id("c"), &account(Some("all")), vec![map("else", "c")]);
        assert_eq!(
            watched_lines(&drift),
            [
                "ConfigMap in else as capstan-applier of all",
                "ConfigMap in org as capstan-applier of org",
                "Namespace"
            ]
        );
        drift.set(&fleet, &id("a"), &account(None), vec![]);
        assert_eq!(watched_lines(&drift).len(), 2);
        let unchanged = drift.watched();
        drift.set(&fleet, &id("b"), &account(None), vec![map("org", "b"), map("org", "more")]);
        assert!(!unchanged.has_changed().unwrap());
        // The Fleet names another account: the same objects, watched by that account.
        drift.set(&fleet, &id("b"), &account(Some("all")), vec![map("org", "b")]);
        assert_eq!(watched_lines(&drift)[1], "ConfigMap in org as capstan-applier of all");
        drift.keep(&fleet, |cluster| *cluster == id("c"));
        assert_eq!(watched_lines(&drift), ["ConfigMap in else as capstan-applier of all"]);
        assert_eq!(drift.owner(&map("org", "b")), None);
        drift.keep(&fleet, |_| false);
        assert_eq!(watched_lines(&drift), [""; 0]);
    }
}
