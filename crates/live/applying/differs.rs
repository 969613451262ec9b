//! What an apply would change: the live object against the answer of its dry run.
//!
//! Both come from the server, so both have its defaults and its order. What only the server sets is passed
//! over. *Who owns a field* is part of the answer: a field that somebody took over with the same value, or
//! that Git let go while another holds it, is a difference though no value is.

use std::collections::BTreeSet;

use serde_json::Value;

use super::managed::{ManagerEntry, path_in};
use capstan_model::object::FieldPath;

/// Below `metadata`: what moves without anybody wishing it.
const PASSED_OVER: &[&str] = &[
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The fields in which a dry run differs from the live object, deepest first met, ordered by path; the root
/// alone where there is no live object. Nothing: there is nothing to apply.
///
/// A field that only changes its owner is named where the dry run has it, else where the live object has it.
/// `/apiVersion` is in the result if Capstan last applied in another version: once the API server drops the recorded
/// version, the object could not be applied any more.
pub fn differs(live: Option<&Value>, dry_run: &Value) -> Vec<FieldPath> {
    let Some(live) = live else { return vec![FieldPath::root()] };
    let mut found = BTreeSet::new();
    differing(Some(live), Some(dry_run), &FieldPath::root(), &mut |path| {
        found.insert(path);
    });
    let (before, after) = (ManagerEntry::ours(live), ManagerEntry::ours(dry_run));
    if let (Some(before), Some(after)) = (before, after)
        && before.api_version != after.api_version
    {
        found.insert(FieldPath::root().key("apiVersion"));
    }
    let leaves = |entry: Option<ManagerEntry<'_>>| entry.map(|entry| entry.leaves()).unwrap_or_default();
    let (before, after) = (leaves(before), leaves(after));
    for spelled in before.symmetric_difference(&after) {
        let path = path_in(dry_run, spelled).or_else(|| path_in(live, spelled));
        found.insert(path.unwrap_or_else(|| FieldPath::root().key("metadata").key("managedFields")));
    }
    found.into_iter().collect()
}

/// Tells the deepest fields in which two objects differ. Lists are compared item by item.
pub(super) fn differing(
    one: Option<&Value>,
    other: Option<&Value>,
    path: &FieldPath,
    found: &mut impl FnMut(FieldPath),
) {
    match (one, other) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let depth = path.steps().len();
            let in_metadata = depth == 1 && *path == FieldPath::root().key("metadata");
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let passed_over =
                    (depth == 0 && key == "status") || (in_metadata && PASSED_OVER.contains(&key.as_str()));
                if !passed_over {
                    differing(a.get(key), b.get(key), &path.key(key), found);
                }
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) if a.len() == b.len() => {
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                differing(Some(a), Some(b), &path.index(at), found);
            }
        }
        (one, other) if one != other => found(path.clone()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment(replicas: u32, managed: &Value) -> Value {
        json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment",
            "metadata": {"name": "md", "namespace": "org", "uid": "u", "generation": 3,
                         "resourceVersion": "7", "managedFields": managed},
            "spec": {"replicas": replicas, "template": {"spec": {"taints": [{"key": "a"}, {"key": "b"}]}}},
            "status": {"replicas": 3},
        })
    }

    fn ours(fields: &Value) -> Value {
        json!([{"manager": "capstan", "operation": "Apply", "apiVersion": "cluster.x-k8s.io/v1beta2",
                "time": "2026-11-21T10:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields}])
    }

    fn paths(live: &Value, dry_run: &Value) -> Vec<String> {
        differs(Some(live), dry_run).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_apply_without_effect_shows_no_difference() {
        let fields = json!({"f:spec": {"f:replicas": {}}});
        let live = deployment(3, &ours(&fields));
        let mut dry_run = live.clone();
        dry_run["metadata"]["resourceVersion"] = json!("8");
        dry_run["metadata"]["generation"] = json!(4);
        dry_run["metadata"]["managedFields"][0]["time"] = json!("2026-11-21T11:00:00Z");
        dry_run["status"] = json!({"replicas": 1});
        assert_eq!(paths(&live, &dry_run), Vec::<String>::new());
    }

    #[test]
    fn fields_are_named_where_they_differ() {
        let fields = json!({"f:spec": {"f:replicas": {}}});
        let live = deployment(3, &ours(&fields));
        let mut dry_run = deployment(5, &ours(&fields));
        dry_run["spec"]["template"]["spec"]["taints"][1]["key"] = json!("c");
        dry_run["metadata"]["labels"] = json!({"example.com/a": "b"});
        assert_eq!(
            paths(&live, &dry_run),
            ["/metadata/labels", "/spec/replicas", "/spec/template/spec/taints/1/key"]
        );
        dry_run["spec"]["template"]["spec"]["taints"] = json!([]);
        assert_eq!(
            paths(&live, &dry_run),
            ["/metadata/labels", "/spec/replicas", "/spec/template/spec/taints"]
        );
    }

    #[test]
    fn a_new_object_differs_as_a_whole() {
        assert_eq!(differs(None, &deployment(3, &json!([]))), [FieldPath::root()]);
    }

    #[test]
    fn a_field_that_changes_hands_is_a_difference() {
        let both = ours(&json!({"f:spec": {"f:replicas": {}, "f:template": {"f:spec": {"f:taints":
            {"k:{\"key\":\"b\"}": {".": {}, "f:key": {}}}}}}}));
        let one = ours(&json!({"f:spec": {"f:replicas": {}}}));
        // Somebody took the field over, with the same value.
        assert_eq!(paths(&deployment(3, &one), &deployment(3, &both)), ["/spec/template/spec/taints/1/key"]);
        // Git let it go, and another manager holds it.
        assert_eq!(paths(&deployment(3, &both), &deployment(3, &one)), ["/spec/template/spec/taints/1/key"]);
        // Nothing was ours yet.
        assert_eq!(paths(&deployment(3, &json!([])), &deployment(3, &one)), ["/spec/replicas"]);
    }

    #[test]
    fn an_apply_in_a_newer_api_version_is_a_difference() {
        let fields = json!({"f:spec": {"f:replicas": {}}});
        let mut old = ours(&fields);
        old[0]["apiVersion"] = json!("cluster.x-k8s.io/v1beta1");
        assert_eq!(paths(&deployment(3, &old), &deployment(3, &ours(&fields))), ["/apiVersion"]);
    }
}
