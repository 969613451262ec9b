//! Before a cluster is deleted: what outlives it in its cloud is listed, and deleted where its settings say so.
//!
//! *Expected flow*: `delete: cluster` stands in Git, and the `Cluster` is there. What its own controllers made in the cloud
//! is looked for inside it. Without `cleanup: true` that is told, and the `Cluster` goes. With it, these objects are
//! deleted, and nothing else is: their controllers, which run on, take away what stands for them. The `Cluster` goes when
//! nothing is left, or ten minutes after the first look; what is left then stands in the status, and stays in the cloud.
//!
//! *Guarantees*: the time of the first look is written down before the first deletion; each deletion is of one UID.

use capstan_live::services::{
    CleanupState, CleanupStatus, OUTLIVING_KINDS, Outliving, is_initialized, outliving,
};
use capstan_model::finding::Severity;
use capstan_model::object::ObjectId;
use serde_json::Value;

use super::workloads::{Workload, problem_of};
use crate::app::ports::{ApiKind, ApiObject, As, LiveError, ManagementCluster as _, Preconditions, Run};
use crate::app::reconcile::observation::Observation;
use crate::app::reconcile::reason::Reason;
use crate::app::reconcile::reconciliation::Reconciliation;

/// So many are told one by one.
const TOLD: usize = 10;

impl Reconciliation<'_> {
    /// Looks for what outlives the cluster, and deletes it where that is wished: why the `Cluster` waits; nothing where it
    /// may go.
    ///
    /// # Errors
    /// The management cluster does not answer, or this process leads no more.
    pub(in crate::app::reconcile) async fn clean_up(
        &mut self,
        observed: &Observation,
    ) -> Result<Option<Vec<Reason>>, LiveError> {
        let is_over = self.status.cleanup.as_ref().is_some_and(|cleanup| cleanup.state.is_over());
        let cluster = self.cluster.clone().filter(|cluster| !is_over && self.is_to_go(observed, cluster));
        if let Some(cluster) = cluster {
            self.look_for_outliving(observed, &cluster).await?;
        }
        let Some(cleanup) = self.status.cleanup.clone() else { return Ok(None) };
        let told = told(&cleanup);
        if cleanup.state.is_over() {
            self.kept.extend(told);
            return Ok(None);
        }
        self.again = true;
        Ok(Some(told))
    }

    /// Whether the folder's own `Cluster` is about to be deleted, and has had an API.
    fn is_to_go(&self, observed: &Observation, cluster: &ObjectId) -> bool {
        let text =
            |live: &Value, pointer: &str| live.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let Some(live) = observed.live.get(cluster) else { return false };
        let own = self.status.inventory.get(cluster).and_then(|entry| entry.uid.clone());
        own.is_some()
            && own == text(live, "/metadata/uid")
            && text(live, "/metadata/deletionTimestamp").is_none()
            && is_initialized(live)
    }

    async fn look_for_outliving(
        &mut self,
        observed: &Observation,
        cluster: &ObjectId,
    ) -> Result<(), LiveError> {
        let wished = observed.wanted.cleanup;
        let (ports, by) = (self.request.ports, &observed.wanted.by);
        let opened = ports.workloads.open(cluster, &ports.live, by, self.now).await?;
        let seen = match &opened {
            Ok(workload) => match list(workload).await {
                Ok(found) => Ok(found),
                Err(error) => {
                    let Some(problem) = problem_of(&error, None) else { return Err(error) };
                    ports.workloads.away(cluster, &problem, self.now);
                    Err(problem.line())
                }
            },
            Err(problem) => Err(problem.line()),
        };
        let found = seen.clone().unwrap_or_default();
        let cleanup = CleanupStatus::after(self.status.cleanup.as_ref(), seen, wished, self.now);
        let is_deleting = cleanup.state == CleanupState::Deleting;
        self.status.cleanup = Some(cleanup);
        // Before anything is deleted: whoever comes next counts from the same time.
        self.save().await?;
        if let (Ok(workload), true) = (&opened, is_deleting) {
            for one in found.iter().filter(|one| one.may_be_deleted()) {
                if (self.request.is_over)().is_some() {
                    break;
                }
                self.delete_outliving(workload, one).await?;
            }
        }
        Ok(())
    }

    /// What is refused stays, is seen again with the next look, and is told with what is left.
    async fn delete_outliving(&mut self, workload: &Workload, one: &Outliving) -> Result<(), LiveError> {
        let id = one.id();
        let only = Preconditions { uid: &one.uid, resource_version: None };
        match workload.live.delete(&As::Reconciler, &ApiObject::from(&id), only, Run::Real).await {
            Ok(_) => {
                self.deleted += 1;
                metrics::counter!("capstan_deleted_objects_total", "kind" => id.kind.clone()).increment(1);
                tracing::info!(cluster = %self.request.id, object = %id, "deleted in the workload cluster, before it goes");
            }
            Err(error) => {
                if problem_of(&error, None).is_none() {
                    return Err(error);
                }
                tracing::warn!(cluster = %self.request.id, object = %id, %error, "it outlives the cluster");
            }
        }
        Ok(())
    }
}

/// What outlives a cluster, as its API has it.
async fn list(workload: &Workload) -> Result<Vec<Outliving>, LiveError> {
    let all = |kind: &'static str| async move {
        let kind = ApiKind::of_version("v1", kind);
        workload.live.list(&As::Reconciler, &kind, None, &[]).await
    };
    let [services, claims, volumes] = OUTLIVING_KINDS;
    Ok(outliving(&all(services).await?, &all(claims).await?, &all(volumes).await?))
}

/// What is said of it.
fn told(cleanup: &CleanupStatus) -> Vec<Reason> {
    let warning = |kind: &'static str, message: String| Reason {
        severity: Severity::Warning,
        ..Reason::plain(kind, message)
    };
    let mut told = Vec::new();
    if let Some(why) = &cleanup.message {
        told.push(warning(
            "OutlivingUnknown",
            format!(
                "nobody can tell which load balancers and volumes outlive the cluster in its cloud: {why}"
            ),
        ));
    }
    let (kind, what) = match cleanup.state {
        CleanupState::Deleting => ("CleansUp", "it is deleted before the Cluster is"),
        CleanupState::Listed => (
            "StaysInCloud",
            "it stays in the cloud: delete it there. `cleanup: true` would have deleted it first",
        ),
        CleanupState::GivenUp => {
            ("StaysInCloud", "it was not gone within 10 minutes and stays in the cloud: delete it there")
        }
        CleanupState::Done => return told,
    };
    for one in cleanup.left.iter().take(TOLD) {
        let reason = warning(kind, format!("{one}: {what}"));
        told.push(Reason { object: Some(one.id()), ..reason });
    }
    let more = cleanup.more + cleanup.left.len().saturating_sub(TOLD);
    if more > 0 {
        told.push(warning(
            kind,
            format!("{more} more objects, which `status.cleanup` lists up to 100: {what}"),
        ));
    }
    if told.is_empty() {
        told.push(warning("CleansUp", "the cluster is looked through before it is deleted".to_owned()));
    }
    told
}
