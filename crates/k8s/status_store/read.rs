//! Fleets and ManagedClusters between their form in the API and that of the use cases.

use std::time::Duration;

use serde_json::Value;

use super::RECONCILE;
use crate::crd;
use capstan_ports::{ApiObject, LiveError};
use capstan_reconciler::reconcile::ports::{ClusterKey, ClusterRecord, FleetKey, FleetRecord};
use capstan_reconciler::reconcile::resources as wanted;

/// `metadata.resourceVersion`.
pub(super) fn resource_version(object: &Value) -> String {
    let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
    version.unwrap_or_default().to_owned()
}

pub(super) fn fleet(object: &Value) -> Result<FleetRecord, LiveError> {
    let read: crd::Fleet = parse(object)?;
    let (namespace, name) =
        (read.metadata.namespace.unwrap_or_default(), read.metadata.name.unwrap_or_default());
    Ok(FleetRecord {
        key: FleetKey { namespace, name },
        uid: read.metadata.uid.unwrap_or_default(),
        resource_version: read.metadata.resource_version.unwrap_or_default(),
        generation: read.metadata.generation.unwrap_or_default(),
        spec: fleet_spec(read.spec).ok_or_else(|| LiveError::Malformed {
            doing: ApiObject::of(object)
                .map_or_else(|| "reading a Fleet".to_owned(), |object| format!("reading {object}")),
            reason: "spec.source must have exactly one of bot, git and inventory".to_owned(),
        })?,
        status: read.status.unwrap_or_default(),
        reconcile_requested: read
            .metadata
            .annotations
            .is_some_and(|annotations| annotations.contains_key(RECONCILE)),
    })
}

pub(super) fn cluster(object: &Value) -> Result<ClusterRecord, LiveError> {
    let read: crd::ManagedCluster = parse(object)?;
    let (namespace, name) =
        (read.metadata.namespace.unwrap_or_default(), read.metadata.name.unwrap_or_default());
    Ok(ClusterRecord {
        key: ClusterKey { namespace, name },
        uid: read.metadata.uid.unwrap_or_default(),
        resource_version: read.metadata.resource_version.unwrap_or_default(),
        generation: read.metadata.generation.unwrap_or_default(),
        spec: read.spec.0,
        status: read.status.unwrap_or_default(),
        reconcile_requested: read
            .metadata
            .annotations
            .is_some_and(|annotations| annotations.contains_key(RECONCILE)),
    })
}

/// What the API server has checked against the schema can be read, unless its definition is not this
/// program's: then nothing is guessed.
fn parse<T: serde::de::DeserializeOwned>(object: &Value) -> Result<T, LiveError> {
    T::deserialize(object).map_err(|error| LiveError::Malformed {
        doing: ApiObject::of(object)
            .map_or_else(|| "reading an object".to_owned(), |object| format!("reading {object}")),
        reason: format!(
            "it is not as this program writes it ({error}); are the definitions of `capstan crds` installed?"
        ),
    })
}

fn fleet_spec(spec: crd::FleetSpec) -> Option<wanted::FleetSpec> {
    let seconds = |seconds: i32| Duration::from_secs(seconds.max(1).unsigned_abs().into());
    Some(wanted::FleetSpec {
        management_cluster: spec.management_cluster,
        source: source(spec.source)?,
        interval: seconds(spec.interval_seconds),
        timeout: seconds(spec.timeout_seconds),
        stuck_after: seconds(spec.stuck_after_seconds),
        concurrency: usize::try_from(spec.concurrency).unwrap_or(1).max(1),
        service_account: spec.service_account,
        guards: spec.guards,
        cloud_credentials: spec.cloud_credentials,
        suspend: spec.suspend,
    })
}

/// The schema demands exactly one.
fn source(source: crd::FleetSource) -> Option<wanted::SourceSpec> {
    match (source.bot, source.git, source.inventory) {
        (Some(bot), None, None) => Some(wanted::SourceSpec::Bot {
            url: bot.url,
            repository: bot.repository,
            secret: bot.secret_name,
        }),
        (None, Some(git), None) => {
            Some(wanted::SourceSpec::Git { url: git.url, branch: git.branch, secret: git.secret_name })
        }
        (None, None, Some(inventory)) => {
            Some(wanted::SourceSpec::Inventory { releases: inventory.releases.match_labels })
        }
        _ => None,
    }
}
