//! What the API server in memory makes of a JSON Patch: the operations that are sent, and no others.

use capstan_ports::{ApiObject, LiveError, ObjectPart, Run};
use serde_json::{Value, json};

use crate::reconcile::fake::{Key, Request, State, gone, refused};

pub(crate) fn patch(
    state: &mut State,
    object: &ApiObject,
    part: ObjectPart,
    patch: &Value,
    run: Run,
) -> Result<Value, LiveError> {
    let doing = format!("patching {object}");
    if run == Run::Real && state.answers && state.is_dead() {
        return Err(gone(&doing));
    }
    state.log.push(Request { verb: "patch", object: object.to_string(), is_real: run == Run::Real });
    let id = object.id();
    let key: Key = (id.group, id.kind, id.namespace, id.name);
    let Some(before) = state.objects.get(&key).cloned() else {
        return Err(refused(&doing, (404, json!({"message": "not found", "reason": "NotFound"}))));
    };
    let mut after = before.clone();
    for operation in patch.as_array().unwrap() {
        let (path, value) = (operation["path"].as_str().unwrap(), &operation["value"]);
        if operation["op"] == "test" {
            if before.pointer(path) != Some(value) {
                return Err(refused(
                    &doing,
                    (422, json!({"message": "the test failed", "reason": "Invalid"})),
                ));
            }
            continue;
        }
        if path == "/metadata/resourceVersion" {
            if before.pointer(path) != Some(value) {
                let body = json!({"message": "the object has been modified", "reason": "Conflict"});
                return Err(refused(&doing, (409, body)));
            }
            continue;
        }
        assert_eq!(path.starts_with("/status"), part != ObjectPart::Whole, "{path} of {object}");
        let (parent, name) = path.rsplit_once('/').unwrap();
        let name = name.replace("~1", "/");
        let parent = after.pointer_mut(parent).and_then(Value::as_object_mut).unwrap();
        assert!(operation["op"] == "add" || parent.contains_key(&name), "{operation} of {object}");
        match operation["op"].as_str().unwrap() {
            "remove" => drop(parent.remove(&name)),
            _ => drop(parent.insert(name, value.clone())),
        }
    }
    if run == Run::Dry || after == before {
        return Ok(after);
    }
    state.counter += 1;
    after["metadata"]["resourceVersion"] = json!(state.counter.to_string());
    if after.get("spec") != before.get("spec") {
        let generation = before["metadata"]["generation"].as_i64().unwrap_or(0);
        after["metadata"]["generation"] = json!(generation + 1);
    }
    let is_held = after["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty());
    if after["metadata"].get("deletionTimestamp").is_some() && !is_held {
        state.objects.remove(&key);
        return Ok(after);
    }
    state.objects.insert(key.clone(), after);
    state.written(&key);
    if !state.answers && state.is_dead() {
        return Err(gone(&doing));
    }
    Ok(state.objects[&key].clone())
}
