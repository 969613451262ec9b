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
        spec: wanted::ManagedClusterSpec {
            cluster: read.spec.cluster,
            fleet: read.spec.fleet,
            suspend: read.spec.suspend,
            adopt: read.spec.adopt.map(Into::into),
            create_cluster: read.spec.create_cluster.map(Into::into),
        },
        status: read.status.unwrap_or_default(),
        reconcile_requested: read
            .metadata
            .annotations
            .is_some_and(|annotations| annotations.contains_key(RECONCILE)),
    })
}

/// The spec of a ManagedCluster that is made.
pub(super) fn cluster_spec(spec: &wanted::ManagedClusterSpec) -> crd::ManagedClusterSpec {
    crd::ManagedClusterSpec {
        cluster: spec.cluster.clone(),
        fleet: spec.fleet.clone(),
        suspend: spec.suspend,
        adopt: spec.adopt.map(Into::into),
        create_cluster: spec.create_cluster.map(Into::into),
    }
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
    let count = |count: i32| usize::try_from(count).unwrap_or(0);
    Some(wanted::FleetSpec {
        management_cluster: spec.management_cluster,
        source: source(spec.source)?,
        interval: seconds(spec.interval_seconds),
        timeout: seconds(spec.timeout_seconds),
        stuck_after: seconds(spec.stuck_after_seconds),
        concurrency: count(spec.concurrency).max(1),
        service_account: wanted::ServiceAccountSpec {
            name: spec.service_account.name,
            namespace: spec.service_account.namespace,
        },
        guards: wanted::Guards {
            max_deletions: count(spec.guards.max_deletions),
            max_rolling_clusters: spec.guards.max_rolling_clusters.map(count),
            adopt: spec.guards.adopt.into(),
            create_clusters: spec.guards.create_clusters.into(),
        },
        cloud_credentials: spec.cloud_credentials.into_iter().map(cloud_credentials).collect(),
        suspend: spec.suspend,
    })
}

fn cloud_credentials(opened: crd::CloudCredentials) -> wanted::CloudCredentialsSpec {
    wanted::CloudCredentialsSpec {
        clusters: opened.clusters,
        cloud: opened.cloud,
        namespace: opened.secret_ref.namespace,
        secret: opened.secret_ref.name,
        lifetime: Duration::from_secs(opened.lifetime_seconds.max(1).unsigned_abs().into()),
    }
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

impl From<crd::AdoptSpec> for wanted::Adopt {
    fn from(adopt: crd::AdoptSpec) -> Self {
        match adopt {
            crd::AdoptSpec::Preview => Self::Preview,
            crd::AdoptSpec::Take => Self::Take,
        }
    }
}

impl From<wanted::Adopt> for crd::AdoptSpec {
    fn from(adopt: wanted::Adopt) -> Self {
        match adopt {
            wanted::Adopt::Preview => Self::Preview,
            wanted::Adopt::Take => Self::Take,
        }
    }
}

impl From<crd::CreateClusters> for wanted::CreateClusters {
    fn from(create: crd::CreateClusters) -> Self {
        match create {
            crd::CreateClusters::Recorded => Self::Recorded,
            crd::CreateClusters::Always => Self::Always,
        }
    }
}

impl From<wanted::CreateClusters> for crd::CreateClusters {
    fn from(create: wanted::CreateClusters) -> Self {
        match create {
            wanted::CreateClusters::Recorded => Self::Recorded,
            wanted::CreateClusters::Always => Self::Always,
        }
    }
}
