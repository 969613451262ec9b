//! The provider set of the management cluster as a folder that is applied: with whose rights, who installs what it asks
//! for, and whether that is ready.
//!
//! A set is handled like every folder: boundary, dry run, inventory, tombstones, status. This file has what is
//! different. It is applied as the service account [`SERVICE_ACCOUNT`] of the Fleet's own namespace, which no folder
//! can name: the right to write provider objects decides what runs here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use capstan_kustomize::render::RenderedObject;
use capstan_live::installing::{
    ADOPT, APPS, DEFINITION, DEPLOYMENT, InUse, InstallOwner, LEASE, LEASE_KIND, OPERATOR_LABELS,
    OWNED_ELSEWHERE, OwnerFacts, PROVIDER_LABEL, SetFacts, Sightings, WORKLOADS, definition_may_go,
    is_provider, judge_set, owner,
};
use capstan_live::live_objects::{LiveObjects, identity};
use capstan_live::rollout::observed::RolloutVerdict;
use capstan_model::finding::Severity;
use capstan_model::ids::ClusterId;
use capstan_model::object::ObjectId;
use capstan_plan::settings::{Deletion, ProvidersBy, RepositorySettings, Tombstone};
use capstan_providers::{COMPONENTS_ANNOTATION, ProviderKind, RecordedComponents, SERVICE_ACCOUNT};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::ports::FleetRecord;
use capstan_fleet::generator::{Fleet, Refused};
use capstan_ports::{ApiKind, ApiObject, As, Deleted, LiveError, ManagementCluster, Preconditions, Run};
use capstan_reconciler_core::reason::Reason;
use capstan_reconciler_core::resources::ServiceAccountSpec;
use capstan_reconciler_core::unwanted::Unwanted;

/// Why a set that is not taken over yet says more than that.
const ADOPTION_PREVIEW: &str = "AdoptionPreview";
/// How many objects of a definition are named.
const NAMED: usize = 5;

/// What was seen of the Cluster API operators here, from look to look.
#[derive(Debug)]
pub struct Operators {
    began: Instant,
    sightings: Mutex<Sightings>,
    /// What taking over would change of the providers that they installed, by provider object.
    previews: Mutex<BTreeMap<ObjectId, String>>,
}

impl Default for Operators {
    fn default() -> Self {
        Self { began: Instant::now(), sightings: Mutex::default(), previews: Mutex::default() }
    }
}

impl Operators {
    /// Who installs providers here.
    ///
    /// # Errors
    /// Deployments or Leases cannot be listed.
    pub async fn look(&self, live: &dyn ManagementCluster, by: &As) -> Result<InstallOwner, LiveError> {
        let deployments =
            live.list(by, &ApiKind::preferred(APPS, DEPLOYMENT), None, &OPERATOR_LABELS).await?;
        let all = live.list(by, &ApiKind::preferred(LEASE_KIND.0, LEASE_KIND.1), None, &[]).await?;
        let is_its = |lease: &Value| lease.pointer("/metadata/name").and_then(Value::as_str) == Some(LEASE);
        let leases: Vec<Value> = all.into_iter().filter(is_its).collect();
        let at = self.began.elapsed();
        let mut sightings = self.sightings.lock().unwrap_or_else(PoisonError::into_inner);
        sightings.look(&leases, at);
        Ok(owner(&OwnerFacts { deployments: &deployments, leases: &leases, sightings: &sightings, at }))
    }

    /// What taking over would change, as it was found out last.
    pub fn note_previews(&self, previews: BTreeMap<ObjectId, String>) {
        *self.previews.lock().unwrap_or_else(PoisonError::into_inner) = previews;
    }

    /// The same of the provider objects among these.
    fn previews_of(&self, objects: &[RenderedObject]) -> Vec<Reason> {
        let known = self.previews.lock().unwrap_or_else(PoisonError::into_inner);
        let told = objects.iter().filter_map(|object| {
            let message = known.get(&object.id)?.clone();
            let object = Some(object.id.clone());
            Some(Reason { severity: Severity::Warning, object, ..Reason::plain(ADOPTION_PREVIEW, message) })
        });
        told.collect()
    }
}

/// The account as which a folder is applied.
pub fn applied_as(settings: &RepositorySettings, id: &ClusterId, fleet: &FleetRecord) -> ServiceAccountSpec {
    if settings.names_providers(id) {
        return ServiceAccountSpec {
            name: SERVICE_ACCOUNT.to_owned(),
            namespace: Some(fleet.key.namespace.clone()),
        };
    }
    fleet.spec.service_account.clone()
}

/// What was found out about a set besides its objects.
#[derive(Debug)]
pub(super) struct ObservedSet {
    /// Who applies it.
    pub(super) by: ProvidersBy,
    owner: InstallOwner,
}

/// What the settings say of a folder that is a provider set, and of nothing else.
pub(super) fn by(settings: &RepositorySettings, id: &ClusterId) -> Option<ProvidersBy> {
    settings.providers_of(id).map(|(_, providers)| providers.by)
}

/// Notes on the provider objects of a set what its record says of their components: Capstan, where it installs them, takes
/// nothing else.
pub(super) fn note_components(
    fleet: &Fleet,
    id: &ClusterId,
    objects: &mut [RenderedObject],
) -> Result<(), Refused> {
    if by(fleet.settings(), id) != Some(ProvidersBy::Capstan) {
        return Ok(());
    }
    let records = fleet.own_settings(id)?.components;
    for object in objects.iter_mut().filter(|object| is_provider(&object.id)) {
        let Some(kind) = ProviderKind::parse(&object.id.kind) else { continue };
        let Some(record) = records.get(&kind.label(&object.id.name)) else { continue };
        let version = object.value.pointer("/spec/version").and_then(Value::as_str);
        if version.is_some_and(|version| version != record.version) {
            continue;
        }
        let (version, sha256) = (record.version.clone(), record.sha256.clone());
        mark(&mut object.value, COMPONENTS_ANNOTATION, RecordedComponents { version, sha256 }.annotation());
    }
    Ok(())
}

/// Notes on the provider objects of a set that what others installed for them may be taken over.
pub(super) fn note_adoption(objects: &mut [RenderedObject]) {
    for object in objects.iter_mut().filter(|object| is_provider(&object.id)) {
        mark(&mut object.value, ADOPT, "take".to_owned());
    }
}

/// Sets an annotation.
fn mark(object: &mut Value, key: &str, value: String) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(key.to_owned(), value.into());
    }
}

/// Why tombstones of a set cannot be obeyed.
pub(super) fn refuse_tombstones(tombstones: &Deletion) -> Option<Reason> {
    matches!(tombstones, Deletion::Cluster).then(|| {
        Reason::plain(
            "UselessTombstone",
            "`delete: cluster` is for clusters: write a tombstone for each provider to delete",
        )
    })
}

/// Reads what a set is judged by: the workloads of its providers, and who installs.
///
/// # Errors
/// Capstan was to install, and another operator does; or the API server does not answer.
pub(super) async fn observe(
    operators: &Operators,
    live: &dyn ManagementCluster,
    as_whom: &As,
    by: ProvidersBy,
    objects: &[RenderedObject],
    found: &mut LiveObjects,
) -> Result<ObservedSet, Unwanted> {
    let owner = operators.look(live, as_whom).await?;
    if let (ProvidersBy::Capstan, Some(refusal)) = (by, owner.refusal()) {
        let mut reasons = vec![Reason::plain(OWNED_ELSEWHERE, refusal)];
        reasons.extend(operators.previews_of(objects));
        return Err(Unwanted::Refused(reasons));
    }
    let mut asked = BTreeSet::new();
    for id in objects.iter().map(|object| &object.id).filter(|id| is_provider(id)) {
        if let (Some(kind), Some(namespace)) = (ProviderKind::parse(&id.kind), &id.namespace) {
            asked.insert((namespace.clone(), kind.label(&id.name)));
        }
    }
    for (namespace, label) in asked {
        for kind in WORKLOADS {
            let kind = ApiKind::preferred(APPS, kind);
            let labels = [(PROVIDER_LABEL, label.as_str())];
            let listed = live.list(as_whom, &kind, Some(&namespace), &labels).await?;
            listed.into_iter().for_each(|object| found.insert(object));
        }
    }
    Ok(ObservedSet { by, owner })
}

/// The verdict on a set. `applied_at` is when something of it was written last.
pub(super) fn judge(
    set: &ObservedSet,
    objects: &[RenderedObject],
    live: &LiveObjects,
    applied_at: Option<Timestamp>,
    now: Timestamp,
    still: SignedDuration,
) -> RolloutVerdict {
    let nobody = "no Cluster API operator runs here, but .capstan.yaml says `by: operator`: start it, or write `by: capstan`";
    let installer = match (set.by, &set.owner) {
        (ProvidersBy::Operator, InstallOwner::Capstan { .. }) => Err(nobody),
        _ => Ok(()),
    };
    judge_set(&SetFacts { rendered: objects, live, installer, applied_at, now, still })
}

/// Deletes the definitions that tombstones of a set name, where nothing needs them. What is in the way is said.
///
/// # Errors
/// The API server does not answer, or refuses.
pub(super) async fn remove_definitions(
    live: &dyn ManagementCluster,
    as_whom: &As,
    tombstones: &Deletion,
    objects: &[RenderedObject],
) -> Result<Vec<Reason>, LiveError> {
    let Deletion::Objects(all) = tombstones else { return Ok(Vec::new()) };
    let mut kept = Vec::new();
    for tombstone in all.iter().filter(|tombstone| means_definition(tombstone)) {
        let (group, kind) = DEFINITION;
        let definition = ApiObject {
            kind: ApiKind::preferred(group, kind),
            namespace: None,
            name: tombstone.name.clone(),
        };
        let Some(found) = live.read(as_whom, &definition).await? else { continue };
        let id = definition.id();
        let text = |pointer: &str| found.pointer(pointer).and_then(Value::as_str);
        let Some(label) =
            found.pointer("/metadata/labels").and_then(|labels| labels.get(PROVIDER_LABEL)?.as_str())
        else {
            let message =
                format!("{id} has no label `{PROVIDER_LABEL}`: it belongs to no provider, and stays");
            kept.push(said(message, &id));
            continue;
        };
        let is_asked_for = |object: &&RenderedObject| {
            let kind = ProviderKind::parse(&object.id.kind).filter(|_| is_provider(&object.id));
            kind.is_some_and(|kind| kind.label(&object.id.name) == label)
        };
        let provider = objects.iter().find(is_asked_for).map(|object| &object.id);
        let of = ApiKind::preferred(
            text("/spec/group").unwrap_or_default(),
            text("/spec/names/kind").unwrap_or_default(),
        );
        let used = in_use(&tombstone.name, &live.list(as_whom, &of, None, &[]).await?);
        if let Err(why) = definition_may_go(Some(&used), provider) {
            kept.push(said(format!("{id} stays: {why}"), &id));
            continue;
        }
        let (Some(uid), version) = (text("/metadata/uid"), text("/metadata/resourceVersion")) else {
            continue;
        };
        let only = Preconditions { uid, resource_version: version };
        match live.delete(as_whom, &definition, only, Run::Real).await? {
            Deleted::Gone | Deleted::Absent | Deleted::Replaced => {
                tracing::info!(object = %id, "deleted: a tombstone names it, and none of its objects was left");
            }
            Deleted::Changed | Deleted::Terminating => kept.push(said(format!("{id} is being deleted"), &id)),
        }
    }
    Ok(kept)
}

fn means_definition(tombstone: &Tombstone) -> bool {
    let (group, kind) = DEFINITION;
    tombstone.kind == kind && tombstone.group.as_deref().is_none_or(|named| named == group)
}

fn in_use(definition: &str, objects: &[Value]) -> InUse {
    let name = |object: &Value| {
        let id = identity(object)?;
        Some(match id.namespace {
            Some(namespace) => format!("{namespace}/{}", id.name),
            None => id.name,
        })
    };
    let names = objects.iter().filter_map(name).take(NAMED).collect();
    InUse { definition: definition.to_owned(), count: objects.len(), names }
}

fn said(message: String, id: &ObjectId) -> Reason {
    Reason {
        severity: Severity::Warning,
        object: Some(id.clone()),
        ..Reason::plain("DefinitionKept", message)
    }
}
