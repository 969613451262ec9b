//! What was read of a management cluster: a snapshot of objects, and what is known not to be there.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use capstan_model::object::{ObjectId, api_group};
use capstan_plan::templates::Reference;

/// The label by which objects belong to a Cluster.
pub(crate) use capstan_model::kinds::names::CLUSTER_NAME_LABEL;

/// The field manager under which Capstan applies.
pub const MANAGER: &str = "capstan";
/// The field manager that labels hosts. It is a separate one: a manager that applies an object again gives up what it
/// applied before, and a folder may own a host.
pub const HOSTS_MANAGER: &str = "capstan-hosts";

/// The longest message of a management cluster that is shown, in characters.
pub const LONGEST_MESSAGE: usize = 512;

/// Live objects by identity, as one look found them.
///
/// Read each object in the API version in which it is rendered, so that fields can be compared.
#[derive(Debug, Clone, Default)]
pub struct LiveObjects {
    objects: BTreeMap<ObjectId, Value>,
    absent: BTreeSet<ObjectId>,
    /// Kinds of which all objects that could matter were read: group and kind.
    listed: BTreeSet<(String, String)>,
}

impl LiveObjects {
    /// Adds an object as the API server gave it. What has no identity is passed over.
    pub fn insert(&mut self, object: Value) {
        if let Some(id) = identity(&object) {
            self.absent.remove(&id);
            self.objects.insert(id, object);
        }
    }

    /// The object was looked for and is not there.
    pub fn absent(&mut self, id: ObjectId) {
        self.objects.remove(&id);
        self.absent.insert(id);
    }

    /// All objects of that kind that concern the folder were read: what is not here does not exist. Of machines those
    /// of every `Cluster` that concerns it ([`clusters_to_read`](crate::applying::clusters_to_read)).
    pub fn listed(&mut self, group: &str, kind: &str) {
        self.listed.insert((group.to_owned(), kind.to_owned()));
    }

    /// The object of that identity.
    pub fn get(&self, id: &ObjectId) -> Option<&Value> {
        self.objects.get(id)
    }

    /// Whether the object was looked for and is not there; what nobody looked for is not known to be absent.
    pub fn is_absent(&self, id: &ObjectId) -> bool {
        !self.objects.contains_key(id) && (self.absent.contains(id) || self.has_all(&id.group, &id.kind))
    }

    /// Whether all objects of a kind were read.
    pub fn has_all(&self, group: &str, kind: &str) -> bool {
        // Allocates only for the kinds that were listed: a handful.
        self.listed.iter().any(|(of, listed)| of == group && listed == kind)
    }

    /// Everything, ordered by identity.
    pub fn iter(&self) -> impl Iterator<Item = (&ObjectId, &Value)> {
        self.objects.iter()
    }

    /// The objects of a kind of Cluster API's core group.
    pub(crate) fn core<'s>(&'s self, kind: &'s str) -> impl Iterator<Item = (&'s ObjectId, &'s Value)> {
        ["cluster.x-k8s.io", "exp.cluster.x-k8s.io"]
            .into_iter()
            .flat_map(move |group| self.of_kind(group, kind))
    }

    /// The objects of a kind.
    fn of_kind<'s, 'k>(
        &'s self,
        group: &'k str,
        kind: &'k str,
    ) -> impl Iterator<Item = (&'s ObjectId, &'s Value)> {
        let first =
            ObjectId { group: group.to_owned(), kind: kind.to_owned(), namespace: None, name: String::new() };
        self.objects.range(first..).take_while(move |(id, _)| id.group == group && id.kind == kind)
    }

    /// The object that a reference of an owner in that namespace means.
    pub(crate) fn meant(&self, reference: &Reference<'_>, namespace: Option<&str>) -> Option<&Value> {
        let means = |(id, _): &(&ObjectId, &Value)| reference.means(namespace, id);
        let found = match reference.group {
            Some(group) => self.of_kind(group, reference.kind).find(means),
            None => self.iter().find(means),
        };
        found.map(|(_, value)| value)
    }
}

impl FromIterator<Value> for LiveObjects {
    fn from_iter<T: IntoIterator<Item = Value>>(objects: T) -> Self {
        let mut live = Self::default();
        objects.into_iter().for_each(|object| live.insert(object));
        live
    }
}

/// The identity of an object in JSON; `None` without `apiVersion`, `kind` or `metadata.name`.
pub fn identity(object: &Value) -> Option<ObjectId> {
    let text =
        |pointer: &str| object.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    Some(ObjectId {
        group: api_group(text("/apiVersion")?).to_owned(),
        kind: text("/kind")?.to_owned(),
        namespace: text("/metadata/namespace").map(str::to_owned),
        name: text("/metadata/name")?.to_owned(),
    })
}

/// Whether an object is being deleted.
pub fn is_terminating(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null())
}

/// The object's UID.
pub(crate) fn uid(object: &Value) -> Option<&str> {
    object.pointer("/metadata/uid").and_then(Value::as_str)
}

/// A label of an object.
pub(crate) fn label<'v>(object: &'v Value, key: &str) -> Option<&'v str> {
    object.get("metadata")?.get("labels")?.get(key)?.as_str()
}

/// An annotation of an object.
pub fn annotation<'v>(object: &'v Value, key: &str) -> Option<&'v str> {
    object.get("metadata")?.get("annotations")?.get(key)?.as_str()
}

/// A text in an object.
pub fn text<'v>(object: &'v Value, pointer: &str) -> Option<&'v str> {
    object.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// A message that an API server or a controller wrote, cut where it is longer than [`LONGEST_MESSAGE`].
pub(crate) fn shortened(text: &str) -> String {
    if text.chars().count() <= LONGEST_MESSAGE {
        return text.to_owned();
    }
    text.chars().take(LONGEST_MESSAGE - 1).chain(['…']).collect()
}
