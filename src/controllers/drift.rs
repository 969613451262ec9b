//! Which cluster a live object belongs to, so that a change of one gives the other its turn.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use capstan_domain::cluster::ClusterId;
use capstan_domain::object::ObjectId;
use tokio::sync::watch;

use crate::app::ports::ApiKind;
use crate::app::reconcile::ports::FleetKey;

/// Live objects of all Fleets, and the kinds of them that are watched.
pub(super) struct Drift {
    index: Mutex<Index>,
    kinds: watch::Sender<BTreeSet<ApiKind>>,
}

#[derive(Default)]
struct Index {
    owners: BTreeMap<ObjectId, (FleetKey, ClusterId)>,
    objects: BTreeMap<(FleetKey, ClusterId), Vec<ObjectId>>,
    /// How many objects of a kind there are.
    kinds: BTreeMap<ApiKind, usize>,
}

impl Drift {
    pub(super) fn new() -> Self {
        Self { index: Mutex::default(), kinds: watch::Sender::new(BTreeSet::new()) }
    }

    /// The kinds that are worth watching, as they change.
    pub(super) fn kinds(&self) -> watch::Receiver<BTreeSet<ApiKind>> {
        self.kinds.subscribe()
    }

    /// Whose an object is.
    pub(super) fn owner(&self, object: &ObjectId) -> Option<(FleetKey, ClusterId)> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner).owners.get(object).cloned()
    }

    /// These are the objects of a cluster now.
    pub(super) fn set(&self, fleet: &FleetKey, cluster: &ClusterId, objects: Vec<ObjectId>) {
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (fleet.clone(), cluster.clone());
        if index.objects.get(&key) == Some(&objects) {
            return;
        }
        for object in index.objects.remove(&key).unwrap_or_default() {
            if index.owners.get(&object) == Some(&key) {
                index.owners.remove(&object);
            }
            let kind = ApiKind::preferred(&object.group, &object.kind);
            if let Some(count) = index.kinds.get_mut(&kind) {
                *count -= 1;
            }
        }
        for object in &objects {
            index.owners.insert(object.clone(), key.clone());
            *index.kinds.entry(ApiKind::preferred(&object.group, &object.kind)).or_default() += 1;
        }
        index.kinds.retain(|_, count| *count > 0);
        let kinds: BTreeSet<ApiKind> = index.kinds.keys().cloned().collect();
        if !objects.is_empty() {
            index.objects.insert(key, objects);
        }
        drop(index);
        self.kinds.send_if_modified(|watched| {
            let changed = *watched != kinds;
            *watched = kinds;
            changed
        });
    }
}

#[cfg(test)]
mod tests {
    use capstan_domain::tree::RepoPath;

    use super::*;

    fn object(kind: &str, name: &str) -> ObjectId {
        ObjectId { group: String::new(), kind: kind.into(), namespace: Some("org".into()), name: name.into() }
    }

    #[test]
    fn an_object_belongs_to_whoever_said_so_last() {
        let drift = Drift::new();
        let fleet = FleetKey { namespace: "capstan-system".into(), name: "fleet".into() };
        let id = |text| ClusterId::new(RepoPath::parse(text).unwrap());
        let kinds = drift.kinds();
        drift.set(&fleet, &id("a"), vec![object("ConfigMap", "one"), object("Secret", "two")]);
        // Moved from one folder to another: the new owner comes first, the old one lets go later.
        drift.set(&fleet, &id("b"), vec![object("ConfigMap", "one")]);
        drift.set(&fleet, &id("a"), vec![object("Secret", "two")]);
        assert_eq!(drift.owner(&object("ConfigMap", "one")), Some((fleet.clone(), id("b"))));
        assert_eq!(drift.owner(&object("Secret", "two")), Some((fleet.clone(), id("a"))));
        assert_eq!(kinds.borrow().len(), 2);
        drift.set(&fleet, &id("a"), vec![]);
        assert_eq!(drift.owner(&object("Secret", "two")), None);
        assert_eq!(kinds.borrow().iter().map(|kind| kind.kind.as_str()).collect::<Vec<_>>(), ["ConfigMap"]);
    }
}
