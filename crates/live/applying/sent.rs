//! What of an object is sent to the API server.

use serde_json::Value;

use crate::live_objects::identity;
use capstan_model::kinds::version_fields;

/// What only the server sets, below `metadata`: in a server-side apply some of these are refused, others
/// would bind the apply to one moment.
const SERVER_OWNED: &[&str] = &[
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The object as it is applied: without its status and without what only the server sets. Manifests that
/// were exported from a cluster, or made by generators, often hold both (`creationTimestamp: null`).
pub fn sent(object: &Value) -> Value {
    let mut sent = object.clone();
    if let Some(fields) = sent.as_object_mut() {
        fields.shift_remove("status");
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            for key in SERVER_OWNED {
                metadata.shift_remove(*key);
            }
        }
    }
    sent
}

/// The object to apply over the live one that was judged. It carries the UID of that one, so that an object which was
/// deleted meanwhile is not created again. It carries the resource version in two cases. If the object asks for a
/// version of Kubernetes, a version that was raised meanwhile is not lowered. If the live object has no status, no
/// controller writes to it all the time: a write meanwhile was intended, above all one of another leader. If either has
/// changed, the server answers with a conflict, and the next look judges the new object.
pub fn sent_over(object: &Value, live: &Value) -> Value {
    let mut sent = sent(object);
    let Some(id) = identity(&sent) else { return sent };
    let metadata = |key: &str| live.get("metadata").and_then(|metadata| metadata.get(key)).cloned();
    let asks_for_version = version_fields(&id.group, &id.kind).next().is_some();
    let bound = [("uid", true), ("resourceVersion", asks_for_version || live.get("status").is_none())];
    if let Some(fields) = sent.get_mut("metadata").and_then(Value::as_object_mut) {
        for (key, _) in bound.into_iter().filter(|(_, wanted)| *wanted) {
            fields.extend(metadata(key).map(|value| (key.to_owned(), value)));
        }
    }
    sent
}

/// A resource version that no object has: the revision of an empty database, which the first write already leaves.
const NOWHERE: &str = "1";

/// The object to apply if the look found none. It carries a resource version that no object has. The API server checks
/// it only if the object exists, not when it creates one. So an object that was created since the look (above all by
/// another leader) is not overwritten: the server answers with a conflict, and the next look judges that object.
pub fn sent_new(object: &Value) -> Value {
    let mut sent = sent(object);
    if let Some(metadata) = sent.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("resourceVersion".to_owned(), NOWHERE.into());
    }
    sent
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_judged_is_what_is_applied_over() {
        let object = |kind: &str| json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": "a"}});
        let mut live = json!({"metadata": {"name": "a", "uid": "u", "resourceVersion": "7", "generation": 3}, "status": {}});
        let metadata = |kind: &str, live: &Value| sent_over(&object(kind), live)["metadata"].clone();
        let whole = json!({"name": "a", "uid": "u", "resourceVersion": "7"});
        assert_eq!(metadata("MachineDeployment", &live), whole);
        assert_eq!(metadata("Cluster", &live), whole);
        assert_eq!(metadata("MachineHealthCheck", &live), json!({"name": "a", "uid": "u"}));
        live.as_object_mut().unwrap().remove("status");
        assert_eq!(metadata("ConfigMap", &live), whole, "nobody but who means it writes there");
    }

    #[test]
    fn what_is_new_is_bound_to_no_object() {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "u"}, "status": {}});
        let new = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": "1"}});
        assert_eq!(sent_new(&object), new);
    }

    #[test]
    fn what_the_server_sets_is_not_sent() {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "a", "creationTimestamp": null, "resourceVersion": "7", "uid": "u",
                "managedFields": [], "generation": 3, "labels": {"a": "b"},
            },
            "data": {"status": "kept"}, "status": {"gone": true},
        });
        assert_eq!(
            sent(&object),
            json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"a": "b"}},
                "data": {"status": "kept"},
            })
        );
    }
}
