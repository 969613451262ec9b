//! The Secret that holds the file of a cluster's owners: on the management cluster, beside the `Cluster`, and deleted
//! with it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_kustomize::render::RenderedObject;
use capstan_live::owners::{AGE_FILE, FURTHEST, LOGIN_FILE, OwnersForm};
use capstan_model::digest::sha256;
use capstan_model::kinds::names::CLUSTER_NAME_LABEL;
use capstan_model::object::{FieldPath, ObjectId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::step::{Handed, LastOwnersFile};
use crate::reason::Reason;
use crate::resources::KeyRecipient;

/// What is said of the file, and by which Capstan knows its Secret again.
const FILE: &str = "capstan.dev/owners-key";

/// A file, and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredKubeconfig {
    /// What is decided on.
    pub file: LastOwnersFile,
    /// The owners that it was encrypted to.
    pub recipients: Vec<KeyRecipient>,
    /// Lowercase hex digits.
    pub sha256: String,
    /// The file.
    pub content: Vec<u8>,
}

/// The same without the file, as the annotation holds it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnersAnnotation {
    generation: u64,
    form: OwnersForm,
    input: String,
    recipients: Vec<KeyRecipient>,
    issued_at: Timestamp,
    expires_at: Option<Timestamp>,
    sha256: String,
}

/// The Secret of a cluster.
pub fn id(cluster: &ObjectId) -> ObjectId {
    ObjectId {
        group: String::new(),
        kind: "Secret".to_owned(),
        namespace: cluster.namespace.clone(),
        name: format!("{}-owners-kubeconfig", cluster.name),
    }
}

pub const fn file_name(form: OwnersForm) -> &'static str {
    match form {
        OwnersForm::Certificate | OwnersForm::Admin => AGE_FILE,
        OwnersForm::Login => LOGIN_FILE,
    }
}

/// Whether a Secret is one that Capstan has written.
pub fn is_capstans(secret: &Value) -> bool {
    secret.pointer("/metadata/annotations").is_some_and(|annotations| annotations.get(FILE).is_some())
}

/// Why a folder may not bring a Secret that is there: Capstan has written it.
pub fn bears_mark(object: &RenderedObject, live: &Value) -> Option<Reason> {
    let is_secret = object.id.group.is_empty() && object.id.kind == "Secret";
    let message =
        "Capstan makes the key of a cluster's owners and writes the Secret: remove it from the folder";
    (is_secret && is_capstans(live))
        .then(|| Reason::of_object("SecretIsCapstans", message, object, &FieldPath::root()))
}

/// The content of a Secret of Capstan's; `None` where that is not what Capstan put there.
pub fn read(secret: &Value) -> Option<StoredKubeconfig> {
    let said = secret.pointer("/metadata/annotations")?.get(FILE)?.as_str()?;
    let said: OwnersAnnotation = serde_json::from_str(said).ok()?;
    let content = secret.get("data")?.get(file_name(said.form))?.as_str()?;
    let content = STANDARD.decode(content).ok().filter(|content| sha256(content) == said.sha256)?;
    let OwnersAnnotation { generation, form, input, recipients, issued_at, expires_at, sha256 } = said;
    let file = LastOwnersFile { generation, form, input, issued_at, expires_at };
    let recipients = recipients.iter().map(without_key).collect();
    Some(StoredKubeconfig { file, recipients, sha256, content })
}

/// Others may write the Secret, with any key in it: no key is taken from it.
fn without_key(one: &KeyRecipient) -> KeyRecipient {
    KeyRecipient { key: None, ..one.clone() }
}

/// The Secret that holds a file. It goes with its `Cluster`, which is given as it is live. The label by which
/// `clusterctl move` takes a Secret along is not set: a file stays with who renews it.
pub fn manifest(cluster: &ObjectId, live: &Value, kept: &StoredKubeconfig) -> Value {
    let LastOwnersFile { generation, form, input, issued_at, expires_at } = kept.file.clone();
    let said = OwnersAnnotation {
        generation,
        form,
        input,
        recipients: kept.recipients.iter().map(without_key).collect(),
        issued_at,
        expires_at,
        sha256: kept.sha256.clone(),
    };
    let id = id(cluster);
    let owner = live.get("apiVersion").zip(live.pointer("/metadata/uid")).map(|(api_version, uid)| {
        json!({"apiVersion": api_version, "kind": cluster.kind, "name": cluster.name, "uid": uid})
    });
    let mut manifest = json!({
        "apiVersion": "v1",
        "kind": id.kind,
        "metadata": {
            "name": id.name,
            "namespace": id.namespace,
            "labels": {CLUSTER_NAME_LABEL: cluster.name},
            "annotations": {FILE: json!(said).to_string()},
        },
        "data": {file_name(form): STANDARD.encode(&kept.content)},
    });
    if let Some(owner) = owner {
        manifest["metadata"]["ownerReferences"] = json!([owner]);
    }
    manifest
}

impl Handed {
    /// Counts the content of the Secret as handed out, whether or not that is recorded elsewhere.
    pub fn remember(&mut self, kept: &StoredKubeconfig) {
        let generation = kept.file.generation;
        if (self.generation + 1..FURTHEST).contains(&generation) {
            *self = Self { generation, ..Self::default() };
        }
        if generation == self.generation {
            self.recipients.extend(kept.recipients.iter().map(|one| one.fingerprint.clone()));
        }
    }
}
