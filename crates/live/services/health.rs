//! The health of one object, by what its controller says of its present generation.
//!
//! Workloads as `kubectl rollout status` has it ([`crate::installing::workloads`]); Jobs, definitions and API services
//! by their conditions; what engines carry out by theirs: CAAPH
//! (<https://github.com/kubernetes-sigs/cluster-api-addon-provider-helm>, v0.6.4) and Flux
//! (<https://fluxcd.io/flux/components/helm/helmreleases/#conditions>). A condition `Ready` or `Stalled` decides for
//! any other object (<https://github.com/kubernetes-sigs/cli-utils/tree/master/pkg/kstatus>); an object without one is
//! healthy if it exists.

use capstan_model::kinds::{KindRole, role_of};
use capstan_model::object::ObjectId;
use serde_json::Value;

use super::conditions::{condition, is_observed};
use crate::installing::{WorkloadHealth, workload};
use crate::live_objects::{is_terminating, shortened};

/// The group of CAAPH's kinds.
const ADDONS: &str = "addons.cluster.x-k8s.io";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectHealth {
    /// Well.
    Healthy,
    /// Not yet, in words.
    Progressing(String),
    /// It does not come to be well by itself, in words.
    Failed(String),
}

impl ObjectHealth {
    fn progressing(words: impl Into<String>) -> Self {
        Self::Progressing(words.into())
    }
}

/// The health of a live object.
pub fn health(id: &ObjectId, live: &Value) -> ObjectHealth {
    if is_terminating(live) {
        return ObjectHealth::progressing("it is being deleted");
    }
    if let Some(found) = workload(id, Some(live)) {
        return of_workload(&found.health, live);
    }
    match (id.group.as_str(), id.kind.as_str()) {
        ("batch", "Job") => of_job(live),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => of_definition(live),
        ("apiregistration.k8s.io", "APIService") => wants(live, "Available"),
        (ADDONS, "HelmChartProxy") => of_chart_proxy(live),
        (ADDONS, _) if role_of(id) == Some(KindRole::ResourceSet) => wants(live, "ResourcesApplied"),
        ("helm.toolkit.fluxcd.io" | "kustomize.toolkit.fluxcd.io", _) => of_flux(live),
        _ => of_any(live),
    }
}

fn of_workload(found: &WorkloadHealth, live: &Value) -> ObjectHealth {
    if let Some(stalled) = condition(live, "Progressing").filter(|condition| condition.is_false()) {
        // Of a Deployment, once `progressDeadlineSeconds` are over.
        return ObjectHealth::Failed(stalled.words());
    }
    match found {
        WorkloadHealth::Available { .. } => ObjectHealth::Healthy,
        WorkloadHealth::Absent => ObjectHealth::progressing("it is not there"),
        WorkloadHealth::Unobserved | WorkloadHealth::Unknown => unseen(),
        WorkloadHealth::Unavailable { reason, message } => {
            ObjectHealth::Progressing(shortened(&format!("{reason}: {message}")))
        }
        WorkloadHealth::RollingOut { ready, wanted } => {
            ObjectHealth::Progressing(format!("{ready} of {wanted} pods are ready"))
        }
    }
}

fn unseen() -> ObjectHealth {
    ObjectHealth::progressing("its controller has not observed it yet")
}

fn of_job(live: &Value) -> ObjectHealth {
    if let Some(failed) = condition(live, "Failed").filter(|condition| condition.is_true()) {
        return ObjectHealth::Failed(failed.words());
    }
    if condition(live, "Complete").is_some_and(|condition| condition.is_true()) {
        return ObjectHealth::Healthy;
    }
    let suspended = live.pointer("/spec/suspend").and_then(Value::as_bool) == Some(true);
    ObjectHealth::progressing(if suspended { "it is suspended" } else { "it has not completed yet" })
}

fn of_definition(live: &Value) -> ObjectHealth {
    if let Some(refused) = condition(live, "NamesAccepted").filter(|condition| condition.is_false()) {
        return ObjectHealth::Failed(refused.words());
    }
    wants(live, "Established")
}

/// Well once a condition is true.
fn wants(live: &Value, kind: &str) -> ObjectHealth {
    match condition(live, kind) {
        Some(found) if found.is_true() => ObjectHealth::Healthy,
        Some(found) => ObjectHealth::Progressing(found.words()),
        None => unseen(),
    }
}

/// One chart for all clusters that it selects: well once it has selected one and the release in each is of its present
/// spec and ready.
fn of_chart_proxy(live: &Value) -> ObjectHealth {
    if !is_observed(live) {
        return unseen();
    }
    for kind in ["HelmReleaseProxySpecsUpToDate", "HelmReleaseProxiesReady"] {
        match condition(live, kind) {
            Some(found) if found.is_true() => {}
            Some(found) if found.severity() == "Error" || is_failure(found.reason()) => {
                return ObjectHealth::Failed(found.words());
            }
            Some(found) => return ObjectHealth::Progressing(found.words()),
            None => return unseen(),
        }
    }
    match live.pointer("/status/matchingClusters").and_then(Value::as_array) {
        Some(clusters) if clusters.is_empty() => {
            ObjectHealth::progressing("its clusterSelector selects no cluster")
        }
        _ => ObjectHealth::Healthy,
    }
}

fn of_flux(live: &Value) -> ObjectHealth {
    if !is_observed(live) {
        return unseen();
    }
    if let Some(stalled) = condition(live, "Stalled").filter(|condition| condition.is_true()) {
        return ObjectHealth::Failed(stalled.words());
    }
    match condition(live, "Ready") {
        Some(ready) if ready.is_true() => ObjectHealth::Healthy,
        Some(ready) if ready.is_false() && is_failure(ready.reason()) => ObjectHealth::Failed(ready.words()),
        Some(ready) => ObjectHealth::Progressing(ready.words()),
        None => unseen(),
    }
}

fn of_any(live: &Value) -> ObjectHealth {
    if !is_observed(live) {
        return unseen();
    }
    if let Some(stalled) = condition(live, "Stalled").filter(|condition| condition.is_true()) {
        return ObjectHealth::Failed(stalled.words());
    }
    match condition(live, "Ready") {
        Some(ready) if ready.is_false() => ObjectHealth::Progressing(ready.words()),
        _ => ObjectHealth::Healthy,
    }
}

/// Whether a reason says that something failed: `InstallFailed`, `HelmInstallOrUpgradeFailed`, `RetriesExceeded`.
pub(super) fn is_failure(reason: &str) -> bool {
    ["Failed", "Failure", "Error", "Exceeded"].iter().any(|ending| reason.ends_with(ending))
}
