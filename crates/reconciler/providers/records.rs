//! What is remembered of each provider: the `ManagedProvider` beside its object.

use capstan_live::applying::sent_new;
use capstan_live::installing::pass::ProviderRecord;
use capstan_reconciler_core::providers::member::PassMember;
use capstan_reconciler_core::providers::record::{API_VERSION, KIND, Remembered, object, read, text};
use serde_json::json;

use super::ports::ProviderPorts;
use capstan_ports::{
    ApiKind, As, Contested, Deleted, LiveError, ManagementCluster as _, ObjectPart, Preconditions, Run,
};

/// What is remembered cannot be read: nothing is done for that provider until it can.
pub(super) struct Unreadable {
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) why: String,
}

/// All of them. One that cannot be read stops no other provider.
pub(super) async fn read_all(
    ports: &ProviderPorts,
    by: &As,
) -> Result<(Vec<Remembered>, Vec<Unreadable>), LiveError> {
    let kind = ApiKind::of_version(API_VERSION, KIND);
    let (mut remembered, mut unreadable) = (Vec::new(), Vec::new());
    for object in ports.live.list(by, &kind, None, &[]).await? {
        match read(&object) {
            Ok(one) => remembered.push(one),
            Err(error) => {
                tracing::warn!(%error, "Capstan does nothing for a provider: its record cannot be read");
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

/// Writes down what is remembered of a provider; makes the object where there is none.
pub(super) async fn write(
    ports: &ProviderPorts,
    by: &As,
    of: &PassMember,
    record: &ProviderRecord,
) -> Result<Remembered, LiveError> {
    let (kind, namespace, name) = (of.kind, &of.namespace, &of.name);
    let object = object(kind, namespace, name);
    let made;
    let known = match &of.remembered {
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
pub(super) async fn forget(ports: &ProviderPorts, by: &As, known: &Remembered) -> Result<Deleted, LiveError> {
    let object = object(known.kind, &known.namespace, &known.name);
    let only = Preconditions { uid: &known.uid, resource_version: Some(&known.resource_version) };
    ports.live.delete(by, &object, only, Run::Real).await
}
