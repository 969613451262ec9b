//! ManagedClusters whose folder this management cluster does not apply any more.
//!
//! Nothing is deleted for them: a folder that is gone or claimed by another management cluster says nothing about
//! what shall become of its machines. What other folders render is theirs ([`super::rename_migration`]); one of which nothing
//! is left goes by itself.

use std::collections::BTreeSet;

use capstan_model::object::ObjectId;
use capstan_model::wording::count;

use super::dependencies::Ports;
use super::ports::ClusterRecord;
use super::revision::Revision;
use capstan_ports::LiveError;
use capstan_reconciler_core::resources::{ConditionStatus, ConditionType, SourceSpec};

/// The ManagedClusters among these whose folder is not claimed in that revision.
pub fn unclaimed<'r>(
    records: &'r [ClusterRecord],
    revision: &'r Revision,
) -> impl Iterator<Item = &'r ClusterRecord> {
    records.iter().filter(|record| !revision.clusters().any(|id| id.as_str() == record.spec.cluster))
}

/// Says so in the status, once; removes the ManagedCluster where it holds nothing.
///
/// # Errors
/// The API server did not take it.
pub async fn report_unclaimed(
    ports: &Ports,
    source: &SourceSpec,
    revision: &Revision,
    record: &ClusterRecord,
) -> Result<(), LiveError> {
    report_left_behind(ports, source, revision, record, &BTreeSet::new()).await
}

/// The same without the objects that another folder has taken over.
pub(super) async fn report_left_behind(
    ports: &Ports,
    source: &SourceSpec,
    revision: &Revision,
    record: &ClusterRecord,
    gone: &BTreeSet<ObjectId>,
) -> Result<(), LiveError> {
    let mut status = record.status.clone();
    gone.iter().for_each(|id| status.inventory.forget(id));
    status.templates.retain(|template| !gone.contains(&template.live_id()));
    let left = status.inventory.objects().len();
    if left == 0 {
        tracing::info!(
            cluster = record.spec.cluster,
            "none of its objects is left: its ManagedCluster is deleted"
        );
        return ports.status_store.delete_cluster(record).await;
    }
    let id = &record.spec.cluster;
    let (home, back) = match source {
        SourceSpec::Bot { .. } | SourceSpec::Git { .. } => {
            ("Git", "its folder with `delete: cluster` in its capstan.yaml")
        }
        SourceSpec::Inventory { .. } => ("the inventory", "its ClusterDefinition with `retire: true`"),
    };
    let gone_from = format!("the folder is gone from {home}");
    let (reason, what) = if !revision.has_folder(id) {
        ("FolderGone", gone_from.as_str())
    } else if revision.fleet.clusters().any(|cluster| cluster.as_str() == id) {
        ("NotClaimed", "this management cluster no longer claims the folder")
    } else {
        ("NoCluster", "the folder no longer holds a cluster")
    };
    let message = format!(
        "{what}; the applied objects stay ({}). To delete a cluster, restore {back}",
        count(left, "object", "objects")
    );
    let (now, generation) = (ports.clock.now(), record.generation);
    status.observed_generation = Some(generation);
    let conditions = &mut status.conditions;
    conditions.set(now, generation, ConditionType::Ready, ConditionStatus::False, reason, message.clone());
    conditions.set(now, generation, ConditionType::Applied, ConditionStatus::False, reason, message);
    conditions.clear(ConditionType::Refused);
    conditions.clear(ConditionType::Reconciling);
    conditions.set(now, generation, ConditionType::Stalled, ConditionStatus::True, reason, "");
    if status == record.status {
        Ok(())
    } else {
        ports.status_store.write_cluster(record, &status).await.map(drop)
    }
}
