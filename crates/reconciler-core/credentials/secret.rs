//! What a Secret says of the credential that it holds.

use std::collections::BTreeMap;

use capstan_model::digest::sha256;
use capstan_model::kinds::names::CLUSTER_NAME_LABEL;
use capstan_model::object::ObjectId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::purpose::Purpose;
use super::step::{CredentialRecord, HandedOut, WrittenState};

/// The label of Capstan's own Secrets, with what they are for.
const PURPOSE: &str = "capstan.dev/cloud-credential";
const ID: &str = "capstan.dev/credential-id";
const USER: &str = "capstan.dev/credential-user";
const ISSUED_AT: &str = "capstan.dev/credential-issued-at";
const EXPIRES_AT: &str = "capstan.dev/credential-expires-at";
const PREVIOUS: &str = "capstan.dev/credential-previous";
/// Where the cloud was when it was written.
const PLACE: &str = "capstan.dev/credential-place";
/// SHA-256 of what Capstan wrote into it, by keys; others may add keys of their own.
const CONTENT: &str = "capstan.dev/credential-content";
/// Set by the tool that brings the Secret to its consumers: the id of the credential that all of them work with.
pub const IN_USE: &str = "capstan.dev/credential-in-use";

/// A Secret of Capstan's as it is there.
#[derive(Debug, Clone)]
pub struct CredentialSecret {
    /// What is decided on.
    pub written: CredentialRecord,
    /// The place that it is for, as the cloud tells it from others.
    pub place: String,
    /// What somebody said is worked with.
    pub in_use: Option<String>,
}

/// An earlier credential, as an annotation holds it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Previous {
    user: String,
    expires_at: Timestamp,
}

/// Whether a Secret is one that Capstan has written.
pub fn is_capstans(secret: &Value) -> bool {
    let label = secret.pointer("/metadata/labels").and_then(|labels| labels.get(PURPOSE));
    label.is_some()
}

/// What a Secret of Capstan's says; `None` if something is missing: then somebody changed it, and its content is
/// unknown.
pub fn read(secret: &Value) -> Option<CredentialSecret> {
    let annotations = secret.pointer("/metadata/annotations")?;
    let text = |key: &str| annotations.get(key).and_then(Value::as_str);
    let time = |key: &str| text(key)?.parse::<Timestamp>().ok();
    let previous: BTreeMap<String, Previous> = match text(PREVIOUS) {
        Some(text) => serde_json::from_str(text).ok()?,
        None => BTreeMap::new(),
    };
    let content_now = content(&data(secret));
    let content_then: BTreeMap<String, String> = serde_json::from_str(text(CONTENT)?).ok()?;
    let is_unchanged = content_then.iter().all(|(key, digest)| content_now.get(key) == Some(digest));
    let handed_out =
        |(id, one): (String, Previous)| (id, HandedOut { user: one.user, expires_at: one.expires_at });
    Some(CredentialSecret {
        written: CredentialRecord {
            current: text(ID)?.to_owned(),
            user: text(USER)?.to_owned(),
            issued_at: time(ISSUED_AT)?,
            expires_at: time(EXPIRES_AT)?,
            previous: previous.into_iter().map(handed_out).collect(),
            state: if is_unchanged { WrittenState::AsWished } else { WrittenState::Outdated },
        },
        place: text(PLACE)?.to_owned(),
        in_use: text(IN_USE).map(str::to_owned),
    })
}

/// The Secret that says so and holds that. The label by which `clusterctl move` takes a Secret along is not set: a
/// credential stays with who renews it.
pub fn manifest(
    purpose: Purpose,
    id: &ObjectId,
    cluster: &str,
    written: &CredentialRecord,
    place: &str,
    data: Map<String, Value>,
) -> Value {
    let previous: BTreeMap<&String, Previous> = written
        .previous
        .iter()
        .map(|(id, one)| (id, Previous { user: one.user.clone(), expires_at: one.expires_at }))
        .collect();
    let mut annotations = json!({
        ID: written.current,
        USER: written.user,
        ISSUED_AT: written.issued_at.to_string(),
        EXPIRES_AT: written.expires_at.to_string(),
        PLACE: place,
        CONTENT: json!(content(&data)).to_string(),
    });
    if !previous.is_empty() {
        annotations[PREVIOUS] = json!(previous).to_string().into();
    }
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": id.name,
            "namespace": id.namespace,
            "labels": {PURPOSE: purpose.word(), CLUSTER_NAME_LABEL: cluster},
            "annotations": annotations,
        },
        "data": data,
    })
}

/// When it was brought inside of the cluster.
const BROUGHT_AT: &str = "capstan.dev/credential-brought-at";

/// Inside of the cluster: the Secret that holds what this one does, and since when; `live` is what is there. `None`
/// where the Secret here names no credential.
pub fn inside(
    here: &Value,
    id: &ObjectId,
    purpose: Purpose,
    live: Option<&Value>,
    now: Timestamp,
) -> Option<Inside> {
    let credential = read(here)?.written.current;
    let since = live.and_then(brought).filter(|known| known.credential == credential);
    let since = since.map_or(now, |known| known.since);
    let manifest = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": id.name,
            "namespace": id.namespace,
            "labels": {PURPOSE: purpose.word()},
            "annotations": {ID: credential, BROUGHT_AT: since.to_string()},
        },
        "data": data(here),
    });
    Some(Inside { credential, since, manifest: Some(manifest) })
}

/// What a Secret inside of the cluster says.
pub fn brought(live: &Value) -> Option<Inside> {
    let annotations = live.pointer("/metadata/annotations")?;
    let text = |key: &str| annotations.get(key).and_then(Value::as_str);
    Some(Inside { credential: text(ID)?.to_owned(), since: text(BROUGHT_AT)?.parse().ok()?, manifest: None })
}

/// Whether what is there inside of the cluster is that.
pub fn is_as(live: &Value, manifest: &Value) -> bool {
    let annotations = manifest.pointer("/metadata/annotations").and_then(Value::as_object);
    let said = live.pointer("/metadata/annotations");
    let data = manifest.get("data").and_then(Value::as_object);
    // Others may add keys of their own.
    let holds =
        |(key, value): (&String, &Value)| live.get("data").and_then(|data| data.get(key)) == Some(value);
    data.into_iter().flatten().all(holds)
        && is_capstans(live)
        && annotations
            .into_iter()
            .flatten()
            .all(|(key, value)| said.and_then(|said| said.get(key)) == Some(value))
}

/// A credential inside of a cluster.
#[derive(Debug, Clone)]
pub struct Inside {
    /// The cloud's id of it.
    pub credential: String,
    /// Since when it is there.
    pub since: Timestamp,
    /// The Secret that has to be there; `None` where that is unknown, so that the existing one stays.
    pub manifest: Option<Value>,
}

/// The data of a Secret.
pub fn data(secret: &Value) -> Map<String, Value> {
    secret.get("data").and_then(Value::as_object).cloned().unwrap_or_default()
}

fn content(data: &Map<String, Value>) -> BTreeMap<String, String> {
    data.iter().map(|(key, value)| (key.clone(), sha256(value.as_str().unwrap_or_default()))).collect()
}
