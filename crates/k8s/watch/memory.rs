//! What is remembered of each watched object, so that a change tells what changed.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use capstan_model::object::ObjectId;
use serde_json::Value;

use capstan_ports::{ApiKind, LiveChange, ObjectChange};

type Name = (Option<String>, String);

/// Two numbers an object: enough to see that, and what, changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ObjectVersion {
    wish: u64,
    version: u64,
}

/// What a list tells of one object: a small part of what the object takes.
#[derive(Debug)]
pub(super) struct ListedObject {
    name: Name,
    seen: ObjectVersion,
    version: String,
}

impl ListedObject {
    /// Of an object of a list; `None` where it has no name.
    pub(super) fn of(object: &Value) -> Option<Self> {
        Some(Self { name: name_of(object)?, seen: seen(object), version: version_of(object).to_owned() })
    }
}

/// The objects of one kind.
pub(super) struct WatchMemory {
    group: String,
    kind: String,
    seen: HashMap<Name, ObjectVersion>,
    /// Whether it was ever filled: the first filling tells nothing.
    filled: bool,
}

impl WatchMemory {
    pub(super) fn new(kind: &ApiKind) -> Self {
        Self { group: kind.group.clone(), kind: kind.kind.clone(), seen: HashMap::new(), filled: false }
    }

    /// Takes in a whole list; tells what changed since.
    pub(super) fn compare(&mut self, found: Vec<ListedObject>) -> Vec<LiveChange> {
        let before = std::mem::take(&mut self.seen);
        let mut changes = Vec::new();
        for ListedObject { name, seen: now, version } in found {
            let change = match before.get(&name) {
                None => Some(ObjectChange::Added),
                Some(then) if then.wish != now.wish => Some(ObjectChange::Spec),
                Some(then) if then.version != now.version => Some(ObjectChange::Status),
                Some(_) => None,
            };
            changes.extend(change.map(|change| self.change(&name, change, version)));
            self.seen.insert(name, now);
        }
        let gone = before.keys().filter(|name| !self.seen.contains_key(*name));
        changes.extend(gone.map(|name| self.change(name, ObjectChange::Deleted, String::new())));
        if std::mem::replace(&mut self.filled, true) { changes } else { Vec::new() }
    }

    /// Takes in one object that is new or was written.
    pub(super) fn see(&mut self, object: &Value) -> Option<LiveChange> {
        let name = name_of(object)?;
        let now = seen(object);
        let change = match self.seen.insert(name.clone(), now) {
            None => ObjectChange::Added,
            Some(then) if then.wish != now.wish => ObjectChange::Spec,
            Some(then) if then.version != now.version => ObjectChange::Status,
            Some(_) => return None,
        };
        Some(self.change(&name, change, version_of(object).to_owned()))
    }

    /// One object is gone.
    pub(super) fn forget(&mut self, object: &Value) -> Option<LiveChange> {
        let name = name_of(object)?;
        self.seen.remove(&name)?;
        Some(self.change(&name, ObjectChange::Deleted, version_of(object).to_owned()))
    }

    fn change(&self, (namespace, name): &Name, change: ObjectChange, resource_version: String) -> LiveChange {
        let object = ObjectId {
            group: self.group.clone(),
            kind: self.kind.clone(),
            namespace: namespace.clone(),
            name: name.clone(),
        };
        LiveChange { object, change, resource_version }
    }
}

fn version_of(object: &Value) -> &str {
    object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default()
}

fn name_of(object: &Value) -> Option<Name> {
    let metadata = object.get("metadata")?;
    let text = |key: &str| metadata.get(key).and_then(Value::as_str).map(str::to_owned);
    Some((text("namespace"), text("name")?))
}

fn seen(object: &Value) -> ObjectVersion {
    let metadata = object.get("metadata").unwrap_or(&Value::Null);
    let version = version_of(object);
    let digest = |parts: &[&str]| {
        let mut hasher = DefaultHasher::new();
        for part in parts {
            part.hash(&mut hasher);
        }
        hasher.finish()
    };
    let mut wish: Vec<String> =
        ["uid", "generation", "deletionTimestamp", "labels", "annotations", "ownerReferences", "finalizers"]
            .iter()
            .map(|key| metadata.get(key).map_or_else(String::new, Value::to_string))
            .collect();
    if metadata.get("generation").is_none() {
        wish.push(version.to_owned());
    }
    let wish: Vec<&str> = wish.iter().map(String::as_str).collect();
    ObjectVersion { wish: digest(&wish), version: digest(&[version]) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(name: &str, version: &str, generation: i64) -> Value {
        json!({"metadata": {"name": name, "namespace": "org", "uid": "u", "resourceVersion": version,
            "generation": generation}})
    }

    fn listed<const N: usize>(objects: [Value; N]) -> Vec<ListedObject> {
        objects.iter().filter_map(ListedObject::of).collect()
    }

    fn changes(changes: &[LiveChange]) -> Vec<(String, ObjectChange)> {
        changes.iter().map(|change| (change.object.name.clone(), change.change)).collect()
    }

    #[test]
    fn a_change_of_the_spec_differs_from_one_of_the_status() {
        let mut memory = WatchMemory::new(&ApiKind::preferred("cluster.x-k8s.io", "MachineDeployment"));
        assert_eq!(memory.compare(listed([object("a", "1", 1), object("b", "2", 1)])), []);
        assert_eq!(memory.see(&object("a", "3", 1)).unwrap().change, ObjectChange::Status);
        assert_eq!(memory.see(&object("a", "4", 2)).unwrap().change, ObjectChange::Spec);
        assert_eq!(memory.see(&object("a", "4", 2)), None);
        assert_eq!(memory.see(&object("c", "5", 1)).unwrap().change, ObjectChange::Added);
        assert_eq!(memory.forget(&object("c", "6", 1)).unwrap().change, ObjectChange::Deleted);
        assert_eq!(memory.forget(&object("c", "6", 1)), None);
        let mut labelled = object("b", "7", 1);
        labelled["metadata"]["labels"] = json!({"a": "b"});
        let change = memory.see(&labelled).unwrap();
        assert_eq!(change.change, ObjectChange::Spec);
        assert_eq!(change.object.to_string(), "MachineDeployment org/b");
    }

    #[test]
    fn the_next_list_reports_what_the_watch_missed() {
        let mut memory = WatchMemory::new(&ApiKind::preferred("", "X"));
        assert_eq!(
            memory.compare(listed([object("a", "1", 1), object("b", "2", 1), object("c", "3", 1)])),
            []
        );
        let mut told =
            changes(&memory.compare(listed([object("a", "9", 2), object("b", "2", 1), object("d", "8", 1)])));
        told.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(
            told,
            [
                ("a".to_owned(), ObjectChange::Spec),
                ("c".to_owned(), ObjectChange::Deleted),
                ("d".to_owned(), ObjectChange::Added)
            ]
        );
    }

    #[test]
    fn a_kind_without_generations_has_wishes_alone() {
        let config = |version: &str| json!({"metadata": {"name": "a", "resourceVersion": version}});
        let mut memory = WatchMemory::new(&ApiKind::preferred("", "ConfigMap"));
        memory.compare(listed([config("1")]));
        assert_eq!(memory.see(&config("2")).unwrap().change, ObjectChange::Spec);
    }
}
