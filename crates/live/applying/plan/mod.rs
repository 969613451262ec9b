//! What of the changes is applied now, in which order, and what waits for the control plane.
//!
//! Kubernetes lets kubelets be older than their API server, never newer. Cluster API accepts newer workers nonetheless
//! and then blocks. So workers whose version or machines would change are withheld until their control plane is done. A
//! change that replaces no machine is not withheld: more replicas, a label, a drain timeout are often what helps while
//! a control plane is stuck. An object is applied whole or not at all: one that changes its replicas *and* its version
//! waits.
//!
//! A MachinePool is withheld together with its infrastructure object and its bootstrap config: they are
//! edited in place, and the provider rolls instances by them. Machine templates have new names, so they may
//! go first. A new cluster has nothing to protect: its workers are made beside its control plane, which
//! Cluster API brings up in order. A `Cluster` with a topology carries both, and Cluster API orders them.
//!
//! Objects of the OpenStack resource controller go first, with credentials; control planes and workers whose templates name
//! one of them wait until it is available, in a new cluster too; so does a topology whose class or variables do.

mod changes;
mod cloud;
mod given_up;
mod order;
mod rolls;
#[cfg(test)]
mod tests;
mod waiting;

pub use capstan_model::kinds::ApplyStage;

pub use self::changes::Changes;
pub use self::given_up::{AfterGivingUp, GivenUp, available, given_up};
use self::order::ApplyOrder;
pub use self::waiting::Withheld;
use self::waiting::{Groups, changes_spec, is_through};
use crate::live_objects::LiveObjects;
use crate::rollout::observed::{OwnerKind, RolloutVerdict};
use capstan_kustomize::render::RenderedObject;
use capstan_model::object::ObjectId;

/// What is applied now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyPlan {
    /// The changes that may be applied now, in order; no step is empty.
    pub steps: Vec<ApplyStep>,
    /// The changes that wait.
    pub withheld: Vec<Withheld>,
    /// How far the cluster will be when the steps are applied.
    pub phase: ApplyPhase,
}

/// Objects that may be applied in any order among themselves, though this one is best.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyStep {
    /// Which part of the cluster.
    pub stage: ApplyStage,
    pub objects: Vec<ObjectId>,
}

/// How far a cluster is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ApplyPhase {
    /// The control plane is not done; workers that change wait for it.
    ControlPlane,
    /// Everything is applied; workers roll.
    Workers,
    /// Everything is applied and every machine is up to date, as far as anybody can tell.
    Done,
}

impl ApplyPhase {
    /// The word of `status.phase`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ControlPlane => "ControlPlane",
            Self::Workers => "Workers",
            Self::Done => "Done",
        }
    }
}

/// What of the changes is applied now, given the state of the rollout before them.
///
/// `rendered` has its namespaces and its live names; `verdict` was judged on the same `live`.
pub fn plan(
    rendered: &[RenderedObject],
    changes: &Changes,
    live: &LiveObjects,
    verdict: &RolloutVerdict,
) -> ApplyPlan {
    let mut withheld = Groups::of(rendered, live).withheld(changes, verdict);
    for held in cloud::withheld(rendered, changes, live) {
        if !withheld.iter().any(|other| other.object == held.object) {
            withheld.push(held);
        }
    }
    withheld.sort_by(|a, b| a.object.cmp(&b.object));
    let order = ApplyOrder::of(rendered);
    let mut now: Vec<(ApplyStage, u8, &ObjectId)> = rendered
        .iter()
        .filter(|object| changes.contains_key(&object.id))
        .filter(|object| !withheld.iter().any(|held| held.object == object.id))
        .map(|object| {
            let (stage, rank) = order.place(object);
            (stage, rank, &object.id)
        })
        .collect();
    now.sort();
    let class_changes = now.iter().any(|(_, _, id)| rolls::class_changes(id, rendered, changes, live));
    let phase = match phase(&now, changes, &withheld, verdict) {
        // The topologies of that class have it all before them.
        _ if class_changes => ApplyPhase::ControlPlane,
        phase => phase,
    };
    let mut steps: Vec<ApplyStep> = Vec::new();
    for (stage, _, id) in now {
        match steps.last_mut().filter(|step| step.stage == stage) {
            Some(step) => step.objects.push(id.clone()),
            None => steps.push(ApplyStep { stage, objects: vec![id.clone()] }),
        }
    }
    ApplyPlan { steps, withheld, phase }
}

fn phase(
    now: &[(ApplyStage, u8, &ObjectId)],
    changes: &Changes,
    withheld: &[Withheld],
    verdict: &RolloutVerdict,
) -> ApplyPhase {
    let open = |kind: OwnerKind| {
        verdict.owners.iter().filter(|owner| owner.kind == kind).any(|owner| {
            !is_through(owner) || changes.get(&owner.object).is_some_and(|fields| changes_spec(fields))
        })
    };
    let workers_change = || now.iter().any(|(stage, _, _)| *stage == ApplyStage::Workers);
    if !withheld.is_empty() || open(OwnerKind::ControlPlane) {
        ApplyPhase::ControlPlane
    } else if workers_change() || open(OwnerKind::Workers) {
        ApplyPhase::Workers
    } else {
        ApplyPhase::Done
    }
}
