//! How many machines an owner adds and replaces, beside those that there are.

use std::collections::BTreeSet;

use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::{KindRole, Machines, Workers, names, role};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_plan::templates::{Reference, references};
use capstan_plan::upgrade::{Rollout, RolloutEffect};
use capstan_yaml::Value;

use super::machine::Machine;
use super::reader::CloudReader;
use crate::live_objects::{LiveObjects, annotation, identity, label};
use crate::rollout::most_surge;

/// When a group's machines come: workers that are replaced wait for the control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Turn {
    First,
    AfterControlPlane,
}

/// The machines of one owner that makes some, or replaces some.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub(super) owner: ObjectId,
    pub(super) turn: Turn,
    /// Whether kubeadm refuses machines that are too small for a control plane.
    pub(super) sized_by_kubeadm: bool,
    pub(super) wanted: u64,
    pub(super) there: u64,
    /// Machines above the wanted number while it rolls; `None` where it does not roll.
    pub(super) surge: Option<u64>,
    /// The zone that its machines are put into, and the field that says so.
    pub(super) zone: Option<(String, FieldPath)>,
    pub(super) machine: Machine,
    /// What those that there are were made from, where that is known.
    pub(super) was: Option<Machine>,
}

impl Group {
    /// What becomes of a rendered owner; `None` where it adds and replaces no machine of this kind of cloud.
    pub(super) fn of(
        reader: &dyn CloudReader,
        owner: &RenderedObject,
        after: &[RenderedObject],
        live: &LiveObjects,
        rollouts: &[Rollout],
    ) -> Option<Self> {
        let turn = turn(&owner.id)?;
        let namespace = owner.id.namespace.as_deref();
        let reference = template_of(reader, &owner.id, &owner.value)?;
        let template = after.iter().find(|object| reference.means(namespace, &object.id));
        let machine = match template {
            Some(template) => reader.machine(&template.id, &template.value)?,
            None => live_machine(reader, &reference, namespace, live)?,
        };
        let live_owner = live.get(&owner.id);
        let was = live_owner
            .and_then(|value| live_machine(reader, &template_of(reader, &owner.id, value)?, namespace, live))
            .filter(|was| was.is_read);
        let wanted = wanted(&owner.value, live_owner);
        let there = there(&owner.id, live_owner, live);
        let replaces = |rollout: &&Rollout| {
            rollout.object == owner.id
                && rollout.course.effect == RolloutEffect::Replaces
                && rollout.course.replaced != Some(0)
        };
        let rolls = there > 0 && wanted > 0 && rollouts.iter().any(|rollout| replaces(&rollout));
        let surge = rolls.then(|| u64::from(most_surge(&owner.value, u32::try_from(wanted).ok())));
        let group = Self {
            owner: owner.id.clone(),
            turn: if rolls { turn } else { Turn::First },
            sized_by_kubeadm: owner.id.kind == "KubeadmControlPlane" && !ignores_size(&owner.value),
            wanted,
            there,
            surge,
            zone: zone(&owner.value),
            machine,
            was,
        };
        (rolls || wanted != there).then_some(group)
    }

    /// Whether any machine is made.
    pub(super) const fn makes_machines(&self) -> bool {
        self.surge.is_some() || self.wanted > self.there
    }
}

fn turn(id: &ObjectId) -> Option<Turn> {
    match role(&id.group, &id.kind)? {
        KindRole::ControlPlane(Machines::Own) => Some(Turn::First),
        KindRole::Workers(Workers::Deployment | Workers::Set) => Some(Turn::AfterControlPlane),
        _ => None,
    }
}

/// The template of such machines that an owner names.
fn template_of<'v>(reader: &dyn CloudReader, id: &ObjectId, value: &'v Value) -> Option<Reference<'v>> {
    references(&id.group, &id.kind, value)
        .into_iter()
        .find(|reference| reference.kind == reader.machine_template())
}

fn live_machine(
    reader: &dyn CloudReader,
    reference: &Reference<'_>,
    namespace: Option<&str>,
    live: &LiveObjects,
) -> Option<Machine> {
    let value = live.meant(reference, namespace)?;
    reader.machine(&identity(value)?, value)
}

/// How many machines it will have: as Git says, else as there are, else the autoscaler's least, else one.
fn wanted(value: &Value, live: Option<&Value>) -> u64 {
    let least = || -> Option<u64> {
        let least: u32 =
            annotation(value, "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size")?.parse().ok()?;
        Some(u64::from(least))
    };
    let owned = annotation(value, "cluster.x-k8s.io/replicas-managed-by").is_some() || least().is_some();
    let in_git = replicas(value).filter(|_| !owned || live.is_none());
    in_git.or_else(|| live.and_then(replicas)).or_else(least).unwrap_or(1)
}

/// The value of `spec.replicas`, capped at what its type holds: a manifest may have any number.
fn replicas(value: &Value) -> Option<u64> {
    let said = value.pointer("/spec/replicas").and_then(Value::as_u64)?;
    Some(said.min(u64::from(u32::MAX)))
}

/// How many of its machines exist in the cloud: those that have an id there.
fn there(owner: &ObjectId, live_owner: Option<&Value>, live: &LiveObjects) -> u64 {
    let Some(value) = live_owner else { return 0 };
    if !live.has_all("cluster.x-k8s.io", names::MACHINE) {
        return replicas(value).unwrap_or(0);
    }
    let uid = value.pointer("/metadata/uid").and_then(Value::as_str);
    let is_owned = |machine: &Value| {
        let by = match owner.kind.as_str() {
            names::MACHINE_DEPLOYMENT => label(machine, "cluster.x-k8s.io/deployment-name"),
            names::MACHINE_SET => label(machine, "cluster.x-k8s.io/set-name"),
            _ => {
                let owners = machine.pointer("/metadata/ownerReferences").and_then(Value::as_array);
                return owners.into_iter().flatten().any(|one| one["uid"].as_str() == uid && uid.is_some());
            }
        };
        by == Some(owner.name.as_str())
    };
    let machines = live.core(names::MACHINE).filter(|(id, machine)| {
        id.namespace == owner.namespace
            && is_owned(machine)
            && machine.pointer("/spec/providerID").and_then(Value::as_str).is_some()
    });
    machines.count() as u64
}

/// The zone of a MachineDeployment's machines.
fn zone(value: &Value) -> Option<(String, FieldPath)> {
    let zone = value.pointer("/spec/template/spec/failureDomain")?.as_str()?;
    Some((zone.to_owned(), FieldPath::of_keys(["spec", "template", "spec", "failureDomain"])))
}

/// Whether kubeadm is configured to ignore cores and memory.
fn ignores_size(value: &Value) -> bool {
    let ignored: BTreeSet<String> = ["initConfiguration", "joinConfiguration"]
        .iter()
        .filter_map(|part| {
            let at = format!("/spec/kubeadmConfigSpec/{part}/nodeRegistration/ignorePreflightErrors");
            value.pointer(&at)?.as_array()
        })
        .flatten()
        .filter_map(|word| word.as_str().map(str::to_ascii_lowercase))
        .collect();
    ignored.contains("all") || ignored.contains("numcpu") || ignored.contains("mem")
}
