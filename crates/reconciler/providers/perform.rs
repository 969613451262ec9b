//! One step, performed.

use capstan_live::applying::{RefusalKind, sent_new, sent_over};
use capstan_live::installing::pass::{
    InstallPhase, ProviderRecord, ProviderStep, Stopped, is_definition, superseded, wait,
};
use capstan_model::object::ObjectId;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::look::{as_applied, at_a_time};
use super::ports::ProviderPorts;
use super::{migrate, records, webhooks};
use capstan_ports::{
    ApiObject, As, Contested, Deleted, LiveError, ManagementCluster as _, ObjectPart, Preconditions, Run,
};
use capstan_reconciler_core::providers::member::{FINALIZER, PassMember};
use capstan_reconciler_core::providers::members::Members;
use capstan_reconciler_core::providers::prepared::AppliedObject;
use capstan_reconciler_core::providers::sights::{Live, SeenProviderObject, Sights};

/// What became of a step.
pub(super) enum Performed {
    Done,
    /// It is not, for now: why.
    Waits(String),
}

/// Performs a step. What the API server refuses is said, not an error.
pub(super) async fn perform(
    ports: &ProviderPorts,
    by: &As,
    members: &mut Members,
    sights: &mut Sights,
    id: &ObjectId,
    step: ProviderStep,
) -> Result<Performed, LiveError> {
    let Some(member) = members.member(id) else { return Ok(Performed::Done) };
    let done = match step {
        ProviderStep::Note(record) => {
            if record.phase != InstallPhase::Removing
                && record.is_under_way()
                && let Some(held) = hold(ports, by, member).await?
                && let Some(member) = members.member_mut(id)
            {
                member.object = Some(held);
            }
            return note(ports, by, members, id, &record).await.map(|()| Performed::Done);
        }
        ProviderStep::Ask { webhooks, then } => {
            if let Some(why) = webhooks::ask(ports, by, members, &member.namespace, &webhooks).await? {
                return waits(ports, by, members, id, why).await;
            }
            return note(ports, by, members, id, &then).await.map(|()| Performed::Done);
        }
        ProviderStep::Migrate { definition, versions } => {
            sights.forget(&definition);
            said(migrate::migrate(ports, by, &definition, &versions).await)
        }
        ProviderStep::Scale(deployments) => {
            said(scale(ports, by, id, sights, &deployments).await.map(|()| None))
        }
        ProviderStep::Apply { objects, untried, .. } => {
            let (applied, outcome) = apply(ports, by, member, sights, &objects, &untried).await;
            let outcome = said(outcome.map(|()| None));
            if let Ok(Some(_)) = &outcome
                && let Some(record) = unbegun(member, &objects, applied)
            {
                note(ports, by, members, id, &record).await?;
            }
            outcome
        }
        ProviderStep::Delete(objects) => said(delete(ports, by, id, sights, &objects).await.map(|()| None)),
        ProviderStep::Forget => {
            let_go(ports, by, member).await?;
            if let Some(remembered) = &member.remembered
                && records::forget(ports, by, remembered).await? == Deleted::Changed
            {
                return Ok(Performed::Waits("its record was changed meanwhile".to_owned()));
            }
            members.all.retain(|member| member.id != *id);
            return Ok(Performed::Done);
        }
    };
    match done? {
        None => Ok(Performed::Done),
        Some(why) => waits(ports, by, members, id, why).await,
    }
}

/// A step cannot be done for now. What that comes to in the end is written down, where it is due.
async fn waits(
    ports: &ProviderPorts,
    by: &As,
    members: &mut Members,
    id: &ObjectId,
    why: String,
) -> Result<Performed, LiveError> {
    let record = members.member(id).and_then(|member| member.remembered.as_ref()).map(|one| &one.record);
    let waited = record.map(|record| wait(record, why.clone(), ports.patience()));
    if let Some(Ok(ProviderStep::Note(record))) = waited {
        note(ports, by, members, id, &record).await?;
    }
    Ok(Performed::Waits(why))
}

/// A refusal of the API server, as what is waited for.
fn said(outcome: Result<Option<String>, LiveError>) -> Result<Option<String>, LiveError> {
    match outcome {
        Err(error @ (LiveError::Refused { .. } | LiveError::Malformed { .. })) => Ok(Some(error.to_string())),
        outcome => outcome,
    }
}

/// Writes down what is remembered.
async fn note(
    ports: &ProviderPorts,
    by: &As,
    members: &mut Members,
    id: &ObjectId,
    record: &ProviderRecord,
) -> Result<(), LiveError> {
    let Some(member) = members.member_mut(id) else { return Ok(()) };
    member.remembered = Some(records::write(ports, by, member, record).await?);
    Ok(())
}

/// Where no definition of an upgrade could be applied, none has changed: the old Deployments may come back. That is known only
/// where all of its definitions were to be applied by this one step.
fn unbegun(member: &PassMember, objects: &[ObjectId], applied: usize) -> Option<ProviderRecord> {
    let record = member.remembered.as_ref().map(|one| &one.record)?;
    let mut definitions = member.manifests().keys().filter(|id| is_definition(id));
    let is_first =
        applied == 0 && objects.iter().all(is_definition) && definitions.all(|id| objects.contains(id));
    let may_go_back = is_first && record.phase == InstallPhase::Applying && !record.stopped.is_empty();
    may_go_back.then(|| ProviderRecord {
        phase: InstallPhase::Preparing,
        definitions_changed: false,
        ..record.clone()
    })
}

async fn scale(
    ports: &ProviderPorts,
    by: &As,
    provider: &ObjectId,
    sights: &mut Sights,
    deployments: &[Stopped],
) -> Result<(), LiveError> {
    for deployment in deployments {
        let id = deployment.id();
        let Some(live) = sights.live(provider, &id).map(|live| live.object.clone()) else { continue };
        sights.forget(&id);
        let patch = json!([
            {"op": "replace", "path": "/metadata/resourceVersion", "value": live["metadata"]["resourceVersion"]},
            {"op": "add", "path": "/spec/replicas", "value": deployment.replicas},
        ]);
        ports.tried.forget(&id);
        match ports.live.patch(by, &ApiObject::from(&id), ObjectPart::Whole, &patch, Run::Real).await {
            // Its status is written all the time: the next look tries again.
            Err(error) if error.is_conflict() => {}
            outcome => drop(outcome?),
        }
    }
    Ok(())
}

/// Applies objects of one stage; those that could not be tried before are tried first, all of them. How many were applied.
async fn apply(
    ports: &ProviderPorts,
    by: &As,
    member: &PassMember,
    sights: &mut Sights,
    objects: &[ObjectId],
    untried: &[ObjectId],
) -> (usize, Result<(), LiveError>) {
    for manifest in untried.iter().filter_map(|id| member.manifests().get(id)) {
        if let Err(error) = ports.live.apply(by, &manifest.value(), Run::Dry, Contested::Take).await {
            return (0, Err(error));
        }
    }
    let each = objects.iter().filter_map(|id| Some((id, member.manifests().get(id)?)));
    let each = each.map(|(id, manifest)| {
        let live = sights.live(&member.id, id);
        async move { (id, apply_one(ports, by, member, id, manifest, live).await) }
    });
    // All requests run to their end; the first error is returned.
    let outcomes: Vec<_> =
        stream::iter(each.collect::<Vec<_>>()).buffered(at_a_time(objects)).collect().await;
    let (mut applied, mut told) = (0, Ok(()));
    for (id, outcome) in outcomes {
        sights.forget(id);
        match outcome {
            Ok(sight) => {
                applied += 1;
                sight.into_iter().for_each(|sight| sights.note(&member.id, id, sight));
            }
            Err(error) => told = told.and(Err(error)),
        }
    }
    (applied, told)
}

/// What exists then; `None` if it changed since it was read.
async fn apply_one(
    ports: &ProviderPorts,
    by: &As,
    member: &PassMember,
    id: &ObjectId,
    manifest: &AppliedObject,
    seen: Option<&Live>,
) -> Result<Option<SeenProviderObject>, LiveError> {
    let live = seen.map(|live| &live.object);
    let sent = match (live, seen) {
        (Some(_), Some(seen)) if !seen.installers.is_empty() => {
            ports.live.take_over(by, &manifest.object, &seen.installers, &[]).await?;
            manifest.value()
        }
        // What was deleted since the look is not made again by this.
        (Some(live), _) => sent_over(&manifest.value(), live),
        // What was made since the look is not written over.
        (None, _) => sent_new(&manifest.value()),
    };
    match ports.live.apply(by, &sent, Run::Real, Contested::Take).await {
        Ok(answer) => {
            ports.tried.note_digest(id, manifest.digest, &answer, ports.clock.now());
            metrics::counter!("capstan_applied_objects_total", "kind" => id.kind.clone()).increment(1);
            Ok(Some(as_applied(ports, member, id, manifest, &answer)))
        }
        // The next look sees it.
        Err(error) if error.is_conflict() => Ok(None),
        Err(error) => Err(error),
    }
}

async fn delete(
    ports: &ProviderPorts,
    by: &As,
    provider: &ObjectId,
    sights: &mut Sights,
    objects: &[ObjectId],
) -> Result<(), LiveError> {
    for id in objects {
        let Some(live) = sights.live(provider, id).map(|live| live.object.clone()) else { continue };
        sights.forget(id);
        match ports.live.delete(by, &ApiObject::from(id), as_seen(&live), Run::Real).await? {
            Deleted::Gone => tracing::info!(object = %id, "deleted"),
            // Another client may have taken it over meanwhile: the next look decides again.
            Deleted::Changed => tracing::debug!(object = %id, "changed since it was read: not deleted"),
            Deleted::Terminating | Deleted::Absent | Deleted::Replaced => {}
        }
        ports.tried.forget(id);
    }
    Ok(())
}

/// The state of the object when it was read: a deletion takes only the object that was decided on.
pub(super) fn as_seen(object: &Value) -> Preconditions<'_> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let uid = text("/metadata/uid").unwrap_or_default();
    Preconditions { uid, resource_version: text("/metadata/resourceVersion") }
}

/// Deletes downloads that nobody needs any more.
pub(super) async fn sweep(ports: &ProviderPorts, by: &As, members: &Members) -> Result<(), LiveError> {
    let is_needed = |kind: &str, name: &str, version: &str| {
        members.all.iter().filter(|one| one.kind.word() == kind && one.name == name).any(|one| {
            let installed = one.record().and_then(|record| record.installed);
            one.version.as_deref() == Some(version)
                || installed.is_some_and(|installed| installed.version == version)
        })
    };
    for map in superseded(&members.config_maps, is_needed) {
        let Some(object) = ApiObject::of(map) else { continue };
        match ports.live.delete(by, &object, as_seen(map), Run::Real).await {
            Err(LiveError::Refused { refusal, .. }) => {
                tracing::warn!(%object, %refusal, "an unused download is not deleted");
            }
            outcome => drop(outcome?),
        }
    }
    Ok(())
}

/// The provider object stays, when somebody deletes it, until what it brought is gone. The object then, where it was changed.
async fn hold(ports: &ProviderPorts, by: &As, member: &PassMember) -> Result<Option<Value>, LiveError> {
    let Some(object) = &member.object else { return Ok(None) };
    let Some(named) = ApiObject::of(object).filter(|_| !member.is_held()) else { return Ok(None) };
    let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    let mut all = finalizers.cloned().unwrap_or_default();
    all.push(json!(FINALIZER));
    let patch = json!([
        {"op": "replace", "path": "/metadata/resourceVersion", "value": object["metadata"]["resourceVersion"]},
        {"op": "add", "path": "/metadata/finalizers", "value": all},
    ]);
    ports.live.patch(by, &named, ObjectPart::Whole, &patch, Run::Real).await.map(Some)
}

/// The provider object may go.
async fn let_go(ports: &ProviderPorts, by: &As, member: &PassMember) -> Result<(), LiveError> {
    let Some(named) = member.object.as_ref().and_then(ApiObject::of) else { return Ok(()) };
    let Some(object) = ports.live.read(by, &named).await? else { return Ok(()) };
    let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    let Some(mut left) = finalizers.cloned() else { return Ok(()) };
    left.retain(|one| one != FINALIZER);
    let patch = json!([
        {"op": "replace", "path": "/metadata/resourceVersion", "value": object["metadata"]["resourceVersion"]},
        {"op": "replace", "path": "/metadata/finalizers", "value": left},
    ]);
    match ports.live.patch(by, &named, ObjectPart::Whole, &patch, Run::Real).await {
        Err(LiveError::Refused { refusal, .. }) if refusal.kind == RefusalKind::NotFound => Ok(()),
        outcome => outcome.map(drop),
    }
}
