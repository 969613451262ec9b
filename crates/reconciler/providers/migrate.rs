//! Versions that a definition is about to lose: objects that are stored in them are rewritten, and lose their
//! `managedFields` entries of these versions.
//!
//! A definition cannot lose a version that is in its `status.storedVersions`, and an object that has an entry of a version
//! which is not there any more in its `metadata.managedFields` cannot be applied any more
//! (<https://github.com/kubernetes-sigs/cluster-api/issues/10051>).

use capstan_live::installing::pass::{gone_versions, storage_version};
use capstan_model::object::{ObjectId, api_group};
use serde_json::{Value, json};

use super::ports::ProviderPorts;
use capstan_ports::{ApiKind, ApiObject, As, LiveError, ManagementCluster as _, ObjectPart, Run};

/// How often an object is tried again that somebody wrote meanwhile.
const TRIES: usize = 5;

/// The versions that the rendered definition has no more and that something is stored or managed in.
pub(super) async fn going(
    ports: &ProviderPorts,
    by: &As,
    definition: &Value,
    live: &Value,
) -> Result<Vec<String>, LiveError> {
    let mut going = gone_versions(definition, live);
    if going.is_empty() {
        return Ok(going);
    }
    let stored: Vec<&str> = stored_versions(live).collect();
    let Some(kind) = kind(live) else { return Ok(Vec::new()) };
    let objects = ports.live.list(by, &kind, None, &[]).await?;
    let is_managed = |version: &str| {
        objects.iter().any(|object| entries(object).iter().any(|entry| is_of(entry, &kind.group, version)))
    };
    going.retain(|version| stored.contains(&version.as_str()) || is_managed(version));
    Ok(going)
}

/// Migrates what is stored or managed in these versions.
pub(super) async fn migrate(
    ports: &ProviderPorts,
    by: &As,
    definition: &ObjectId,
    versions: &[String],
) -> Result<Option<String>, LiveError> {
    let Some(live) = ports.live.read(by, &ApiObject::from(definition)).await? else { return Ok(None) };
    let live = &live;
    let (Some(kind), Some(storage)) = (kind(live), storage_version(live)) else { return Ok(None) };
    if versions.iter().any(|version| version == storage) {
        return Ok(Some(format!(
            "objects are stored in {storage}, which the new definition no longer has: first install a version of the provider that has both"
        )));
    }
    let is_stored = versions.iter().any(|version| stored_versions(live).any(|stored| stored == version));
    for object in ports.live.list(by, &kind, None, &[]).await? {
        let is_managed = |object: &Value| {
            entries(object)
                .iter()
                .any(|entry| versions.iter().any(|version| is_of(entry, &kind.group, version)))
        };
        if is_stored || is_managed(&object) {
            rewrite(ports, by, &kind, object, versions).await?;
        }
    }
    let kept: Vec<&str> =
        stored_versions(live).filter(|stored| !versions.iter().any(|gone| gone == stored)).collect();
    let Some(definition) = ApiObject::of(live) else { return Ok(None) };
    if is_stored {
        let patch = json!([
            {"op": "replace", "path": "/metadata/resourceVersion", "value": live["metadata"]["resourceVersion"]},
            {"op": "replace", "path": "/status/storedVersions", "value": kept},
        ]);
        ports.live.patch(by, &definition, ObjectPart::Status, &patch, Run::Real).await?;
    }
    Ok(None)
}

/// Writes an object as it is: the API server stores it in the version that it stores in now.
async fn rewrite(
    ports: &ProviderPorts,
    by: &As,
    kind: &ApiKind,
    object: Value,
    versions: &[String],
) -> Result<(), LiveError> {
    let Some(mut named) = ApiObject::of(&object) else { return Ok(()) };
    named.kind = kind.clone();
    let mut object = object;
    for attempt in 1.. {
        let mut kept = entries(&object).to_vec();
        kept.retain(|entry| !versions.iter().any(|version| is_of(entry, &kind.group, version)));
        if kept.is_empty() {
            kept.push(seed(kind));
        }
        let patch = json!([
            {"op": "replace", "path": "/metadata/resourceVersion", "value": object["metadata"]["resourceVersion"]},
            {"op": "add", "path": "/metadata/managedFields", "value": Value::Array(kept)},
        ]);
        match ports.live.patch(by, &named, ObjectPart::Whole, &patch, Run::Real).await {
            Ok(_) => return Ok(()),
            Err(error) if error.is_conflict() && attempt < TRIES => {}
            Err(error) => match ports.live.read(by, &named).await? {
                // It went meanwhile.
                None => return Ok(()),
                Some(_) => return Err(error),
            },
        }
        match ports.live.read(by, &named).await? {
            Some(now) => object = now,
            None => return Ok(()),
        }
    }
    Ok(())
}

/// The only entry of `metadata.managedFields` of an object that would have none left. For an object without entries,
/// the API server assumes that an unknown `before-first-apply` manages all its fields. The next apply is then refused
/// for a conflict. An entry without fields counts as none.
fn seed(kind: &ApiKind) -> Value {
    let version = kind.version.as_deref().unwrap_or_default();
    json!({
        "manager": "capstan-migration",
        "operation": "Update",
        "apiVersion": format!("{}/{version}", kind.group),
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:name": {}}},
    })
}

fn kind(definition: &Value) -> Option<ApiKind> {
    let text = |pointer: &str| definition.pointer(pointer)?.as_str();
    Some(ApiKind {
        group: text("/spec/group")?.to_owned(),
        version: storage_version(definition).map(str::to_owned),
        kind: text("/spec/names/kind")?.to_owned(),
    })
}

fn stored_versions(definition: &Value) -> impl Iterator<Item = &str> {
    let stored = definition.pointer("/status/storedVersions").and_then(Value::as_array);
    stored.into_iter().flatten().filter_map(Value::as_str)
}

fn entries(object: &Value) -> &[Value] {
    object.pointer("/metadata/managedFields").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Whether an entry of `metadata.managedFields` speaks in that version.
fn is_of(entry: &Value, group: &str, version: &str) -> bool {
    let spoken = entry.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    api_group(spoken) == group && spoken.rsplit('/').next() == Some(version)
}
