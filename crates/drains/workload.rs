//! What is read of a workload cluster: names, labels and numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::selector::{Expression, Labels, Selector};

/// Resources by their names: `cpu` in thousandths, `memory` in bytes, `pods`, others as they are counted. The limit of
/// a CSI driver's volumes is a resource as well: `attachable-volumes-csi-<driver>`.
pub type Quantities = BTreeMap<String, u64>;

/// The objects of one workload cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Workload {
    pub nodes: Vec<WorkloadNode>,
    pub pods: Vec<Pod>,
    pub namespaces: BTreeMap<String, Labels>,
    pub controllers: Vec<PodController>,
    pub budgets: Vec<DisruptionBudget>,
}

/// A Node, with what is attached to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadNode {
    pub name: String,
    pub labels: Labels,
    pub allocatable: Quantities,
    pub taints: Vec<Taint>,
    pub unschedulable: bool,
    pub unreachable: bool,
    /// Attached volumes, as `namespace/claim`, or as the name of a volume without a claim.
    pub attached: Vec<String>,
}

/// A taint of a Node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Taint {
    pub key: String,
    #[serde(default)]
    pub value: String,
    pub effect: TaintEffect,
}

/// What a taint does to pods that do not tolerate it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TaintEffect {
    NoSchedule,
    PreferNoSchedule,
    NoExecute,
}

/// Which taints a pod tolerates. Without a key, each; without a value, each of the key; without an effect, each.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Toleration {
    pub key: Option<String>,
    /// Absent for the operator `Exists`.
    pub value: Option<String>,
    pub effect: Option<TaintEffect>,
}

impl Toleration {
    pub fn tolerates(&self, taint: &Taint) -> bool {
        self.key.as_ref().is_none_or(|key| *key == taint.key)
            && self.value.as_ref().is_none_or(|value| *value == taint.value)
            && self.effect.is_none_or(|effect| effect == taint.effect)
    }
}

/// The controller that an owner reference names.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnerReference {
    pub api_version: String,
    pub kind: String,
    pub name: String,
}

impl OwnerReference {
    /// Empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }
}

/// What creates pods, and how many of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodController {
    pub namespace: String,
    pub reference: OwnerReference,
    /// Absent if the kind has no `/scale`.
    #[serde(default)]
    pub replicas: Option<u32>,
    /// The Deployment of a ReplicaSet.
    #[serde(default)]
    pub controller: Option<OwnerReference>,
}

/// A pod, as far as a drain and the scheduler read it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Pod {
    pub namespace: String,
    pub name: String,
    pub labels: Labels,
    pub owner: Option<OwnerReference>,
    pub node: Option<String>,
    pub phase: Phase,
    pub health: Health,
    /// Whether it has a deletion timestamp.
    pub deleted: bool,
    /// Whether it is a mirror of a static pod.
    pub mirror: bool,
    pub empty_dir: bool,
    pub grace_seconds: u64,
    /// Its claims of volumes, in its namespace.
    pub claims: Vec<String>,
    pub placement: Placement,
}

impl Pod {
    /// `namespace/name`: the order of a drain is that of these texts.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    pub fn has_finished(&self) -> bool {
        matches!(self.phase, Phase::Succeeded | Phase::Failed)
    }
}

/// A pod's phase, as its status has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Phase {
    Pending,
    #[default]
    Running,
    Succeeded,
    Failed,
    Unknown,
}

/// Whether a pod is ready.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Health {
    #[default]
    Ready,
    /// It is not ready now, and may become ready.
    Unready,
    /// It cannot become ready, for example because its image does not exist.
    Failing,
}

/// What decides on which node a pod may run.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Placement {
    pub requests: Quantities,
    pub host_ports: Vec<HostPort>,
    pub node_selector: Labels,
    /// Required node affinity: one of these terms, if there are any. The key `metadata.name` is the node's name.
    pub node_affinity: Vec<NodeTerm>,
    pub affinity: Vec<PodTerm>,
    pub anti_affinity: Vec<PodTerm>,
    /// Constraints with `DoNotSchedule` alone.
    pub spread: Vec<SpreadConstraint>,
    pub tolerations: Vec<Toleration>,
    /// For each volume with places of its own, such as a zone or a node, the terms of which one has to match.
    pub volumes: Vec<Vec<NodeTerm>>,
}

/// A port of the node.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HostPort {
    pub protocol: String,
    pub port: u16,
    /// Empty for all addresses of the node.
    #[serde(default)]
    pub ip: String,
}

impl HostPort {
    pub fn conflicts(&self, other: &Self) -> bool {
        let any = |ip: &str| ip.is_empty() || ip == "0.0.0.0";
        self.protocol == other.protocol
            && self.port == other.port
            && (self.ip == other.ip || any(&self.ip) || any(&other.ip))
    }
}

/// Conditions on a node: all of them have to hold.
pub type NodeTerm = Vec<Expression>;

/// A required term of affinity or anti-affinity between pods.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodTerm {
    /// The pod's own if there is neither a name nor a selector of namespaces.
    pub namespaces: Vec<String>,
    pub namespace_selector: Option<Selector>,
    /// Absent: no pod.
    pub selector: Option<Selector>,
    pub topology_key: String,
}

/// A constraint of topology spread with `whenUnsatisfiable: DoNotSchedule`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SpreadConstraint {
    pub max_skew: u32,
    pub topology_key: String,
    pub selector: Option<Selector>,
    pub min_domains: u32,
    /// `nodeAffinityPolicy: Ignore`; the default is `Honor`.
    pub ignores_affinity: bool,
    /// `nodeTaintsPolicy: Honor`; the default is `Ignore`.
    pub honors_taints: bool,
}

/// A PodDisruptionBudget of `policy/v1`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DisruptionBudget {
    pub namespace: String,
    pub name: String,
    /// Absent: no pod. Empty: all pods of the namespace.
    pub selector: Option<Selector>,
    pub min_available: Option<Amount>,
    pub max_unavailable: Option<Amount>,
    /// `unhealthyPodEvictionPolicy: AlwaysAllow`.
    pub always_allow_unhealthy: bool,
    pub generation: u64,
    pub status: BudgetStatus,
}

/// What the disruption controller wrote. It counts where a controller's replicas are not known here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BudgetStatus {
    pub observed_generation: u64,
    pub expected_pods: u32,
    pub desired_healthy: u32,
    /// The condition `DisruptionAllowed` has the reason `SyncFailed`.
    pub sync_failed: bool,
}

/// A number of pods, or a share of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Amount {
    Number(u32),
    Percent(u32),
}

impl Amount {
    /// Percents round up.
    pub fn of(self, all: u32) -> u32 {
        match self {
            Self::Number(number) => number,
            Self::Percent(percent) => {
                let share = (u64::from(all) * u64::from(percent)).div_ceil(100);
                u32::try_from(share).unwrap_or(u32::MAX)
            }
        }
    }
}
