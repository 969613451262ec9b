//! What of an object is sent to the API server.

use serde_json::Value;

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
