//! One service whose objects are in a folder: read, tried and applied inside the cluster.

use std::collections::{BTreeMap, BTreeSet};

use capstan_kustomize::render::RenderedObject;
use capstan_live::applying::{
    ApiRefusal, AppliedInventory, appliers, differs, is_applied_by_capstan, sent, sent_new, sent_over,
};
use capstan_live::services::{Problem, ServiceCause, defines, is_later, stage};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_reconciler_core::services::problem_of;
use futures_util::{StreamExt as _, stream};
use jiff::Timestamp;
use serde_json::Value;

use super::workloads::WorkloadCluster;
use capstan_ports::{ApiKind, ApiObject, As, Contested, KindScope, LiveError, ManagementCluster as _, Run};
use capstan_reconciler_core::resources::Adopt;

/// How many objects are read at a time; requests have their own bound.
const LOOKS: usize = 4;

/// The namespace of objects that name none, as kubectl has it.
pub(super) const DEFAULT_NAMESPACE: &str = "default";

/// One object of a service, beside what is there.
pub(super) struct ServiceObjectLook {
    pub(super) object: RenderedObject,
    pub(super) live: Option<Value>,
    /// Whether applying it would change anything.
    pub(super) differs: bool,
    /// Why its dry run was refused; it is tried again once the other objects of the service exist.
    refused: Option<ApiRefusal>,
}

impl ServiceObjectLook {
    /// An object of the management cluster, which base brings.
    pub(super) fn seen(object: &RenderedObject, live: Option<&Value>) -> Self {
        Self { object: object.clone(), live: live.cloned(), differs: false, refused: None }
    }
}

/// Gives objects their namespaces, by what the cluster serves, and by what the service defines itself.
///
/// # Errors
/// The cluster does not answer.
pub(super) async fn place(
    workload: &WorkloadCluster,
    objects: &mut [RenderedObject],
) -> Result<(), LiveError> {
    let mut scopes: BTreeMap<(String, String), Option<KindScope>> = BTreeMap::new();
    let definitions: Vec<Value> = objects
        .iter()
        .filter(|object| object.id.group == "apiextensions.k8s.io")
        .map(|object| object.value.clone())
        .collect();
    for object in objects.iter() {
        let key = (object.id.group.clone(), object.id.kind.clone());
        if scopes.contains_key(&key) {
            continue;
        }
        let brought = definitions.iter().find(|definition| defines(definition, &key.0, &key.1));
        let scope = match brought {
            Some(definition) => {
                let says = definition.pointer("/spec/scope").and_then(Value::as_str);
                Some(if says == Some("Namespaced") { KindScope::Namespaced } else { KindScope::Cluster })
            }
            None => workload.live.scope(&ApiKind::of_version(&object.api_version, &object.id.kind)).await?,
        };
        scopes.insert(key, scope);
    }
    for object in objects.iter_mut() {
        let scope = scopes.get(&(object.id.group.clone(), object.id.kind.clone())).copied().flatten();
        let metadata = object.value.get_mut("metadata").and_then(Value::as_object_mut);
        match (scope, metadata) {
            (Some(KindScope::Cluster), Some(metadata)) => {
                metadata.shift_remove("namespace");
                object.id.namespace = None;
            }
            (Some(KindScope::Namespaced), Some(metadata)) if object.id.namespace.is_none() => {
                metadata.insert("namespace".to_owned(), DEFAULT_NAMESPACE.into());
                object.id.namespace = Some(DEFAULT_NAMESPACE.to_owned());
            }
            _ => {}
        }
    }
    Ok(())
}

/// Looks at every object and tries those of which it is not known that nothing differs. Writes nothing.
///
/// # Errors
/// The cluster does not answer.
pub(super) async fn look(
    workload: &WorkloadCluster,
    objects: Vec<RenderedObject>,
    now: Timestamp,
) -> Result<Vec<ServiceObjectLook>, LiveError> {
    let one = |object: RenderedObject| async move {
        let Some(named) = ApiObject::of(&object.value) else {
            let (doing, reason) = (format!("looking at {}", object.id), "it has no name".to_owned());
            return Err(LiveError::Malformed { doing, reason });
        };
        let live = workload.live.read(&As::Reconciler, &named).await?;
        let known =
            live.as_ref().is_some_and(|live| workload.tried.knows(&object.id, &object.value, live, now));
        if known {
            return Ok(ServiceObjectLook { object, live, differs: false, refused: None });
        }
        let tried =
            workload.live.apply(&As::Reconciler, &sent(&object.value), Run::Dry, Contested::Take).await;
        match tried {
            Ok(tried) => {
                let differs = !differs(live.as_ref(), &tried).is_empty();
                match &live {
                    Some(live) if !differs => {
                        workload.tried.note_once(&object.id, &object.value, live, now);
                    }
                    _ => workload.tried.forget(&object.id),
                }
                Ok(ServiceObjectLook { object, live, differs, refused: None })
            }
            Err(LiveError::Refused { refusal, .. }) => {
                Ok(ServiceObjectLook { object, live, differs: true, refused: Some(refusal) })
            }
            Err(error) => Err(error),
        }
    };
    let asked: Vec<_> = objects.into_iter().map(one).collect();
    let looks: Vec<Result<ServiceObjectLook, LiveError>> =
        stream::iter(asked).buffered(LOOKS).collect().await;
    looks.into_iter().collect()
}

/// Why nothing of a service is applied, by what was read: objects are refused, or others apply them.
pub(super) fn hindrances(
    looks: &[ServiceObjectLook],
    inventory: &AppliedInventory,
    adopt: Adopt,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for look in looks {
        let id = &look.object.id;
        if let Some(refusal) = &look.refused
            && !waits_for_others(look, refusal, looks)
        {
            problems.push(Problem::of(ServiceCause::Refused(refusal.kind), id, refusal.message.clone()));
        }
        let strangers = strangers(look, inventory);
        if !strangers.is_empty() && adopt != Adopt::Take {
            let words = format!(
                "it was applied by {}, not by Capstan. Allow it to be taken over by `adopt: take`, in the Fleet's \
                 guards or the ManagedCluster's spec",
                strangers.join(", ")
            );
            problems.push(Problem::of(ServiceCause::AdoptionNeeded, id, words));
        }
    }
    problems
}

fn waits_for_others(look: &ServiceObjectLook, refusal: &ApiRefusal, looks: &[ServiceObjectLook]) -> bool {
    let brought = looks.iter().map(|other| (&other.object.id, &other.object.value));
    is_later(&look.object.id, refusal.kind, brought)
}

/// The tools, other than Capstan, that applied an object which Capstan never did.
fn strangers(look: &ServiceObjectLook, inventory: &AppliedInventory) -> Vec<String> {
    let Some(live) = &look.live else { return Vec::new() };
    let uid = live.pointer("/metadata/uid").and_then(Value::as_str);
    let is_known = inventory
        .get(&look.object.id)
        .is_some_and(|entry| entry.uid.is_some() && entry.uid.as_deref() == uid);
    if is_known || is_applied_by_capstan(live) { Vec::new() } else { appliers(live) }
}

/// What applying came to.
#[derive(Default)]
pub(super) struct ApplyResult {
    /// How many objects were written.
    pub(super) written: Vec<ObjectId>,
    /// What could not be.
    pub(super) problems: Vec<Problem>,
}

/// Applies what differs, in the order of stages; `is_over` is asked before each.
///
/// # Errors
/// The cluster does not answer, or this process leads no more. The inventory has what was written until then.
pub(super) async fn apply(
    workload: &WorkloadCluster,
    looks: &mut [ServiceObjectLook],
    inventory: &mut AppliedInventory,
    now: Timestamp,
    is_over: &(dyn Fn() -> bool + Sync),
) -> Result<ApplyResult, LiveError> {
    let mut applied = ApplyResult::default();
    let mut due: Vec<usize> = (0..looks.len()).filter(|at| looks[*at].differs).collect();
    due.sort_by_key(|at| stage(&looks[*at].object.id));
    let mut failed = BTreeSet::new();
    for at in due {
        if is_over() {
            break;
        }
        let (id, stage_of) = (looks[at].object.id.clone(), stage(&looks[at].object.id));
        // What comes after something that is not there would only be refused.
        if failed.iter().any(|earlier| *earlier < stage_of) {
            break;
        }
        match write(workload, &looks[at], inventory).await {
            Ok(value) => {
                workload.tried.note(&id, &looks[at].object.value, &value, now);
                if let Some(uid) = value.pointer("/metadata/uid").and_then(Value::as_str) {
                    inventory.applied(&id, uid);
                }
                looks[at].live = Some(value);
                looks[at].differs = false;
                applied.written.push(id);
            }
            Err(error @ LiveError::Refused { .. }) => {
                let refusal = error.refusal();
                if refusal.is_some_and(|refusal| waits_for_others(&looks[at], refusal, looks)) {
                    let words = "it is applied once the API serves what its service defines";
                    applied.problems.push(Problem::of(ServiceCause::ObjectMissing, &id, words));
                } else {
                    failed.insert(stage_of);
                    applied.problems.extend(problem_of(&error, Some(&id)));
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(applied)
}

async fn write(
    workload: &WorkloadCluster,
    look: &ServiceObjectLook,
    inventory: &AppliedInventory,
) -> Result<Value, LiveError> {
    let from = strangers(look, inventory);
    if !from.is_empty()
        && let Some(object) = ApiObject::of(&look.object.value)
    {
        let nothing: [FieldPath; 0] = [];
        workload.live.take_over(&As::Reconciler, &object, &from, &nothing).await?;
    }
    let manifest = match &look.live {
        // It was changed just now, by this.
        Some(_) if !from.is_empty() => sent(&look.object.value),
        Some(live) => sent_over(&look.object.value, live),
        None => sent_new(&look.object.value),
    };
    workload.live.apply(&As::Reconciler, &manifest, Run::Real, Contested::Take).await
}
