//! What is remembered of each provider: the `ManagedProvider` beside its object.

use capstan_live::applying::sent_new;
use capstan_live::installing::pass::Record;
use capstan_providers::ProviderKind;
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::ports::Ports;
use capstan_ports::{
    ApiKind, ApiObject, As, Contested, Deleted, LiveError, ManagementCluster as _, ObjectPart, Preconditions,
    Run,
};

/// Kind and version of what is remembered.
const API_VERSION: &str = "capstan.dev/v1alpha1";
const KIND: &str = "ManagedProvider";

/// A `ManagedProvider`, as the API server has it.
#[derive(Debug, Clone)]
pub(super) struct Remembered {
    pub(super) kind: ProviderKind,
    pub(super) namespace: String,
    /// The provider's name.
    pub(super) name: String,
    uid: String,
    resource_version: String,
    pub(super) record: Record,
}

/// What is remembered cannot be read: nothing is done for that provider until it can.
pub(super) struct Unreadable {
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) why: String,
}

/// All of them. One that cannot be read stops no other provider.
pub(super) async fn read_all(
    ports: &Ports,
    by: &As,
) -> Result<(Vec<Remembered>, Vec<Unreadable>), LiveError> {
    let kind = ApiKind::of_version(API_VERSION, KIND);
    let (mut remembered, mut unreadable) = (Vec::new(), Vec::new());
    for object in ports.live.list(by, &kind, None, &[]).await? {
        match read(&object) {
            Ok(one) => remembered.push(one),
            Err(error) => {
                tracing::warn!(%error, "nothing is done for a provider: what is remembered of it cannot be read");
                unreadable.push(Unreadable {
                    kind: text(&object, "/spec/kind").to_owned(),
                    namespace: text(&object, "/metadata/namespace").to_owned(),
                    name: text(&object, "/spec/name").to_owned(),
                    why: error.to_string(),
                });
            }
        }
    }
    Ok((remembered, unreadable))
}

fn read(object: &Value) -> Result<Remembered, LiveError> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let namespace = text("/metadata/namespace").to_owned();
    let malformed = |reason: String| LiveError::Malformed {
        doing: format!("reading {KIND} {namespace}/{}", text("/metadata/name")),
        reason: format!("{reason}; are the definitions of `capstan crds` installed?"),
    };
    let kind = ProviderKind::parse(text("/spec/kind"))
        .ok_or_else(|| malformed(format!("`spec.kind` is no kind of provider: `{}`", text("/spec/kind"))))?;
    let record = match object.get("status") {
        None => Record::default(),
        Some(status) => Record::deserialize(status)
            .map_err(|error| malformed(format!("its status cannot be read ({error})")))?,
    };
    Ok(Remembered {
        kind,
        name: text("/spec/name").to_owned(),
        uid: text("/metadata/uid").to_owned(),
        resource_version: text("/metadata/resourceVersion").to_owned(),
        namespace: namespace.clone(),
        record,
    })
}

fn object(kind: ProviderKind, namespace: &str, name: &str) -> ApiObject {
    ApiObject {
        kind: ApiKind::of_version(API_VERSION, KIND),
        namespace: Some(namespace.to_owned()),
        name: format!("{}-{name}", kind.word()),
    }
}

/// Writes down what is remembered of a provider; makes the object where there is none.
pub(super) async fn write(
    ports: &Ports,
    by: &As,
    (kind, namespace, name): (ProviderKind, &str, &str),
    known: Option<&Remembered>,
    record: &Record,
) -> Result<Remembered, LiveError> {
    let object = object(kind, namespace, name);
    let made;
    let known = match known {
        Some(known) => known,
        None => {
            let manifest = json!({
                "apiVersion": API_VERSION, "kind": KIND,
                "metadata": {"name": object.name, "namespace": namespace,
                    "labels": {"app.kubernetes.io/managed-by": "capstan", "cluster.x-k8s.io/provider": kind.label(name)}},
                "spec": {"kind": kind.name(), "name": name},
            });
            // What another leader noted since is not written over.
            made = read(&ports.live.apply(by, &sent_new(&manifest), Run::Real, Contested::Take).await?)?;
            &made
        }
    };
    let status = serde_json::to_value(record).map_err(|error| LiveError::Malformed {
        doing: format!("writing {object}"),
        reason: error.to_string(),
    })?;
    let patch = json!([
        {"op": "replace", "path": "/metadata/resourceVersion", "value": known.resource_version},
        {"op": "add", "path": "/status", "value": status},
    ]);
    read(&ports.live.patch(by, &object, ObjectPart::Status, &patch, Run::Real).await?)
}

/// Nothing is remembered any more, where it is as it was read or written last.
pub(super) async fn forget(ports: &Ports, by: &As, known: &Remembered) -> Result<Deleted, LiveError> {
    let object = object(known.kind, &known.namespace, &known.name);
    let only = Preconditions { uid: &known.uid, resource_version: Some(&known.resource_version) };
    ports.live.delete(by, &object, only, Run::Real).await
}

/// A text in an object, at a JSON pointer; nothing where there is none.
pub(super) fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
