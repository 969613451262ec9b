//! Fleets and ManagedClusters between their form in the API and that of the use cases.

use serde_json::Value;

use super::RECONCILE;
use crate::crd;
use capstan_ports::{ApiObject, LiveError};
use capstan_reconciler::reconcile::ports::{ClusterKey, ClusterRecord, FleetKey, FleetRecord};

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
        spec: read.spec.0,
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
