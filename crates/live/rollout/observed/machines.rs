//! Machines by owner: which are up to date, and which were replaced.

use jiff::Timestamp;
use serde_json::Value;

use super::observed_owner::{ObservedOwner, Workers, is_owned_by_topology, owner_named};
use super::reading::{OwnerCondition, conditions, created, is_version, said};
use super::verdict::{MachineAge, MachineState};
use crate::live_objects::{CLUSTER_NAME_LABEL, is_terminating, label, text};
use crate::rollout::facts;
use crate::rollout::owner::MachineOwner;
use capstan_model::kinds::{names, pointer, version_fields};
use capstan_model::object::ObjectId;
use capstan_plan::templates::{TemplateRole, references};

/// A machine with what it was read from.
pub(super) struct ObservedMachine<'v> {
    pub(super) state: MachineState,
    pub(super) id: &'v ObjectId,
    pub(super) object: &'v Value,
    pub(super) created: Option<Timestamp>,
    /// The time of `rollout.after`, where it has come and made the machine an old one.
    pub(super) overdue: Option<Timestamp>,
    pub(super) conditions: Vec<OwnerCondition<'v>>,
}

impl ObservedMachine<'_> {
    pub(super) fn condition(&self, kinds: &[&str]) -> Option<&OwnerCondition<'_>> {
        kinds.iter().find_map(|kind| self.conditions.iter().find(|condition| condition.kind == *kind))
    }

    /// The condition of a machine that is updated in place: unlike others it is `True` meanwhile, also where the
    /// update fails.
    pub(super) fn updating(&self) -> Option<&OwnerCondition<'_>> {
        updating(&self.conditions)
    }

    pub(super) fn is_ready(&self) -> bool {
        self.condition(&["Ready"]).is_some_and(OwnerCondition::is_true)
    }
}

fn updating<'c, 'v>(conditions: &'c [OwnerCondition<'v>]) -> Option<&'c OwnerCondition<'v>> {
    conditions.iter().find(|condition| condition.kind == "Updating" && condition.is_true())
}

/// Conditions in the order in which a machine comes up: the first that is not met holds it up.
const COMING_UP: &[&str] =
    &["BootstrapConfigReady", "BootstrapReady", "InfrastructureReady", "NodeHealthy", "NodeReady", "Ready"];

/// Labels by which Cluster API says what a machine belongs to.
const DEPLOYMENT_LABEL: &str = "cluster.x-k8s.io/deployment-name";
const POOL_LABEL: &str = "cluster.x-k8s.io/pool-name";

impl ObservedOwner<'_> {
    /// Its machines, ordered by name.
    pub(super) fn machines(&self) -> Vec<ObservedMachine<'_>> {
        let machines = self.live.core(names::MACHINE).filter(|(id, machine)| self.owns(id, machine));
        machines.map(|(id, machine)| self.found(id, machine)).collect()
    }

    fn owns(&self, id: &ObjectId, machine: &Value) -> bool {
        let name = Some(self.id.name.as_str());
        id.namespace == self.id.namespace
            && match self.kind {
                // The label has a hash if the name is not valid as its value.
                MachineOwner::Deployment => match label(machine, DEPLOYMENT_LABEL) {
                    Some(deployment) if self.id.name.len() <= 63 => Some(deployment) == name,
                    _ => {
                        let set = self.machine_set_of(machine);
                        set.is_some_and(|set| owner_named(set, &self.id.kind) == name)
                    }
                },
                MachineOwner::Pool => {
                    owner_named(machine, &self.id.kind) == name || label(machine, POOL_LABEL) == name
                }
                MachineOwner::Topology => {
                    label(machine, CLUSTER_NAME_LABEL) == name && is_owned_by_topology(machine)
                }
                MachineOwner::Kubeadm
                | MachineOwner::OtherControlPlane
                | MachineOwner::ManagedControlPlane
                | MachineOwner::Set => owner_named(machine, &self.id.kind) == name,
            }
    }

    fn found<'v>(&self, id: &'v ObjectId, machine: &'v Value) -> ObservedMachine<'v> {
        let conditions = conditions(machine);
        let terminating = is_terminating(machine);
        let phase = text(machine, "/status/phase").unwrap_or("Pending");
        let held = COMING_UP
            .iter()
            .filter_map(|kind| conditions.iter().find(|condition| condition.kind == *kind))
            .find(|condition| !condition.is_true());
        let overdue = self.overdue(machine);
        let state = MachineState {
            name: id.name.clone(),
            owner: self.id.clone(),
            state: if terminating { "Deleting" } else { phase }.to_owned(),
            age: if overdue.is_some() { MachineAge::Old } else { self.age(machine, &conditions) },
            created_at: created(machine),
            version: text(machine, "/spec/version").map(str::to_owned),
            words: updating(&conditions)
                .or(held)
                .filter(|_| !terminating)
                .map(|condition| said(&condition.sentence())),
        };
        ObservedMachine { state, id, object: machine, created: created(machine), overdue, conditions }
    }

    /// What Git asks for decides, then Cluster API's own word, then what the machine was made from: whichever
    /// says first that it is old. (Its time has been asked before.)
    fn age(&self, machine: &Value, conditions: &[OwnerCondition<'_>]) -> MachineAge {
        let fields = version_fields(&self.id.group, &self.id.kind);
        let asked = |object: &'_ Value| -> Option<String> {
            fields.clone().find_map(|(_, keys)| text(object, &pointer(keys))).map(str::to_owned)
        };
        let live = self.live.get(self.id);
        let wanted = self.desired.and_then(|desired| asked(&desired.value)).or_else(|| live.and_then(asked));
        if let (Some(wanted), Some(has)) = (&wanted, text(machine, "/spec/version"))
            && !is_version(has, wanted)
        {
            return MachineAge::Old;
        }
        let says = conditions.iter().find(|condition| condition.kind == "UpToDate");
        if says.is_some_and(|condition| condition.status == "False") || self.is_of_another_template(machine) {
            return MachineAge::Old;
        }
        MachineAge::New
    }

    /// Whether a machine's set is of another template than its deployment asks for. Cluster API's own word for it
    /// (`UpToDate` of the machine, and what deployments and Clusters count from that) is written by the machine's
    /// controller, a moment after the deployment's own has already observed the new generation.
    fn is_of_another_template(&self, machine: &Value) -> bool {
        let Some(Workers { set, deployment: (id, deployment) }) = self.workers_of(machine) else {
            return false;
        };
        if set.pointer("/spec/template").is_none() {
            return false;
        }
        let named = |object: &Value| -> Vec<(TemplateRole, String)> {
            let found = references(&id.group, &id.kind, object);
            found.into_iter().map(|reference| (reference.role, reference.name.to_owned())).collect()
        };
        let said = |object: &'_ Value, pointer: &str| -> Option<String> {
            text(object, pointer).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        named(deployment) != named(set)
            || facts::WORKER_ROLLS.iter().any(|pointer| said(deployment, pointer) != said(set, pointer))
    }
}
