//! What taking over an object that others applied would change, to be shown before anybody says yes.
//!
//! A dry run shows what the server would set. It cannot show what would go: the fields leave their old owner first, and
//! that step has no dry run. If the owner used the manifest's own version, its entry in `metadata.managedFields` lists
//! these fields. In another version their names differ, and only conversion webhooks know both (`nodeDrainTimeout` is
//! `deletion.nodeDrainTimeoutSeconds`). There a dry-run *creation* helps: what the live object has and a new one would
//! not have goes, unless another manager holds it.
//!
//! Deliberately absent: the taking itself ([`super::managers`]).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::differs::differing;
use super::handed_over::{FieldSurvived, handed_over};
use super::managed::{ManagerEntry, Spelled, is_count, overlap, path_in};
use super::managers::{LAST_APPLIED, fields_that_go, taken};
use crate::live_objects::identity;
use capstan_model::object::FieldPath;

/// What taking over an object would change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TakeOver {
    /// Fields that get another value.
    pub sets: Vec<FieldPath>,
    /// Fields that go, or fall to their default.
    pub removes: Vec<FieldPath>,
    /// Counts that keep their value until an owner writes them.
    pub lets_go: Vec<FieldPath>,
}

/// Whether one of these managers wrote a live object in another version than the manifest's.
pub fn speaks_another_version(live: &Value, manifest: &Value, from: &[String]) -> bool {
    let version = manifest.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    ManagerEntry::of(live).any(|entry| {
        entry.subresource.is_empty()
            && entry.api_version != version
            && from.iter().any(|name| name == entry.manager)
    })
}

/// What taking over a live object from these managers would change. `tried` is the answer of a dry run of the
/// manifest; `created` that of its creation under another name, where the managers spoke in another version.
pub fn take_over(
    live: &Value,
    manifest: &Value,
    tried: Option<&Value>,
    created: Option<&Value>,
    from: &[String],
) -> TakeOver {
    let tried = tried.unwrap_or(live);
    let lets_go = handed_over(live, manifest, from);
    let mut sets = Vec::new();
    differing(Some(live), Some(tried), &FieldPath::root(), &mut |path| sets.push(path));
    let mut removes = match created {
        Some(created) => lacking(tried, created, from),
        None => fields_that_go(live, manifest, from),
    };
    removes.retain(|path| !lets_go.contains(path) && !sets.contains(path));
    sets.sort();
    removes.sort();
    TakeOver { sets, removes, lets_go }
}

/// The fields of these managers that Git lacks and that stay after Capstan takes them over, because another manager
/// holds them too. A count that another manager holds is left to that manager.
pub fn survives_take_over(live: &Value, manifest: &Value, from: &[String]) -> Vec<FieldSurvived> {
    let Some(managed) = taken(live, from) else { return Vec::new() };
    let object = json!({"metadata": {"managedFields": managed}});
    let Some(ours) = ManagerEntry::ours(&object) else { return Vec::new() };
    let others: Vec<(&str, BTreeSet<Spelled>)> = ManagerEntry::of(&object)
        .filter(|entry| !entry.is_ours() && entry.subresource != "status")
        .map(|entry| (entry.manager, entry.leaves()))
        .collect();
    let mut found = Vec::new();
    for spelled in ours.leaves().iter().filter(|spelled| !is_count(spelled)) {
        let Some(field) = path_in(live, spelled).filter(|_| path_in(manifest, spelled).is_none()) else {
            continue;
        };
        let holds = |leaves: &BTreeSet<Spelled>| leaves.iter().any(|leaf| overlap(leaf, spelled));
        let mut managers: Vec<String> = others
            .iter()
            .filter(|(_, leaves)| holds(leaves))
            .map(|(manager, _)| (*manager).to_owned())
            .collect();
        managers.sort();
        managers.dedup();
        if !managers.is_empty() {
            found.push(FieldSurvived { field, managers });
        }
    }
    found
}

/// What a new object would not have of a tried one and no other manager holds.
fn lacking(tried: &Value, created: &Value, from: &[String]) -> Vec<FieldPath> {
    let is_taken = |entry: &ManagerEntry<'_>| {
        entry.is_ours() || entry.subresource.is_empty() && from.iter().any(|name| name == entry.manager)
    };
    let others = ManagerEntry::of(tried).filter(|entry| !is_taken(entry) && entry.subresource != "status");
    let held: Vec<FieldPath> =
        others.flat_map(|entry| entry.leaves()).filter_map(|spelled| path_in(tried, &spelled)).collect();
    let mut created = created.clone();
    let name = identity(tried).map(|id| id.name).unwrap_or_default();
    if let Some(new) = identity(&created) {
        rename(&mut created, &new.name, &name);
    }
    let mut found = Vec::new();
    let Some(fields) = tried.as_object() else { return found };
    for (key, value) in fields.iter().filter(|(key, _)| !matches!(key.as_str(), "status" | "metadata")) {
        walk(value, created.get(key), &FieldPath::root().key(key), &mut found);
    }
    for field in ["labels", "annotations"] {
        let pointer = format!("/metadata/{field}");
        let path = FieldPath::root().key("metadata").key(field);
        if let Some(value) = tried.pointer(&pointer) {
            walk(value, created.pointer(&pointer), &path, &mut found);
        }
    }
    let note = FieldPath::root().key("metadata").key("annotations").key(LAST_APPLIED);
    // Webhooks that repeat the name in a field are asked before a new object has one.
    let repeats_name = |path: &FieldPath| {
        let pointer = path.to_string();
        tried.pointer(&pointer) == Some(&json!(name)) && created.pointer(&pointer) == Some(&json!(""))
    };
    found.retain(|path| !repeats_name(path));
    found.retain(|path| *path != note && !held.iter().any(|other| other.steps() == path.steps()));
    found
}

/// Tells the leaves that the other value has not, or has otherwise. Items of lists are held against those that
/// are called the same.
fn walk(value: &Value, other: Option<&Value>, path: &FieldPath, found: &mut Vec<FieldPath>) {
    match (value, other) {
        (Value::Object(map), other) if !map.is_empty() && other.is_none_or(Value::is_object) => {
            for (key, below) in map {
                walk(below, other.and_then(|other| other.get(key)), &path.key(key), found);
            }
        }
        (Value::Array(items), Some(Value::Array(others))) => {
            for (at, item) in items.iter().enumerate() {
                let same = |other: &&Value| *other == item || is_called(item, other);
                match others.iter().find(same) {
                    Some(other) => walk(item, Some(other), &path.index(at), found),
                    None => found.push(path.index(at)),
                }
            }
        }
        (value, Some(other)) if value == other => {}
        // An empty map or list says nothing that could go.
        (Value::Object(map), None) if map.is_empty() => {}
        (Value::Array(items), None) if items.is_empty() => {}
        _ => found.push(path.clone()),
    }
}

fn is_called(one: &Value, other: &Value) -> bool {
    let name = |value: &Value| value.get("name").and_then(Value::as_str).map(str::to_owned);
    name(one).is_some() && name(one) == name(other)
}

/// A new object has a name of its own, which defaults may repeat.
fn rename(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) if text == from => to.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, from, to)),
        Value::Object(map) => map.values_mut().for_each(|below| rename(below, from, to)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(manager: &str, version: &str, fields: &Value) -> Value {
        json!({"manager": manager, "operation": "Update", "apiVersion": format!("cluster.x-k8s.io/{version}"),
            "fieldsType": "FieldsV1", "fieldsV1": fields})
    }

    fn deployment(spec: &Value, entries: &[Value]) -> Value {
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment",
            "metadata": {"name": "md", "namespace": "org", "labels": {"by": "core"},
                "annotations": {LAST_APPLIED: "{}"}, "managedFields": entries},
            "spec": spec})
    }

    const KUBECTL: &str = "kubectl-client-side-apply";

    fn paths(fields: &[FieldPath]) -> Vec<String> {
        fields.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn fields_of_another_version_are_reported_in_the_terms_of_the_manifests() {
        let entries = [
            entry(KUBECTL, "v1beta1", &json!({"f:spec": {"f:minReadySeconds": {}, "f:replicas": {}}})),
            entry("capi-core", "v1beta2", &json!({"f:metadata": {"f:labels": {"f:by": {}}}})),
        ];
        let live = deployment(
            &json!({"replicas": 3, "selector": {"name": "md", "again": "md"}, "rollout": {"maxSurge": 2, "maxUnavailable": 0},
                "template": {"minReadySeconds": 7, "empty": {}, "args": [{"name": "a", "value": "1"}, {"name": "b", "value": "1"}]}}),
            &entries,
        );
        let manifest = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment",
            "metadata": {"name": "md", "namespace": "org"},
            "spec": {"template": {"args": [{"name": "b", "value": "2"}]}}});
        let mut tried = live.clone();
        tried["spec"]["template"]["args"][1]["value"] = json!("2");
        // With the defaults of a new one, which repeat its name.
        let created = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment",
            "metadata": {"name": "md-x7k2p", "namespace": "org"},
            "spec": {"replicas": 1, "selector": {"name": "md-x7k2p", "again": ""}, "rollout": {"maxSurge": 1, "maxUnavailable": 0},
                "template": {"args": [{"name": "b", "value": "2"}]}}});
        let from = [KUBECTL.to_owned()];
        assert!(speaks_another_version(&live, &manifest, &from));
        assert!(!speaks_another_version(&live, &manifest, &["capi-core".to_owned()]));
        let found = take_over(&live, &manifest, Some(&tried), Some(&created), &from);
        assert_eq!(paths(&found.sets), ["/spec/template/args/1/value"]);
        assert_eq!(
            paths(&found.removes),
            ["/spec/rollout/maxSurge", "/spec/template/args/0", "/spec/template/minReadySeconds"]
        );
        assert_eq!(paths(&found.lets_go), ["/spec/replicas"]);
    }

    #[test]
    fn a_count_that_stays_is_not_reported_as_removed_and_an_owner_alone_is_not_a_change() {
        let fields = json!({"f:spec": {"f:clusterName": {}, "f:replicas": {}, "f:paused": {}}});
        let live = deployment(
            &json!({"clusterName": "c", "replicas": 3, "paused": true}),
            &[entry("kustomize-controller", "v1beta2", &fields)],
        );
        let manifest = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "spec": {"clusterName": "c"}});
        let from = ["kustomize-controller".to_owned()];
        assert!(!speaks_another_version(&live, &manifest, &from));
        let found = take_over(&live, &manifest, Some(&live), None, &from);
        assert_eq!((found.sets, paths(&found.removes)), (Vec::new(), vec!["/spec/paused".to_owned()]));
        assert_eq!(paths(&found.lets_go), ["/spec/replicas"]);
    }

    #[test]
    fn what_another_holds_too_survives_and_an_autoscalers_count_is_its_own() {
        let labels = json!({"f:labels": {"f:by": {}}});
        let live = deployment(
            &json!({"replicas": 3, "paused": true}),
            &[
                entry(
                    "kustomize-controller",
                    "v1beta2",
                    &json!({"f:metadata": labels, "f:spec": {"f:replicas": {}, "f:paused": {}}}),
                ),
                entry("pipeline", "v1beta2", &json!({"f:metadata": labels})),
                entry("autoscaler", "v1beta2", &json!({"f:spec": {"f:replicas": {}}})),
            ],
        );
        let manifest = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "metadata": {}, "spec": {}});
        let from = ["kustomize-controller".to_owned()];
        assert_eq!(
            survives_take_over(&live, &manifest, &from),
            [FieldSurvived {
                field: FieldPath::parse("/metadata/labels/by").unwrap(),
                managers: vec!["pipeline".to_owned()],
            }]
        );
        let named = json!({"metadata": {"labels": {"by": "core"}}});
        assert_eq!(survives_take_over(&live, &named, &from), []);
        assert_eq!(survives_take_over(&live, &manifest, &["helm".to_owned()]), []);
    }
}
