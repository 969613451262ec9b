//! Writes the status of an inventory's objects, and decides which of them may go.

use capstan_inventory::origin::LevelKind;
use jiff::Timestamp;
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::making::{DefinitionOutcome, InventoryResult};
use super::read::{FetchedObject, api_kind};
use super::records::{ManagedClusterState, ManagedClusters};
use crate::reconcile::dependencies::Ports;
use crate::reconcile::ports::{ClusterKey, FleetRecord, Note, Tone};
use capstan_ports::{ApiObject, As, LiveError, ManagementCluster as _, ObjectPart, Run};
use capstan_reconciler_core::resources::{
    ClusterDefinitionStatus, ConditionStatus, ConditionType, LevelStatus,
};
use capstan_reconciler_core::says::Says;

/// Holds a definition until its cluster is gone.
const FINALIZER: &str = "capstan.dev/inventory";

/// What is said of a deletion that nobody wants.
const RETIRE_FIRST: &str = "it is being deleted, but its cluster is not: set `spec.retire: true`, and Capstan deletes first the cluster and then this object";

/// The status of a definition.
pub(super) fn status_of(
    found: &FetchedObject,
    outcome: &DefinitionOutcome,
    standing: Option<&ManagedClusterState>,
    now: Timestamp,
) -> ClusterDefinitionStatus {
    let mut status = ClusterDefinitionStatus::deserialize(&found.status).unwrap_or_default();
    if let Some(folder) = &outcome.folder {
        status.release = Some(folder.release.clone());
        status.digest = Some(folder.digest.clone());
    }
    let mut says = Says { conditions: &mut status.conditions, now, generation: found.generation };
    match &outcome.problem {
        None => says.that(ConditionType::Rendered, ConditionStatus::True, "Rendered", ""),
        Some((reason, message)) => {
            let stays = if outcome.folder.is_some() { "; its earlier objects stay" } else { "" };
            says.that(
                ConditionType::Rendered,
                ConditionStatus::False,
                reason,
                &format!("{}{stays}", message.trim_end_matches('.')),
            );
        }
    }
    if let Some(ready) = standing.and_then(|standing| standing.ready.as_ref()) {
        says.that(ConditionType::Ready, ready.status, &ready.reason, &ready.message);
    }
    if found.is_deleting && !found.retires {
        says.that(ConditionType::RetireFirst, ConditionStatus::True, "RetireFirst", RETIRE_FIRST);
    } else {
        says.clear(ConditionType::RetireFirst);
    }
    if let Some(standing) = standing {
        status.managed_cluster = Some(standing.name.clone());
        status.rollout = standing.rollout;
    }
    status
}

/// Whether a definition that is to go may: its cluster is gone, or never was. While it has a folder its ManagedCluster says
/// that, and nothing else: one that is not there yet may be in the making.
pub(super) fn may_go(
    found: &FetchedObject,
    outcome: &DefinitionOutcome,
    status: &ClusterDefinitionStatus,
    standing: Option<&ManagedClusterState>,
) -> bool {
    let never_was = outcome.folder.is_none() && status.managed_cluster.is_none();
    found.is_deleting && found.retires && standing.map_or(never_was, |standing| standing.is_removed)
}

/// Writes what is news. One that cannot be written is tried again with the next look, and holds up no other.
pub(super) async fn tell(
    ports: &Ports,
    fleet: &FleetRecord,
    found: &[FetchedObject],
    made: &InventoryResult,
    records: &ManagedClusters,
) {
    for one in found {
        let told = match (one.level, made.clusters.get(&one.name)) {
            (Some(LevelKind::ClusterDefinition), Some(outcome)) => {
                tell_definition(ports, fleet, one, outcome, records).await
            }
            (Some(level), _) if !level.is_cluster() => tell_level(ports, fleet, one, level, made).await,
            _ => Ok(()),
        };
        match told {
            Ok(()) => {}
            Err(error @ LiveError::NotLeading { .. }) => {
                tracing::info!(fleet = %fleet.key, %error, "the inventory's objects get no more status");
                return;
            }
            // Somebody wrote it since it was read.
            Err(error) if error.is_conflict() => {}
            Err(error) => {
                tracing::warn!(fleet = %fleet.key, kind = one.kind(), name = one.name, %error, "its status cannot be written");
            }
        }
    }
}

async fn tell_definition(
    ports: &Ports,
    fleet: &FleetRecord,
    found: &FetchedObject,
    outcome: &DefinitionOutcome,
    records: &ManagedClusters,
) -> Result<(), LiveError> {
    let standing = outcome.folder.as_ref().and_then(|folder| records.of(folder.cluster.as_str()));
    let before = ClusterDefinitionStatus::deserialize(&found.status).unwrap_or_default();
    let status = status_of(found, outcome, standing, ports.clock.now());
    let mut version = found.resource_version.clone();
    if status != before {
        let value = serde_json::to_value(&status).unwrap_or(Value::Null);
        version = patch(ports, fleet, found, &version, WrittenPart::Status(value)).await?;
        let is_news = |status: &ClusterDefinitionStatus| status.conditions.hold(ConditionType::RetireFirst);
        if is_news(&status) && !is_news(&before) {
            note_retire_first(ports, fleet, found, standing).await;
        }
    }
    let is_held = found.finalizers.iter().any(|one| one == FINALIZER);
    let finalizers = |with: bool| {
        let others = found.finalizers.iter().filter(|one| *one != FINALIZER).cloned();
        json!(others.chain(with.then(|| FINALIZER.to_owned())).collect::<Vec<_>>())
    };
    let wanted = match is_held {
        false if !found.is_deleting => finalizers(true),
        true if may_go(found, outcome, &status, standing) => finalizers(false),
        _ => return Ok(()),
    };
    patch(ports, fleet, found, &version, WrittenPart::Finalizers(wanted)).await.map(drop)
}

async fn tell_level(
    ports: &Ports,
    fleet: &FleetRecord,
    found: &FetchedObject,
    level: LevelKind,
    made: &InventoryResult,
) -> Result<(), LiveError> {
    let before = LevelStatus::deserialize(&found.status).ok();
    let clusters = made.of_levels.get(&(level, found.name.clone())).copied().unwrap_or_default();
    let status = LevelStatus { clusters };
    if before.as_ref() == Some(&status) {
        return Ok(());
    }
    let value = serde_json::to_value(status).unwrap_or(Value::Null);
    patch(ports, fleet, found, &found.resource_version, WrittenPart::Status(value)).await.map(drop)
}

/// The part of an object that is written.
enum WrittenPart {
    Status(Value),
    Finalizers(Value),
}

/// Writes a part of an object as it was read; gives its resource version then.
async fn patch(
    ports: &Ports,
    fleet: &FleetRecord,
    found: &FetchedObject,
    version: &str,
    written: WrittenPart,
) -> Result<String, LiveError> {
    let (part, path, value) = match written {
        WrittenPart::Status(value) => (ObjectPart::Status, "/status", value),
        WrittenPart::Finalizers(value) => (ObjectPart::Whole, "/metadata/finalizers", value),
    };
    let object = ApiObject {
        kind: api_kind(found.kind()),
        namespace: Some(fleet.key.namespace.clone()),
        name: found.name.clone(),
    };
    let patch = json!([
        {"op": "test", "path": "/metadata/uid", "value": found.uid},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
        {"op": "add", "path": path, "value": value},
    ]);
    let now = ports.live.patch(&As::Reconciler, &object, part, &patch, Run::Real).await?;
    Ok(super::read::text(&now, "/metadata/resourceVersion").to_owned())
}

/// Notes on the Fleet and on the cluster that the definition has to be retired first.
async fn note_retire_first(
    ports: &Ports,
    fleet: &FleetRecord,
    found: &FetchedObject,
    standing: Option<&ManagedClusterState>,
) {
    let message = format!("{} {}: {RETIRE_FIRST}", found.kind(), found.name);
    let note = Note { tone: Tone::Warning, reason: "RetireFirst", message };
    ports.status_store.note_fleet(fleet, &note).await;
    let Some(standing) = standing else { return };
    let key = ClusterKey { namespace: fleet.key.namespace.clone(), name: standing.name.clone() };
    if let Ok(Some(record)) = ports.status_store.cluster(&key).await {
        ports.status_store.note_cluster(&record, &note).await;
    }
}
