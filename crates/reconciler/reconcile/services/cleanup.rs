//! Before a cluster is deleted: what outlives it in its cloud is listed, and deleted where its settings say so.
//!
//! *Expected flow*: Git says `delete: cluster`, and the `Cluster` exists. Inside of it, Capstan looks for objects for
//! which its controllers made something in the cloud. Without `cleanup: true` these are reported, and the `Cluster` is
//! deleted. With it, these objects are deleted, and nothing else is: their controllers, which still run, remove what
//! they made in the cloud. The `Cluster` is deleted when nothing is left, or ten minutes after the first look. What is
//! left then is listed in the status, and stays in the cloud.
//!
//! *Guarantees*: the time of the first look is written down before the first deletion; each deletion is of one UID.

use capstan_live::services::{
    CleanupState, CleanupStatus, OUTLIVING_KINDS, Outliving, has_claims_that_go, is_initialized, name_pods,
    outliving,
};
use capstan_model::finding::Severity;
use capstan_model::kinds::is_cluster;
use capstan_model::object::ObjectId;
use serde_json::Value;

use super::removal::is_going;
use super::workloads::WorkloadCluster;
use crate::reconcile::in_hand::ClusterInHand;
use crate::reconcile::observation::Observation;
use capstan_ports::{ApiKind, ApiObject, As, LiveError, ManagementCluster as _, Preconditions, Run};
use capstan_reconciler_core::reason::Reason;
use capstan_reconciler_core::services::{is_of_cluster, problem_of};

/// How many objects are named one by one.
const MOST_NAMED: usize = 10;

/// Looks for objects that outlive the folder's `Cluster`s that are deleted now, and deletes them where the folder asks
/// for that. Returns why the Clusters wait; `None` where they may be deleted.
///
/// # Errors
/// The management cluster does not answer, or this process no longer leads.
pub(in crate::reconcile) async fn clean_up(
    of: &mut ClusterInHand<'_>,
    observed: &Observation,
    going: &[ObjectId],
) -> Result<Option<Vec<Reason>>, LiveError> {
    // If the folder asks for the cleanup after the objects were only listed, the search starts again.
    let asks = observed.wanted.cleanup;
    of.status.cleanup.take_if(|cleanup| asks && cleanup.state == CleanupState::Listed);
    let is_over = of.status.cleanup.as_ref().is_some_and(|cleanup| cleanup.state.is_over());
    let had_an_api = |id: &&ObjectId| observed.live.get(id).is_some_and(is_initialized);
    let seen: Vec<&ObjectId> = going.iter().filter(had_an_api).collect();
    if !is_over && !seen.is_empty() {
        OutlivingSearch { of, observed }.run(&seen).await?;
    }
    let Some(cleanup) = &mut of.status.cleanup else { return Ok(None) };
    if seen.is_empty() && !cleanup.state.is_over() {
        let stands =
            |(id, live): (&ObjectId, &Value)| is_cluster(id) && !is_going(live) && !going.contains(id);
        if observed.live.iter().any(stands) {
            // The Cluster is kept, and so is what is inside of it. The search starts again when the Cluster is deleted.
            of.status.cleanup = None;
            return Ok(None);
        }
        // Somebody deleted it meanwhile, so Capstan cannot search it any more.
        cleanup.state = CleanupState::GivenUp;
        cleanup.message = Some("the Cluster was gone before all of it was deleted".to_owned());
    }
    let told = reasons(cleanup);
    if cleanup.state.is_over() {
        of.kept.extend(told);
        return Ok(None);
    }
    of.again = true;
    Ok(Some(told))
}

/// A look for what outlives clusters that are deleted now.
struct OutlivingSearch<'r, 'a> {
    of: &'r mut ClusterInHand<'a>,
    observed: &'r Observation,
}

impl OutlivingSearch<'_, '_> {
    async fn run(&mut self, going: &[&ObjectId]) -> Result<(), LiveError> {
        let wished = self.observed.wanted.cleanup;
        let mut seen = Ok(Vec::new());
        let mut all = Vec::new();
        for cluster in going {
            match self.look_inside(cluster).await? {
                Ok((workload, found)) => {
                    if let Ok(seen) = &mut seen {
                        seen.extend(found.iter().cloned());
                    }
                    all.push((*cluster, workload, found));
                }
                Err(why) => seen = Err(why),
            }
        }
        let cleanup = CleanupStatus::after(self.of.status.cleanup.as_ref(), seen, wished, self.of.now);
        let is_deleting = cleanup.state == CleanupState::Deleting;
        self.of.status.cleanup = Some(cleanup);
        // Saved before anything is deleted, so that the next process counts from the same time.
        self.of.save().await?;
        if is_deleting {
            for (cluster, workload, found) in &all {
                for one in found.iter().filter(|one| one.may_be_deleted()) {
                    if (self.of.request.is_over)().is_some()
                        || !self.delete_outliving(cluster, workload, one).await?
                    {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// What outlives one of them, or why Capstan cannot search it.
    async fn look_inside(
        &self,
        cluster: &ObjectId,
    ) -> Result<Result<(WorkloadCluster, Vec<Outliving>), String>, LiveError> {
        let (ports, by) = (self.of.request.ports, &self.observed.wanted.by);
        let workload = match ports.workloads.open(cluster, &ports.live, by, self.of.now).await? {
            Ok(workload) => workload,
            Err(problem) => return Ok(Err(problem.line())),
        };
        match list(&workload).await {
            Ok(found) => {
                ports.workloads.answered(cluster);
                Ok(Ok((workload, found)))
            }
            Err(error) => {
                let Some(problem) = problem_of(&error, None) else { return Err(error) };
                ports.workloads.away(cluster, &problem, self.of.now);
                Ok(Err(problem.line()))
            }
        }
    }

    /// Deletes one object; whether to continue. A refused one stays: the next look finds it again, and it is reported
    /// with what is left. A cluster that does not answer is not asked for the next object.
    async fn delete_outliving(
        &mut self,
        cluster: &ObjectId,
        workload: &WorkloadCluster,
        one: &Outliving,
    ) -> Result<bool, LiveError> {
        let id = one.id();
        let only = Preconditions { uid: &one.uid, resource_version: None };
        match workload.live.delete(&As::Reconciler, &ApiObject::from(&id), only, Run::Real).await {
            Ok(_) => {
                self.of.deleted += 1;
                metrics::counter!("capstan_deleted_objects_total", "kind" => id.kind.clone()).increment(1);
                tracing::info!(cluster = %self.of.request.id, object = %id, "deleted in the workload cluster, before the cluster is deleted");
            }
            Err(error) => {
                let Some(problem) = problem_of(&error, Some(&id)) else { return Err(error) };
                tracing::warn!(cluster = %self.of.request.id, object = %id, %error, "it outlives the cluster");
                if is_of_cluster(&problem) {
                    self.of.request.ports.workloads.away(cluster, &problem, self.of.now);
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// What outlives a cluster, as its API has it.
async fn list(workload: &WorkloadCluster) -> Result<Vec<Outliving>, LiveError> {
    let all = |kind: &'static str| async move {
        let kind = ApiKind::of_version("v1", kind);
        workload.live.list(&As::Reconciler, &kind, None, &[]).await
    };
    let [services, claims, volumes] = OUTLIVING_KINDS;
    let mut found = outliving(&all(services).await?, &all(claims).await?, &all(volumes).await?);
    if has_claims_that_go(&found) {
        // The pods that hold the claims are named where they can be read.
        let pods = match all("Pod").await {
            Err(LiveError::Refused { .. } | LiveError::TooMuch { .. }) => Vec::new(),
            pods => pods?,
        };
        name_pods(&mut found, &pods);
    }
    Ok(found)
}

/// What is said of it.
fn reasons(cleanup: &CleanupStatus) -> Vec<Reason> {
    let warning = |kind: &'static str, message: String| Reason {
        severity: Severity::Warning,
        ..Reason::plain(kind, message)
    };
    let mut told = Vec::new();
    if let Some(why) = &cleanup.message {
        told.push(warning(
            "OutlivingUnknown",
            format!("it is unknown which load balancers and volumes outlive the cluster in its cloud: {why}"),
        ));
    }
    let (kind, what) = match cleanup.state {
        CleanupState::Deleting => ("CleansUp", "it is deleted before the Cluster is"),
        CleanupState::Listed => (
            "StaysInCloud",
            "it stays in the cloud: delete it there. `cleanup: true` would have deleted it first",
        ),
        CleanupState::GivenUp => {
            ("StaysInCloud", "it was not deleted within 10 minutes and stays in the cloud: delete it there")
        }
        CleanupState::Done => return told,
    };
    for one in cleanup.left.iter().take(MOST_NAMED) {
        let reason = warning(kind, format!("{one}: {what}"));
        told.push(Reason { object: Some(one.id()), ..reason });
    }
    let more = cleanup.more + cleanup.left.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        told.push(warning(kind, format!("{more} more objects (`status.cleanup` lists up to 100): {what}")));
    }
    if told.is_empty() {
        told.push(warning("CleansUp", "Capstan searches the cluster before it is deleted".to_owned()));
    }
    told
}
