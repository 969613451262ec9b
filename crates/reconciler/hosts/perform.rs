//! Performs one write, and notes its result.

use capstan_hosts::cluster::{self, NamespacedName, SipCluster};
use capstan_hosts::host::{self, Host};
use capstan_hosts::pass::{HostStep, StepRequest};
use capstan_hosts::services::issuer::Authority;
use capstan_live::applying::RefusalKind;
use capstan_live::live_objects::MANAGER;
use serde_json::Value;

use super::facts::OwnHostFacts;
use super::{HostPorts, MANAGED_BY, host_keys, issuers, tenant};
use capstan_ports::{
    ApiKind, ApiObject, As, Contested, LiveError, ManagementCluster as _, ObjectPart, Preconditions, Run,
};
use capstan_reconciler_core::hosts::HostMemory;

/// What a write changed.
pub(super) enum HostWrite {
    /// The SIPCluster is like that now.
    Cluster(Value),
    Host(Value),
    /// An object of a service is.
    Service(Value),
    /// A Secret with a certificate is, and so is the CA that signed it, in this Secret.
    Certificate(Value, NamespacedName, Authority),
    /// An object of a service with this UID is gone.
    Gone(String),
}

/// Why a write changed nothing.
pub(super) enum HostWriteFailure {
    /// Another client wrote meanwhile: the SIPCluster is read and decided on again.
    Stale(String),
    /// It is not to be done, for a reason that people see.
    Refused(String),
    /// The API server does not answer, or this process leads no more.
    Away(LiveError),
}

impl HostWriteFailure {
    fn of(error: LiveError, is_patch: bool) -> Self {
        let Some(refusal) = error.refusal() else {
            return match error {
                LiveError::Malformed { .. } | LiveError::TooMuch { .. } => Self::Refused(error.to_string()),
                error => Self::Away(error),
            };
        };
        match refusal.kind {
            RefusalKind::Conflict | RefusalKind::Contested | RefusalKind::NotFound => {
                Self::Stale(error.to_string())
            }
            // The UID that a patch tests is another's, or a label that it takes off has gone.
            RefusalKind::Invalid | RefusalKind::Schema if is_patch => Self::Stale(error.to_string()),
            _ => Self::Refused(error.to_string()),
        }
    }
}

/// Performs a step. Before it applies an object that was absent, it reads that object: one that another client made
/// under that name is left alone.
pub(super) async fn perform(
    ports: &HostPorts,
    cluster: &SipCluster,
    own: &OwnHostFacts,
    step: &HostStep,
) -> Result<HostWrite, HostWriteFailure> {
    let by = tenant(&cluster.metadata.namespace);
    let live = ports.live.as_ref();
    let of_patch = |error| HostWriteFailure::of(error, true);
    let of_apply = |error| HostWriteFailure::of(error, false);
    match step {
        HostStep::MakeHostKeys(name) => {
            let secret = host_keys::make(cluster, name).ok_or_else(|| {
                HostWriteFailure::Refused(format!(
                    "cannot make a key for {name}: the system gives no random bytes"
                ))
            })?;
            apply_object(ports, cluster, own, &secret, UnlabelledRest::Data).await.map(HostWrite::Service)
        }
        HostStep::MakeCertificate { secret, host, authority } => {
            let by = NamespacedName::new(&cluster.metadata.namespace, authority);
            let made = issuers::make(ports, cluster, secret, host, &by).await.map_err(of_apply)?;
            let made = made.ok_or_else(|| HostWriteFailure::Stale(format!("Secret {by} is gone")))?;
            let (object, authority) = made.map_err(HostWriteFailure::Refused)?;
            let applied = apply_object(ports, cluster, own, &object, UnlabelledRest::Nothing).await?;
            Ok(HostWrite::Certificate(applied, by, authority))
        }
        HostStep::Delete { kind: (version, kind), object, uid } => {
            let object = ApiObject {
                kind: ApiKind::of_version(version, kind),
                namespace: Some(object.namespace.clone()),
                name: object.name.clone(),
            };
            let only = Preconditions { uid, resource_version: None };
            live.delete(&by, &object, only, Run::Real).await.map_err(of_apply)?;
            Ok(HostWrite::Gone(uid.clone()))
        }
        HostStep::Apply(_)
        | HostStep::SetFinalizers(_)
        | HostStep::WriteStatus(_)
        | HostStep::Label { .. }
        | HostStep::Unlabel { .. } => {
            let me = ApiObject {
                kind: super::sip_clusters(),
                namespace: Some(cluster.metadata.namespace.clone()),
                name: cluster.metadata.name.clone(),
            };
            match step.request(cluster) {
                Some(StepRequest::Apply(object)) => {
                    apply_object(ports, cluster, own, &object, UnlabelledRest::Nothing)
                        .await
                        .map(HostWrite::Service)
                }
                Some(StepRequest::ApplyUnforced(manifest)) => {
                    let applied = live.label(&by, &manifest).await;
                    applied.map(HostWrite::Host).map_err(of_apply)
                }
                Some(StepRequest::PatchStatus(patch)) => {
                    // A tenant's account has no right on a status: only Capstan writes it.
                    let patched =
                        live.patch(&As::Reconciler, &me, ObjectPart::Status, &patch, Run::Real).await;
                    patched.map(HostWrite::Cluster).map_err(of_patch)
                }
                Some(StepRequest::Patch(patch)) => {
                    let (object, is_host) = match step {
                        HostStep::Unlabel { host, .. } => (
                            ApiObject {
                                kind: super::hosts(),
                                namespace: Some(host.namespace.clone()),
                                name: host.name.clone(),
                            },
                            true,
                        ),
                        _ => (me, false),
                    };
                    let patched = live.patch(&by, &object, ObjectPart::Whole, &patch, Run::Real).await;
                    patched.map(if is_host { HostWrite::Host } else { HostWrite::Cluster }).map_err(of_patch)
                }
                Some(StepRequest::Delete(uid)) => Ok(HostWrite::Gone(uid)),
                None => Err(HostWriteFailure::Stale("there is nothing to send".to_owned())),
            }
        }
    }
}

/// What stays of an object of ours that was not found by its labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnlabelledRest {
    /// Nothing: the whole of it can be made again.
    Nothing,
    /// What it holds, which people know: a host key.
    Data,
}

async fn apply_object(
    ports: &HostPorts,
    cluster: &SipCluster,
    own: &OwnHostFacts,
    object: &Value,
    kept: UnlabelledRest,
) -> Result<Value, HostWriteFailure> {
    let by = tenant(&cluster.metadata.namespace);
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let mut object = object.clone();
    if !own.has(text("/kind"), text("/metadata/name"))
        && let Some(named) = ApiObject::of(&object)
    {
        let found = ports.live.read(&by, &named).await.map_err(|error| HostWriteFailure::of(error, false))?;
        match found.map(|found| (whose(&found, &object, cluster), found)) {
            Some((Whose::Listed, _)) => {
                return Err(HostWriteFailure::Stale(format!("{named} was created meanwhile")));
            }
            // Its labels come back.
            Some((Whose::Ours, found)) if kept == UnlabelledRest::Data => {
                object["data"] = found["data"].clone();
                object["metadata"]["annotations"] = found["metadata"]["annotations"].clone();
            }
            None | Some((Whose::Ours, _)) => {}
            Some((Whose::Others, _)) => {
                return Err(HostWriteFailure::Refused(format!(
                    "{named} already exists and does not belong to this SIPCluster: delete it, or choose another port, which changes the name"
                )));
            }
        }
    }
    let applied = ports.live.apply(&by, &object, Run::Real, Contested::Take).await;
    applied.map_err(|error| HostWriteFailure::of(error, false))
}

/// Whose an object is that bears the name of a service's.
enum Whose {
    /// It is found by its labels.
    Listed,
    /// Capstan made it for this very SIPCluster, and somebody took labels off.
    Ours,
    /// Somebody else's.
    Others,
}

fn whose(found: &Value, wished: &Value, cluster: &SipCluster) -> Whose {
    let label = |object: &Value, key: &str| object["metadata"]["labels"][key].clone();
    let is_same = label(found, host::CLUSTER_NAME) == label(wished, host::CLUSTER_NAME);
    if is_same && label(found, MANAGED_BY.0) == MANAGED_BY.1 {
        return Whose::Listed;
    }
    let entries = |key: &str| found["metadata"][key].as_array().into_iter().flatten();
    let is_owned = entries("ownerReferences").any(|owner| owner["uid"] == cluster.metadata.uid.as_str());
    let is_applied =
        entries("managedFields").any(|entry| entry["manager"] == MANAGER && entry["operation"] == "Apply");
    if is_owned && is_applied { Whose::Ours } else { Whose::Others }
}

/// Notes what a write changed. If the answer cannot be read, the namespace is read again.
pub(super) fn note(memory: &mut HostMemory, cluster: &SipCluster, done: HostWrite) {
    let namespace = &cluster.metadata.namespace;
    match done {
        HostWrite::Cluster(object) => match SipCluster::read(&object) {
            Ok(cluster) => memory.note_cluster(cluster),
            Err(error) => {
                tracing::warn!(kind = cluster::KIND, "{error}");
                memory.doubt(namespace);
            }
        },
        HostWrite::Host(object) => match Host::read(&object) {
            Ok(host) => memory.note_host(host),
            Err(error) => {
                tracing::warn!(kind = host::KIND, "{error}");
                memory.doubt(namespace);
            }
        },
        HostWrite::Service(object) => memory.note_service(object),
        HostWrite::Certificate(object, by, authority) => {
            memory.note_service(object);
            // It may be another than was known: the certificate would be none of that one, and be made again and again.
            memory.signers.insert(by, Ok(authority));
        }
        HostWrite::Gone(uid) => memory.note_gone(namespace, &uid),
    }
}
