//! What is read of a cluster to judge a service: how its objects stand, what keeps their pods, what its role promises,
//! what its checks say.

use capstan_live::services::{
    ObjectHealth, Problem, RoleFacts, ServiceCause, evaluate, failing_pod, has_pods, health, needs_of,
    selector_of, unmet,
};
use capstan_model::object::ObjectId;
use capstan_plan::services::CheckFacts;
use capstan_plan::settings::{Service, ServiceCheck, ServiceRole};
use capstan_reconciler_core::services::problem_of;
use serde_json::Value;

use super::workloads::WorkloadCluster;
use crate::reconcile::blocking::where_blocking_is_allowed;
use capstan_ports::{ApiKind, As, LiveError, ManagementCluster as _};

/// How many unhealthy workloads have their pods read.
const MOST_WORKLOADS: usize = 4;

/// One object of a service and what is there of it.
pub(super) type LiveServiceObject<'v> = (&'v ObjectId, Option<&'v Value>);

/// What is wrong with the objects of a service; pods are read where there is a workload cluster to ask.
///
/// # Errors
/// The cluster does not answer.
pub(super) async fn judge_objects(
    workload: Option<&WorkloadCluster>,
    found: &[LiveServiceObject<'_>],
) -> Result<Vec<Problem>, LiveError> {
    let mut problems = Vec::new();
    let mut looked_at = 0;
    for (id, live) in found {
        let Some(live) = live else {
            problems.push(Problem::of(ServiceCause::ObjectMissing, id, "it is not there yet"));
            continue;
        };
        let (cause, mut words) = match health(id, live) {
            ObjectHealth::Healthy => continue,
            ObjectHealth::Progressing(words) => (ServiceCause::ObjectNotReady, words),
            ObjectHealth::Failed(words) => (ServiceCause::ObjectFailed, words),
        };
        let mut cause = cause;
        if let Some(workload) = workload.filter(|_| has_pods(id) && looked_at < MOST_WORKLOADS) {
            looked_at += 1;
            if let Some((pod, why)) = look_at_pods(workload, id, live).await? {
                words = format!("{words}; {pod}: {why}");
                if cause == ServiceCause::ObjectNotReady {
                    cause = ServiceCause::PodFailing;
                }
            }
        }
        problems.push(Problem::of(cause, id, words));
    }
    Ok(problems)
}

async fn look_at_pods(
    workload: &WorkloadCluster,
    id: &ObjectId,
    live: &Value,
) -> Result<Option<(ObjectId, String)>, LiveError> {
    let selector = selector_of(live);
    if selector.is_empty() {
        return Ok(None);
    }
    let kind = ApiKind::of_version("v1", "Pod");
    match workload.live.list(&As::Reconciler, &kind, id.namespace.as_deref(), &selector).await {
        Ok(pods) => Ok(failing_pod(&pods)),
        // Its own words have to do.
        Err(LiveError::Refused { .. } | LiveError::TooMuch { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What a service's role promises and is not so.
///
/// # Errors
/// The cluster does not answer.
pub(super) async fn judge_role(
    workload: &WorkloadCluster,
    role: ServiceRole,
) -> Result<Option<Problem>, LiveError> {
    let Some(what) = needs_of(role) else { return Ok(None) };
    let (group, kind) = what.kind();
    match workload.live.list(&As::Reconciler, &ApiKind::preferred(group, kind), None, &[]).await {
        Ok(objects) => Ok(unmet(RoleFacts { what, objects: &objects })),
        Err(error) if error.is_forbidden() || matches!(error, LiveError::TooMuch { .. }) => {
            Ok(problem_of(&error, None))
        }
        Err(error) => Err(error),
    }
}

/// What the checks of a service say.
pub(super) async fn judge_checks(
    service: &Service,
    found: &[LiveServiceObject<'_>],
    cluster: Option<&Value>,
    version: &str,
) -> Vec<Problem> {
    if service.checks.is_empty() {
        return Vec::new();
    }
    let checks: Vec<ServiceCheck> = service.checks.clone();
    let objects: Vec<Value> = found.iter().filter_map(|(_, live)| (*live).cloned()).collect();
    let (cluster, version) = (cluster.cloned().unwrap_or(Value::Null), version.to_owned());
    where_blocking_is_allowed(move || {
        let objects: Vec<&Value> = objects.iter().collect();
        evaluate(&checks, CheckFacts { objects: &objects, cluster: &cluster, kubernetes_version: &version })
    })
    .await
}
