//! Who manages the fields of a live object, and how they become Capstan's when it adopts the object.
//!
//! An object that kubectl or Flux applied carries their `metadata.managedFields` entries. A further apply adds a
//! manager and removes nothing: a field that Git no longer names stays as long as the entry of its earlier applier. So
//! the entries are turned into one of Capstan's, as if it had applied them (the way of
//! <https://pkg.go.dev/k8s.io/client-go/util/csaupgrade>), and its next apply removes the rest.
//!
//! Of the fields of client-side apply only those move that its manifest named (its annotation holds the manifest). The
//! rest are defaults; if Capstan removed one, the server would only set it again.
//!
//! Deliberately not moved: status, finalizers and owners, which controllers need, whichever manager the entry names;
//! and the entry `before-first-apply`, which does not name a manager.

use serde_json::{Map, Value};

use super::sent::sent;
use crate::live_objects::MANAGER;
use capstan_model::object::{FieldPath, Step};

/// The annotation that client-side apply leaves.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The manager that the API server invents for what was there before the first apply.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// The manager of client-side apply.
const CLIENT_SIDE_APPLY: &str = "kubectl-client-side-apply";

/// Managers of people and delivery tools, which write what they wish. Controllers are not among them.
const TOOLS: &[&str] = &[
    "argocd-application-controller",
    "argocd-controller",
    BEFORE_FIRST_APPLY,
    "fleetagent",
    "flux",
    "helm",
    "helm-controller",
    "kapp-controller",
    "kubectl",
    CLIENT_SIDE_APPLY,
    "kubectl-create",
    "kubectl-edit",
    "kubectl-patch",
    "kubectl-replace",
    "kustomize-controller",
    "pulumi",
    "Terraform",
];

/// The delivery tools, other than Capstan, that manage fields of a live object: those whose fields it takes
/// when it adopts the object. In the order of their names.
pub fn appliers(live: &Value) -> Vec<String> {
    let mut found: Vec<String> = entries(live)
        .iter()
        .filter(is_of_the_object)
        .filter_map(manager)
        .filter(|name| TOOLS.contains(name))
        .map(str::to_owned)
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Whether Capstan has applied a live object before.
pub fn is_applied_by_capstan(live: &Value) -> bool {
    entries(live).iter().any(is_capstans)
}

/// Whether Capstan may have applied a live object that has no managers. The API server records none for an object that
/// is applied with only its kind and name; and no other manager has a field of this one.
pub fn may_be_applied_without_fields(wanted: &Value, live: &Value) -> bool {
    entries(live).iter().all(|entry| !is_of_the_object(&entry)) && !has_fields(wanted)
}

/// Whether an object that is applied has a field beside those that name it.
fn has_fields(wanted: &Value) -> bool {
    let beside = |fields: Option<&Value>, names: &[&str]| {
        let fields = fields.and_then(Value::as_object).into_iter().flatten();
        fields.into_iter().any(|(key, value)| !names.contains(&key.as_str()) && !value.is_null())
    };
    let wanted = sent(wanted);
    beside(Some(&wanted), &["apiVersion", "kind", "metadata"])
        || beside(wanted.get("metadata"), &["name", "namespace"])
}

/// The `metadata.managedFields` that a live object gets when Capstan takes over what these managers wrote and
/// lets go of some fields, its own ones included: those keep their values at the next apply although it names
/// them no longer. `None` where nothing changes.
pub fn taken_over(live: &Value, from: &[String], let_go: &[FieldPath]) -> Option<Value> {
    let mut managed = taken(live, from).unwrap_or_else(|| Value::Array(entries(live).to_vec()));
    let own = managed.as_array_mut().and_then(|entries| entries.iter_mut().find(|entry| is_capstans(entry)));
    if let Some(fields) = own.and_then(|entry| entry.get_mut("fieldsV1")) {
        for path in let_go {
            remove(fields, live, path.steps());
        }
    }
    (managed.as_array().map(Vec::as_slice) != Some(entries(live))).then_some(managed)
}

/// What these managers wrote, as Capstan's; `None` where there is nothing to take.
pub(super) fn taken(live: &Value, from: &[String]) -> Option<Value> {
    let entries = entries(live);
    let (taken, mut kept): (Vec<&Value>, Vec<Value>) = {
        let (taken, kept): (Vec<_>, Vec<_>) = entries.iter().partition(|entry| is_taken(entry, from));
        (taken, kept.into_iter().cloned().collect())
    };
    let newest = taken.iter().max_by_key(|entry| entry.get("time").and_then(Value::as_str))?;
    // An entry speaks in the words of one version, and the API server translates it as a whole: words of another
    // one in it would make every later apply fail. What was written in another version is let go of.
    let version = kept.iter().find(|entry| is_capstans(entry)).unwrap_or(newest).get("apiVersion").cloned();
    let in_its_words = |entry: &&&Value| entry.get("apiVersion") == version.as_ref();
    let mut fields = Value::Object(Map::new());
    for entry in taken.iter().filter(in_its_words).filter(|entry| manager(entry) != Some(BEFORE_FIRST_APPLY))
    {
        let Some(theirs) = entry.get("fieldsV1") else { continue };
        match last_applied(live).filter(|_| manager(entry) == Some(CLIENT_SIDE_APPLY)) {
            Some(desired) => unite(&mut fields, &restricted(theirs, &desired)),
            None => unite(&mut fields, theirs),
        }
    }
    spare(&mut fields);
    match kept.iter_mut().find(|entry| is_capstans(entry)) {
        Some(entry) => {
            if let Some(own) = entry.get_mut("fieldsV1") {
                unite(own, &fields);
            }
        }
        None if fields.as_object().is_some_and(Map::is_empty) => {}
        None => kept.push(serde_json::json!({
            "manager": MANAGER, "operation": "Apply", "apiVersion": version,
            "fieldsType": "FieldsV1", "fieldsV1": fields,
        })),
    }
    Some(Value::Array(kept))
}

/// The fields of a live object that go when Capstan takes over what these managers wrote and then applies this
/// manifest. They wrote them, the manifest lacks them, and no other manager has them.
pub fn fields_that_go(live: &Value, manifest: &Value, from: &[String]) -> Vec<FieldPath> {
    let Some(managed) = taken(live, from) else { return Vec::new() };
    let managed = managed.as_array().map_or(&[][..], Vec::as_slice);
    let Some(fields) =
        managed.iter().find(|entry| is_capstans(entry)).and_then(|entry| entry.get("fieldsV1"))
    else {
        return Vec::new();
    };
    let others: Vec<&Value> = managed
        .iter()
        .filter(|entry| !is_capstans(entry))
        .filter_map(|entry| entry.get("fieldsV1"))
        .collect();
    let mut gone = Vec::new();
    walk(fields, Some(live), Some(manifest), &others, &FieldPath::root(), &mut gone);
    gone
}

fn entries(live: &Value) -> &[Value] {
    live.pointer("/metadata/managedFields").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn manager(entry: &Value) -> Option<&str> {
    entry.get("manager").and_then(Value::as_str)
}

/// Whether an entry is about the object itself and not about a subresource (status, scale).
fn is_of_the_object(entry: &&Value) -> bool {
    entry.get("subresource").and_then(Value::as_str).is_none_or(str::is_empty)
}

fn is_capstans(entry: &Value) -> bool {
    manager(entry) == Some(MANAGER)
        && entry.get("operation").and_then(Value::as_str) == Some("Apply")
        && is_of_the_object(&entry)
}

fn is_taken(entry: &&Value, from: &[String]) -> bool {
    is_of_the_object(entry)
        && !is_capstans(entry)
        && manager(entry).is_some_and(|name| from.iter().any(|wanted| wanted == name))
}

/// The manifest of the last client-side apply.
fn last_applied(live: &Value) -> Option<Value> {
    let annotation = live.pointer("/metadata/annotations")?.get(LAST_APPLIED)?.as_str()?;
    serde_json::from_str(annotation).ok()
}

/// The part of a set that a manifest names.
fn restricted(fields: &Value, desired: &Value) -> Value {
    let Some(members) = fields.as_object() else { return fields.clone() };
    let kept = members.iter().filter_map(|(key, below)| {
        if key == "." {
            return Some((key.clone(), below.clone()));
        }
        let (_, desired) = member(desired, key)?;
        let part = restricted(below, desired);
        // A container of which nothing else is left was not written for its own sake.
        let is_hollow = |set: &Value| set.as_object().is_some_and(|map| map.keys().all(|key| key == "."));
        (is_hollow(below) || !is_hollow(&part)).then(|| (key.clone(), part))
    });
    Value::Object(kept.collect())
}

/// Takes out of a set what controllers live by.
fn spare(fields: &mut Value) {
    let Some(map) = fields.as_object_mut() else { return };
    map.remove("f:status");
    if let Some(Value::Object(metadata)) = map.get_mut("f:metadata") {
        metadata.remove("f:finalizers");
        metadata.remove("f:ownerReferences");
        if metadata.is_empty() {
            map.remove("f:metadata");
        }
    }
}

/// Takes a field, and what is below it, out of a field set of this value.
fn remove(fields: &mut Value, value: &Value, path: &[Step]) {
    let (Some(members), Some((first, rest))) = (fields.as_object_mut(), path.split_first()) else { return };
    let meant =
        members.keys().find(|key| member(value, key).is_some_and(|(step, _)| step == *first)).cloned();
    let Some(key) = meant else { return };
    if rest.is_empty() {
        members.remove(&key);
    } else if let (Some(below), Some((_, value))) = (members.get_mut(&key), member(value, &key)) {
        remove(below, value, rest);
    }
}

/// Adds the fields of one set (`FieldsV1`) to another. `{}` is a field as such; one with members says so of
/// itself by `.`.
fn unite(into: &mut Value, from: &Value) {
    let (Some(own), Some(theirs)) = (into.as_object_mut(), from.as_object()) else { return };
    for (key, below) in theirs {
        let Some(present) = own.get_mut(key) else {
            own.insert(key.clone(), below.clone());
            continue;
        };
        if key == "." {
            continue;
        }
        let is_leaf = |set: &Value| set.as_object().is_some_and(Map::is_empty);
        let one_is_a_leaf = is_leaf(present) != is_leaf(below);
        unite(present, below);
        if one_is_a_leaf && let Some(map) = present.as_object_mut() {
            map.insert(".".to_owned(), Value::Object(Map::new()));
        }
    }
}

fn walk(
    fields: &Value,
    live: Option<&Value>,
    manifest: Option<&Value>,
    others: &[&Value],
    path: &FieldPath,
    gone: &mut Vec<FieldPath>,
) {
    let Some(members) = fields.as_object() else { return };
    for (key, below) in members.iter().filter(|(key, _)| *key != ".") {
        let Some(found) = live.and_then(|live| member(live, key)) else { continue };
        let desired = manifest.and_then(|manifest| member(manifest, key)).map(|(_, value)| value);
        let theirs: Vec<&Value> = others.iter().filter_map(|set| set.get(key)).collect();
        let path = path.join(found.0);
        let is_leaf = below.as_object().is_none_or(|map| map.keys().all(|key| key == "."));
        if is_leaf {
            if desired.is_none() && theirs.is_empty() {
                gone.push(path);
            }
        } else {
            walk(below, Some(found.1), desired, &theirs, &path, gone);
        }
    }
}

/// The member of a value that a key of `FieldsV1` means: `f:` a field, `k:` an item by its keys, `v:` an item
/// by its value, `i:` one by its index.
pub(super) fn member<'v>(value: &'v Value, key: &str) -> Option<(Step, &'v Value)> {
    let (sort, rest) = key.split_once(':')?;
    let item = |is: &dyn Fn(&Value) -> bool| {
        let items = value.as_array()?;
        let index = items.iter().position(is)?;
        Some((Step::Index(index), &items[index]))
    };
    match sort {
        "f" => Some((Step::Key(rest.to_owned()), value.get(rest)?)),
        "k" => {
            let keys: Map<String, Value> = serde_json::from_str(rest).ok()?;
            // A manifest may leave a key to its default (`protocol`).
            let is = |item: &Value| {
                let same = |(name, wanted): (&String, &Value)| item.get(name).is_none_or(|own| own == wanted);
                keys.iter().all(same) && keys.keys().any(|name| item.get(name).is_some())
            };
            item(&is)
        }
        "v" => {
            let wanted: Value = serde_json::from_str(rest).ok()?;
            item(&|item| *item == wanted)
        }
        "i" => {
            let index: usize = rest.parse().ok()?;
            Some((Step::Index(index), value.as_array()?.get(index)?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(manager: &str, operation: &str, fields: Value) -> Value {
        json!({"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1",
            "fieldsV1": fields})
    }

    fn live(entries: Vec<Value>) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "annotations": {}, "managedFields": entries},
            "data": {"kept": "1", "gone": "2", "theirs": "3"}})
    }

    #[test]
    fn what_kubectl_and_flux_wrote_becomes_one_entry_of_capstan() {
        let object = live(vec![
            entry(
                "kubectl-client-side-apply",
                "Update",
                json!({"f:data": {".": {}, "f:kept": {}, "f:gone": {}}}),
            ),
            entry("kustomize-controller", "Apply", json!({"f:data": {"f:kept": {}, "f:other": {}}})),
            entry("some-controller", "Update", json!({"f:data": {"f:theirs": {}}})),
        ]);
        assert_eq!(appliers(&object), ["kubectl-client-side-apply", "kustomize-controller"]);
        assert_eq!(
            taken_over(&object, &appliers(&object), &[]).unwrap(),
            json!([
                entry("some-controller", "Update", json!({"f:data": {"f:theirs": {}}})),
                {"manager": "capstan", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
                 "fieldsV1": {"f:data": {".": {}, "f:kept": {}, "f:gone": {}, "f:other": {}}}},
            ])
        );
    }

    #[test]
    fn an_object_without_fields_has_no_manager() {
        let bare = json!({"apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": "a", "namespace": "b", "creationTimestamp": null}, "status": {}});
        let there = live(Vec::new());
        assert!(may_be_applied_without_fields(&bare, &there));
        let mut of_status = entry("kube-controller-manager", "Update", json!({"f:status": {}}));
        of_status["subresource"] = json!("status");
        assert!(may_be_applied_without_fields(&bare, &live(vec![of_status])));
        let theirs = live(vec![entry("kubectl-create", "Update", json!({"f:data": {}}))]);
        assert!(!may_be_applied_without_fields(&bare, &theirs));
        for (place, value) in [("/data", json!({})), ("/metadata/labels", json!({"a": "b"}))] {
            let mut wanted = bare.clone();
            let (parent, key) = place.rsplit_once('/').unwrap();
            wanted.pointer_mut(parent).unwrap()[key] = value;
            assert!(!may_be_applied_without_fields(&wanted, &there), "{place}");
        }
    }

    #[test]
    fn of_client_side_apply_only_the_fields_it_wrote_are_taken() {
        let mut object = live(vec![entry(
            "kubectl-client-side-apply",
            "Update",
            json!({"f:spec": {"f:ports": {".": {}, "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}, "f:protocol": {}, "f:targetPort": {}}},
                "f:type": {}}}),
        )]);
        object["metadata"]["annotations"][LAST_APPLIED] = json!(r#"{"spec": {"ports": [{"port": 80}]}}"#);
        let taken = taken_over(&object, &appliers(&object), &[]).unwrap();
        assert_eq!(
            taken.pointer("/0/fieldsV1").unwrap(),
            &json!({"f:spec": {"f:ports": {".": {}, "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}}})
        );
    }

    #[test]
    fn an_entry_of_capstan_that_is_there_grows() {
        let object = live(vec![
            entry("capstan", "Apply", json!({"f:data": {"f:kept": {}}, "f:spec": {"f:a": {"f:b": {}}}})),
            entry("kubectl", "Apply", json!({"f:data": {"f:gone": {}}, "f:spec": {"f:a": {}}})),
        ]);
        assert!(is_applied_by_capstan(&object));
        assert_eq!(
            taken_over(&object, &["kubectl".to_owned()], &[]).unwrap(),
            json!([entry(
                "capstan",
                "Apply",
                json!({
                "f:data": {"f:kept": {}, "f:gone": {}}, "f:spec": {"f:a": {"f:b": {}, ".": {}}}})
            )])
        );
    }

    #[test]
    fn one_entry_speaks_in_the_words_of_one_version() {
        let at = |manager: &str, version: &str, time: &str, field: &str| {
            let mut entry = entry(manager, "Apply", json!({"f:spec": {field: {}}}));
            entry["apiVersion"] = json!(version);
            entry["time"] = json!(time);
            entry
        };
        let old = at("kubectl", "x/v1", "2024-01-01T00:00:00Z", "f:old");
        let new = at("kustomize-controller", "x/v2", "2026-01-01T00:00:00Z", "f:new");
        let object = live(vec![new, old]);
        let taken = taken_over(&object, &appliers(&object), &[]).unwrap();
        assert_eq!(taken.as_array().unwrap().len(), 1);
        assert_eq!(
            (&taken[0]["apiVersion"], &taken[0]["fieldsV1"]),
            (&json!("x/v2"), &json!({"f:spec": {"f:new": {}}}))
        );

        let own = at("capstan", "x/v2", "2025-01-01T00:00:00Z", "f:own");
        let late = at("kubectl", "x/v1", "2026-01-01T00:00:00Z", "f:old");
        let object = live(vec![own, late]);
        let taken = taken_over(&object, &appliers(&object), &[]).unwrap();
        assert_eq!(taken.as_array().unwrap().len(), 1);
        assert_eq!(taken[0]["fieldsV1"], json!({"f:spec": {"f:own": {}}}));
    }

    #[test]
    fn status_finalizers_and_owners_are_never_taken() {
        let object = live(vec![entry(
            "kubectl-create",
            "Update",
            json!({"f:metadata": {"f:finalizers": {}, "f:ownerReferences": {}}, "f:status": {"f:a": {}},
                "f:data": {"f:kept": {}}}),
        )]);
        let taken = taken_over(&object, &appliers(&object), &[]).unwrap();
        assert_eq!(taken.pointer("/0/fieldsV1").unwrap(), &json!({"f:data": {"f:kept": {}}}));
    }

    #[test]
    fn a_released_field_has_no_manager() {
        let mut object = live(vec![
            entry("capstan", "Apply", json!({"f:spec": {"f:replicas": {}, "f:paused": {}}})),
            entry(
                "kubectl",
                "Apply",
                json!({"f:spec": {"f:items": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:value": {}}}}}),
            ),
        ]);
        object["spec"] =
            json!({"replicas": 3, "paused": true, "items": [{"name": "b"}, {"name": "a", "value": 1}]});
        let let_go = ["/spec/replicas", "/spec/items/1/value", "/spec/absent"]
            .map(|path| FieldPath::parse(path).unwrap());
        let items = json!({"k:{\"name\":\"a\"}": {".": {}, "f:name": {}}});
        assert_eq!(
            taken_over(&object, &["kubectl".to_owned()], &let_go).unwrap(),
            json!([entry("capstan", "Apply", json!({"f:spec": {"f:paused": {}, "f:items": items}}))])
        );
        let own = taken_over(&object, &[], &let_go[..1]).unwrap();
        assert_eq!(own.pointer("/0/fieldsV1").unwrap(), &json!({"f:spec": {"f:paused": {}}}));
        assert_eq!(taken_over(&object, &[], &[]), None);
        assert_eq!(taken_over(&object, &[], &let_go[2..]), None);
    }

    #[test]
    fn fields_from_before_the_first_apply_are_released_and_not_taken() {
        let object = live(vec![entry("before-first-apply", "Update", json!({"f:data": {"f:kept": {}}}))]);
        assert_eq!(taken_over(&object, &appliers(&object), &[]).unwrap(), json!([]));
    }

    #[test]
    fn a_subresource_and_a_controller_are_left_alone() {
        let mut scale = entry("kubectl", "Update", json!({"f:spec": {"f:replicas": {}}}));
        scale["subresource"] = json!("scale");
        let object = live(vec![scale, entry("manager", "Update", json!({"f:spec": {}}))]);
        assert_eq!(appliers(&object), Vec::<String>::new());
        assert_eq!(taken_over(&object, &["kubectl".to_owned()], &[]), None);
    }

    #[test]
    fn the_fields_that_will_go_are_named() {
        let object = json!({"apiVersion": "x/v1", "kind": "X", "metadata": {"name": "a", "labels": {"old": "1", "new": "1"},
            "managedFields": [
                entry("kubectl-client-side-apply", "Update", json!({
                    "f:metadata": {"f:labels": {".": {}, "f:old": {}, "f:new": {}}},
                    "f:spec": {"f:items": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:value": {}},
                        "k:{\"name\":\"b\"}": {".": {}, "f:name": {}}}, "f:replicas": {}, "f:set": {"v:\"x\"": {}}}})),
                entry("autoscaler", "Update", json!({"f:spec": {"f:replicas": {}}})),
            ]},
            "spec": {"items": [{"name": "b"}, {"name": "a", "value": 1}], "replicas": 3, "set": ["y", "x"]}});
        let manifest = json!({"apiVersion": "x/v1", "kind": "X", "metadata": {"name": "a", "labels": {"new": "2"}},
            "spec": {"items": [{"name": "a"}]}});
        let gone: Vec<String> =
            fields_that_go(&object, &manifest, &appliers(&object)).iter().map(ToString::to_string).collect();
        assert_eq!(
            gone,
            ["/metadata/labels/old", "/spec/items/1/value", "/spec/items/0/name", "/spec/set/1"]
        );
    }
}
