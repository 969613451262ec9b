//! Which machines leave and come, and the rules of their drains.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::selector::{Labels, Selector};
use crate::workload::WorkloadNode;

/// A rollout.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Plan {
    /// Control plane and pools, in the order of their rollouts.
    pub groups: Vec<MachineGroup>,
    /// How many groups roll at once, at least one.
    pub side_by_side: usize,
    /// The MachineDrainRules of the Machines' namespace.
    pub rules: Vec<MachineDrainRule>,
    /// Rules select by them.
    pub cluster_labels: Labels,
    /// How many nodes and pods may be read, if that is limited.
    pub most_work: Option<u64>,
}

/// Machines that roll together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineGroup {
    /// In the order in which they leave.
    pub leave: Vec<LeavingMachine>,
    /// What a new node looks like. It gets its number as a suffix of the name.
    pub new_node: WorkloadNode,
    pub come: usize,
    /// How many new machines come before one leaves. This is `maxSurge`.
    pub surge: usize,
    /// How many machines leave before a new one comes. This is `maxUnavailable`.
    pub unavailable: usize,
}

/// A Machine that leaves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LeavingMachine {
    pub name: String,
    pub labels: Labels,
    /// Keys of its annotations.
    pub annotations: BTreeSet<String>,
    /// A machine without a node is not drained.
    pub node: Option<String>,
    /// Absent or 0: for ever.
    pub drain_timeout_seconds: u64,
    /// Absent or 0: for ever.
    pub detach_timeout_seconds: u64,
}

/// What the drains of some machines do with some pods.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineDrainRule {
    pub name: String,
    pub behavior: DrainBehavior,
    /// Empty: all machines.
    #[serde(default)]
    pub machines: Vec<MachineSelector>,
    /// Empty: all pods.
    #[serde(default)]
    pub pods: Vec<PodSelector>,
}

/// Machines of a rule. An absent selector selects all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSelector {
    pub selector: Option<Selector>,
    pub cluster_selector: Option<Selector>,
}

/// Pods of a rule. An absent selector selects all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSelector {
    pub selector: Option<Selector>,
    pub namespace_selector: Option<Selector>,
}

/// What a rule does with its pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DrainBehavior {
    Drain {
        #[serde(default)]
        order: i32,
    },
    Skip,
    WaitCompleted,
}

impl MachineDrainRule {
    /// One rule with an invalid selector fails all drains of its namespace.
    pub fn is_valid(&self) -> bool {
        let machines = self.machines.iter().flat_map(|one| [&one.selector, &one.cluster_selector]);
        let pods = self.pods.iter().flat_map(|one| [&one.selector, &one.namespace_selector]);
        machines.chain(pods).flatten().all(Selector::is_valid)
    }

    pub fn is_for_machine(&self, machine: &LeavingMachine, cluster_labels: &Labels) -> bool {
        self.machines.is_empty()
            || self.machines.iter().any(|one| {
                selects(one.selector.as_ref(), &machine.labels)
                    && selects(one.cluster_selector.as_ref(), cluster_labels)
            })
    }

    pub fn is_for_pod(&self, pod: &Labels, namespace: &Labels) -> bool {
        self.pods.is_empty()
            || self.pods.iter().any(|one| {
                selects(one.selector.as_ref(), pod) && selects(one.namespace_selector.as_ref(), namespace)
            })
    }
}

fn selects(selector: Option<&Selector>, labels: &Labels) -> bool {
    selector.is_none_or(|selector| selector.matches(labels))
}
