//! What a drain does with a pod: Cluster API's filters, in its order. The first one that decides counts.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::plan::{DrainBehavior, LeavingMachine, MachineDrainRule, Plan};
use crate::selector::Labels;
use crate::workload::{OwnerReference, Pod, Workload};

/// `skip` or `wait-completed`.
const DRAIN_LABEL: &str = "cluster.x-k8s.io/drain";

/// What becomes of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PodTreatment {
    Skip(SkipReason),
    /// Its node waits until it has ended and is gone.
    WaitCompleted,
    Evict {
        order: i32,
    },
}

impl PodTreatment {
    /// The drain handles the lowest order that is left. Pods that are waited for have the order 0.
    pub fn order(&self) -> Option<i32> {
        match self {
            Self::Skip(_) => None,
            Self::WaitCompleted => Some(0),
            Self::Evict { order } => Some(*order),
        }
    }
}

/// Why a drain leaves a pod alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum SkipReason {
    /// It has a deletion timestamp, and its kubelet does not answer.
    DeletedOnUnreachableNode,
    DaemonSet,
    StaticPod,
    Label,
    Rule(String),
}

/// The rules that count for one machine, and what they need to know.
pub struct Filters<'a> {
    rules: Vec<&'a MachineDrainRule>,
    daemon_sets: &'a BTreeSet<(&'a str, &'a str)>,
    workload: &'a Workload,
}

/// The DaemonSets of `apps/v1`, as namespace and name.
pub fn daemon_sets(workload: &Workload) -> BTreeSet<(&str, &str)> {
    let is_daemon_set =
        |reference: &OwnerReference| reference.kind == "DaemonSet" && reference.group() == "apps";
    let controllers = workload.controllers.iter().filter(|one| is_daemon_set(&one.reference));
    controllers.map(|one| (one.namespace.as_str(), one.reference.name.as_str())).collect()
}

impl<'a> Filters<'a> {
    pub fn new(
        plan: &'a Plan,
        machine: &LeavingMachine,
        workload: &'a Workload,
        daemon_sets: &'a BTreeSet<(&'a str, &'a str)>,
    ) -> Self {
        let mut rules: Vec<&MachineDrainRule> =
            plan.rules.iter().filter(|rule| rule.is_for_machine(machine, &plan.cluster_labels)).collect();
        rules.sort_by(|a, b| a.name.cmp(&b.name));
        Self { rules, daemon_sets, workload }
    }

    /// Skips, waits for or evicts a pod. `None` if a rule may select it by its
    /// namespace, and that is not known.
    pub fn treat(&self, pod: &Pod, unreachable: bool) -> Option<PodTreatment> {
        if unreachable && pod.deleted {
            return Some(PodTreatment::Skip(SkipReason::DeletedOnUnreachableNode));
        }
        let daemon = pod.owner.as_ref().filter(|owner| owner.kind == "DaemonSet" && !pod.has_finished());
        // Cluster API does not look at the owner's group.
        if daemon.is_some_and(|owner| self.daemon_sets.contains(&(&pod.namespace, &owner.name))) {
            return Some(PodTreatment::Skip(SkipReason::DaemonSet));
        }
        if pod.mirror {
            return Some(PodTreatment::Skip(SkipReason::StaticPod));
        }
        let label = pod.labels.get(DRAIN_LABEL).map(|value| value.to_lowercase().replacen('-', "", 1));
        match label.as_deref() {
            Some("skip") => return Some(PodTreatment::Skip(SkipReason::Label)),
            Some("waitcompleted") => return Some(PodTreatment::WaitCompleted),
            _ => {}
        }
        if self.rules.is_empty() {
            return Some(PodTreatment::Evict { order: 0 });
        }
        let namespace: &Labels = self.workload.namespaces.get(&pod.namespace)?;
        let rule = self.rules.iter().find(|rule| rule.is_for_pod(&pod.labels, namespace));
        Some(match rule.map(|rule| rule.behavior) {
            None => PodTreatment::Evict { order: 0 },
            Some(DrainBehavior::Drain { order }) => PodTreatment::Evict { order },
            Some(DrainBehavior::WaitCompleted) => PodTreatment::WaitCompleted,
            Some(DrainBehavior::Skip) => {
                PodTreatment::Skip(SkipReason::Rule(rule.map(|rule| rule.name.clone()).unwrap_or_default()))
            }
        })
    }
}
