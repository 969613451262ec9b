//! How far a rollout is: its groups, the drains of their machines, and pods whose node is not known.

use std::collections::{BTreeMap, BTreeSet};

use crate::placing::NodeSet;
use crate::plan::LeavingMachine;
use crate::treatment::PodTreatment;
use crate::verdict::{DrainStep, StepEnd, StopCause};

/// How far a group is.
#[derive(Default, Clone, Copy)]
pub(super) struct GroupProgress {
    pub(super) started: usize,
    pub(super) left: usize,
    pub(super) come: usize,
}

/// A machine that leaves.
pub(super) struct Drain<'a> {
    pub(super) machine: &'a LeavingMachine,
    pub(super) group: usize,
    pub(super) node: Option<u32>,
    /// Pods that have to go, in the order of their names.
    pub(super) remaining: Vec<(u32, PodTreatment)>,
    /// Pods that were evicted in this round.
    pub(super) terminating: Vec<u32>,
    /// A cause that no eviction can remove.
    pub(super) lasting: Option<StopCause>,
    /// Why pods are left after the last round.
    pub(super) refused: Option<(Option<u32>, StopCause)>,
    pub(super) waited: BTreeSet<String>,
    /// Whether pods that may be on its node are counted among those that wait.
    pub(super) has_counted_loose: bool,
    /// Claims of the pods on its node, as `namespace/name`.
    pub(super) claims: BTreeSet<String>,
    pub(super) is_gone: bool,
    pub(super) step: DrainStep,
}

impl Drain<'_> {
    /// Why it does not move, and with which pod.
    pub(super) fn cause(&self) -> Option<(Option<u32>, &StopCause)> {
        if self.is_gone {
            return None;
        }
        let refused = self.refused.as_ref().map(|(pod, cause)| (*pod, cause));
        self.lasting.as_ref().map(|cause| (None, cause)).or(refused)
    }

    /// Whether `nodeDrainTimeout` ends it.
    pub(super) fn times_out(&self) -> bool {
        let is_of_drain = |cause| !matches!(cause, &StopCause::Hook(_) | &StopCause::VolumeAttached(_));
        self.machine.drain_timeout_seconds > 0 && self.cause().is_some_and(|(_, cause)| is_of_drain(cause))
    }

    pub(super) fn into_step(self) -> DrainStep {
        let stopped = self.cause().map(|(_, cause)| StepEnd::Stopped(cause.clone()));
        let mut step = self.step;
        step.end = stopped.unwrap_or(step.end);
        step.waited = self.waited.into_iter().collect();
        step
    }
}

/// Pods with a budget that run on one of several nodes, by their shapes and budgets.
#[derive(Default)]
pub(super) struct LoosePods(pub(super) BTreeMap<LooseKey, OneShape>);

/// Pods with the same shape and the same budget are alike.
pub(super) type LooseKey = (u32, u32);

#[derive(Default)]
pub(super) struct OneShape {
    pub(super) pods: BTreeSet<u32>,
    /// Where any of them may be.
    pub(super) nodes: NodeSet,
}
