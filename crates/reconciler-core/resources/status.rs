//! The status of a Fleet and of a ManagedCluster.

use capstan_live::applying::{self, AppliedInventory};
use capstan_live::rollout::observed::{MachineAge, MachineState, RolloutProgress, RolloutVerdict};
use capstan_live::services::{CleanupStatus, ServiceStatus};
use capstan_model::object::ObjectId;
use capstan_plan::templates::{LiveTemplate, SpecDigest, TemplateNames};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cloud_credentials::CloudCredentialsStatus;
use super::condition::{Conditions, whole_second};
use super::owners_key::OwnersKeyStatus;

/// How many machines a status holds.
const MACHINES: usize = 100;

/// What the reconciler did with one cluster folder, and the state of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedClusterStatus {
    /// The generation of this object that was observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The commit that is completely applied: the last one that changes this cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied_commit: Option<String>,
    /// The commit that was tried last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempted_commit: Option<String>,
    /// The Git tree id of the cluster's folder at the applied commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The Git tree id of the cluster's folder at the commit that was read last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempted_folder: Option<String>,
    /// How far it is applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<ClusterPhase>,
    /// Conditions, by the conventions of Kubernetes.
    pub conditions: Conditions,
    /// Why nothing of it is applied; absent if it is applied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<PlaceStatus>,
    /// Changes that wait for the control plane, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<String>,
    /// Objects that Git no longer names and that are kept, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<PlaceStatus>,
    /// What was applied and may be deleted again; written before anything is applied.
    pub inventory: AppliedInventory,
    /// The names under which templates live: Git keeps the logical ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub templates: Vec<KeptTemplate>,
    /// The credentials that were made for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cloud_credentials: Option<CloudCredentialsStatus>,
    /// The key that its owners have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owners_key: Option<OwnersKeyStatus>,
    /// The state of the machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollout: Option<RolloutStatus>,
    /// The state of the services inside the cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub services: Vec<ServiceStatus>,
    /// What outlives it in its cloud, once its deletion is requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cleanup: Option<CleanupStatus>,
    /// When the reconciler last wrote to the management cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub last_applied_time: Option<Timestamp>,
}

impl ManagedClusterStatus {
    /// The live names of templates. Entries that contradict earlier ones are passed over: a status can be
    /// edited by hand.
    pub fn names(&self) -> TemplateNames {
        let mut kept: Vec<LiveTemplate> = Vec::new();
        for template in &self.templates {
            let Some(template) = template.as_live() else { continue };
            kept.push(template);
            if TemplateNames::new(kept.clone()).is_err() {
                kept.pop();
            }
        }
        TemplateNames::new(kept).unwrap_or_default()
    }
}

/// The progress of applying a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ClusterPhase {
    /// The control plane is applied and rolls; workers that change wait for it.
    ControlPlane,
    /// Everything is applied; workers roll.
    Workers,
    /// Everything is applied and every machine is as wished.
    Done,
}

impl From<ClusterPhase> for applying::ApplyPhase {
    fn from(phase: ClusterPhase) -> Self {
        match phase {
            ClusterPhase::ControlPlane => Self::ControlPlane,
            ClusterPhase::Workers => Self::Workers,
            ClusterPhase::Done => Self::Done,
        }
    }
}

impl From<applying::ApplyPhase> for ClusterPhase {
    fn from(phase: applying::ApplyPhase) -> Self {
        match phase {
            applying::ApplyPhase::ControlPlane => Self::ControlPlane,
            applying::ApplyPhase::Workers => Self::Workers,
            applying::ApplyPhase::Done => Self::Done,
        }
    }
}

/// A reason, with its object, field and file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlaceStatus {
    /// A CamelCase word: `VersionBelowLive`, `Invalid`, `OutsideBoundary`.
    pub reason: String,
    /// What was found and what to do.
    pub message: String,
    /// `MachineDeployment my-org/peu01-md-0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// JSON Pointer of the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The file in the repository that sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line in that file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// The live name of one template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeptTemplate {
    /// API group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name in Git.
    pub name: String,
    /// The live object's name.
    pub live: String,
    /// SHA-256 of the rendered spec for which that name holds.
    pub spec: String,
}

impl KeptTemplate {
    /// The live object.
    pub fn live_id(&self) -> ObjectId {
        ObjectId {
            group: self.group.clone(),
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            name: self.live.clone(),
        }
    }

    fn as_live(&self) -> Option<LiveTemplate> {
        Some(LiveTemplate {
            group: self.group.clone(),
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            live: self.live.clone(),
            spec: SpecDigest::parse(&self.spec)?,
        })
    }
}

impl From<&LiveTemplate> for KeptTemplate {
    fn from(template: &LiveTemplate) -> Self {
        Self {
            group: template.group.clone(),
            kind: template.kind.clone(),
            namespace: template.namespace.clone(),
            name: template.name.clone(),
            live: template.live.clone(),
            spec: template.spec.to_string(),
        }
    }
}

/// How the machines of a cluster stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutStatus {
    /// In one word.
    pub state: RolloutState,
    /// Machines that are up to date.
    pub ready: u32,
    /// Machines wanted.
    pub wanted: u32,
    /// What holds it up, in Cluster API's own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Since when it is in that state.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub since: Option<Timestamp>,
    /// Machines that are not yet, or no longer, up to date.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub machines: Vec<RolloutMachine>,
}

impl RolloutStatus {
    /// Of a verdict; `None` where nothing owns machines.
    pub fn of(verdict: &RolloutVerdict) -> Option<Self> {
        if verdict.owners.is_empty() {
            return None;
        }
        let counts = verdict.counts();
        let decisive = verdict.decisive();
        let pending = verdict
            .machines
            .iter()
            .filter(|machine| machine.age == MachineAge::Old || machine.state != "Running");
        Some(Self {
            state: verdict.state.into(),
            ready: counts.up_to_date.min(counts.ready).min(counts.wanted),
            wanted: counts.wanted,
            message: decisive.map(|_| verdict.sentence()),
            since: decisive.and_then(|owner| owner.since).map(whole_second),
            machines: pending.take(MACHINES).map(RolloutMachine::of).collect(),
        })
    }
}

/// A rollout in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum RolloutState {
    /// Cluster API has not taken it up yet.
    Waiting,
    /// Machines are being replaced.
    Rolling,
    /// Every machine is as wished.
    Done,
    /// It does not go on without somebody doing something.
    Stuck,
    /// It is not known.
    Unknown,
}

impl From<RolloutProgress> for RolloutState {
    fn from(state: RolloutProgress) -> Self {
        match state {
            RolloutProgress::Done => Self::Done,
            RolloutProgress::Unknown => Self::Unknown,
            RolloutProgress::Waiting => Self::Waiting,
            RolloutProgress::Rolling => Self::Rolling,
            RolloutProgress::Stuck => Self::Stuck,
        }
    }
}

/// One machine of a rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutMachine {
    /// Name of the `Machine`.
    pub name: String,
    /// The control plane, deployment or pool that owns it.
    pub owner: String,
    /// Its phase in Cluster API: `Running`, `Deleting`.
    pub state: String,
    /// Its version of Kubernetes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether it is up to date: if not, it will be replaced.
    pub up_to_date: bool,
}

impl RolloutMachine {
    fn of(machine: &MachineState) -> Self {
        Self {
            name: machine.name.clone(),
            owner: format!("{} {}", machine.owner.kind, machine.owner.name),
            state: machine.state.clone(),
            version: machine.version.clone(),
            up_to_date: machine.age == MachineAge::New,
        }
    }
}

/// The state of a Fleet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FleetStatus {
    /// The generation of this object that was observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// UID of this management cluster, as `.capstan.yaml` should have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub management_cluster_uid: Option<String>,
    /// The commit that clusters are applied from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Clusters that this Fleet applies.
    pub clusters: u32,
    /// Clusters among them that match Git, with all machines done.
    pub ready: u32,
    /// Conditions, by the conventions of Kubernetes.
    pub conditions: Conditions,
}
