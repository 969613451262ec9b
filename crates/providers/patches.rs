//! `patches` and `manifestPatches`, as the operator applies them
//! (<https://github.com/kubernetes-sigs/cluster-api-operator/tree/v0.28.0/internal/patch>): a JSON patch where the text
//! is a list, else a JSON merge patch (RFC 7396), whatever the pages call it.

use capstan_kustomize::render::{apply_json_patch, meets_selector};
use capstan_model::object::ObjectId;
use capstan_yaml::YamlFile;
use serde_json::{Map, Value};

use super::objects::Object;
use super::refusal::Refusal;
use super::spec::{Patch, PatchText, Patches, SpecPatchTarget};

/// Patches the objects; gives notes on patches that none is meant by.
///
/// # Errors
/// A patch that is not YAML or does not fit its object: with its file and line.
pub(crate) fn apply(objects: &mut [Object], patches: &Patches) -> Result<Vec<String>, Refusal> {
    let mut notes = Vec::new();
    let mut note = |used: bool, patch: &PatchText| {
        if !used {
            notes.push(format!("{}: this patch matches no object", patch.place));
        }
    };
    match patches {
        Patches::None => {}
        Patches::Manifests(patches) => {
            for (at, patch) in patches.iter().enumerate() {
                let used = merge_by_name(objects, patch).map_err(|refusal| {
                    refusal.of(format!("`spec.manifestPatches[{at}]`")).at(patch.place.clone())
                })?;
                note(used, patch);
            }
        }
        Patches::Targeted(patches) => {
            for (at, entry) in patches.iter().enumerate() {
                let used = targeted(objects, entry).map_err(|refusal| {
                    refusal.of(format!("`spec.patches[{at}]`")).at(entry.patch.place.clone())
                })?;
                note(used, &entry.patch);
            }
        }
    }
    Ok(notes)
}

/// The one document of a patch.
fn read(patch: &PatchText) -> Result<Value, Refusal> {
    let file = YamlFile::read(&patch.text)
        .map_err(|error| Refusal::new(format!("this patch is not YAML: {error}")))?;
    let mut documents = file.documents().iter().filter(|document| !document.root.is_null());
    match (documents.next(), documents.next()) {
        (Some(document), None) => Ok(document.root.value()),
        (None, _) => Err(Refusal::new("this patch is empty: remove it")),
        (Some(_), Some(_)) => {
            Err(Refusal::new("this patch has several documents: make each a separate entry"))
        }
    }
}

fn targeted(objects: &mut [Object], entry: &Patch) -> Result<bool, Refusal> {
    let patch = read(&entry.patch)?;
    let mut used = false;
    for object in objects
        .iter_mut()
        .filter(|object| entry.target.as_ref().is_none_or(|target| is_meant(object, target)))
    {
        used = true;
        let told = |id: ObjectId, message: String| Refusal::new(message).of(id);
        match &patch {
            Value::Array(operations) if operations.is_empty() => {
                return Err(Refusal::new("this JSON patch has no operations: remove it"));
            }
            Value::Array(_) => {
                let patched = apply_json_patch(&object.value, &patch);
                object.value = patched.map_err(|message| told(object.id(), message))?;
            }
            Value::Object(fields) => merge(&mut object.value, fields),
            _ => {
                return Err(Refusal::new(
                    "this patch is neither a mapping nor a list of operations: correct it",
                ));
            }
        }
        object.check()?;
    }
    Ok(used)
}

fn is_meant(object: &Object, target: &SpecPatchTarget) -> bool {
    let fits = |wanted: &str, found: &str| wanted.is_empty() || wanted == found;
    let label = |key: &str| {
        let labels = object.value.get("metadata")?.get("labels")?;
        labels.get(key)?.as_str().map(str::to_owned)
    };
    fits(&target.group, object.group())
        && fits(&target.version, object.version())
        && fits(&target.kind, object.kind())
        && fits(&target.name, object.metadata("name"))
        && fits(&target.namespace, object.metadata("namespace"))
        // That it is a selector was seen when it was read.
        && meets_selector(&target.labels, &label).unwrap_or_default()
}

/// The operator's own matching: the kind, and the name where the patch has one. A patch without `apiVersion`
/// matches nothing, and one with another version is merged nevertheless; a namespace decides only where the
/// name differs too.
fn merge_by_name(objects: &mut [Object], patch: &PatchText) -> Result<bool, Refusal> {
    let Value::Object(fields) = read(patch)? else {
        return Err(Refusal::new("this patch is not a mapping: correct it"));
    };
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let (kind, version) = (text(fields.get("kind")), text(fields.get("apiVersion")));
    let name = text(fields.get("metadata").and_then(|metadata| metadata.get("name")));
    let mut used = false;
    let is_meant = |object: &&mut Object| {
        !version.is_empty() && object.kind() == kind && (name.is_empty() || object.metadata("name") == name)
    };
    for object in objects.iter_mut().filter(is_meant) {
        used = true;
        merge(&mut object.value, &fields);
        object.check()?;
    }
    Ok(used)
}

/// RFC 7396, as evanphx/json-patch has it: nulls of new values go too, those in lists stay.
fn merge(value: &mut Value, patch: &Map<String, Value>) {
    let Some(fields) = value.as_object_mut() else { return };
    for (key, new) in patch {
        if new.is_null() {
            fields.shift_remove(key);
            continue;
        }
        match (fields.get_mut(key), new) {
            (Some(old @ Value::Object(_)), Value::Object(new)) => merge(old, new),
            (Some(Value::Object(_)), new) => drop(fields.insert(key.clone(), new.clone())),
            (_, new) => drop(fields.insert(key.clone(), without_nulls(new))),
        }
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| (key.clone(), without_nulls(value)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(without_nulls).collect()),
        scalar => scalar.clone(),
    }
}

#[cfg(test)]
#[path = "patches_tests.rs"]
mod tests;
