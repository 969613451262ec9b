//! What the oracle says: a step a machine, and a verdict.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::budgets::Refusal;
use crate::placing::Obstacle;
use crate::treatment::SkipReason;

/// What happens to the machines of a rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Drains {
    pub verdict: Verdict,
    /// In the order in which the machines begin to leave.
    pub steps: Vec<DrainStep>,
}

/// Whether a rollout ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// For certain. `waits_at_most` is the most pods of one machine that an eviction was refused for at first, or that
    /// had to end. It holds if evicted pods become ready before the next attempt, which follows after 20 s.
    GoesThrough {
        waits_at_most: usize,
    },
    /// For certain, and for ever.
    Stops(Stop),
    /// It depends on something that is not certain, as the cause says.
    MayStop(Stop),
    /// It stops until a timeout of the machine is over. If not `surely`, it may go through without.
    TimesOut {
        stop: Stop,
        after_seconds: u64,
        killed: Vec<String>,
        surely: bool,
    },
    CannotBeTold {
        missing: MissingFact,
    },
}

/// Where a rollout stops, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stop {
    pub machine: String,
    /// `namespace/name`. Absent if no single pod is the cause.
    pub pod: Option<String>,
    pub because: StopCause,
}

/// Why a machine stops.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum StopCause {
    /// The eviction API refuses. `pending` are pods of the same budget that have no node.
    Eviction { refusal: Refusal, pending: Vec<PendingPod> },
    /// The pod has to end by itself, and its controller keeps it running.
    NeverCompletes,
    /// The pod has to end by itself, and be deleted.
    MayNotComplete,
    /// The pod tolerates the cordon and comes back to the node.
    ComesBack,
    /// No pod of the drain uses this attached volume.
    VolumeAttached(String),
    /// Somebody has to remove this annotation.
    Hook(String),
    /// This MachineDrainRule has an invalid selector: no machine of its namespace is drained.
    InvalidRule(String),
    /// The labels of the pod's namespace are not known.
    UnknownNamespace(String),
}

/// A pod without a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PendingPod {
    pub pod: String,
    /// How many nodes each obstacle rules out. The others may be taken by pods that moved.
    pub obstacles: BTreeMap<Obstacle, usize>,
}

/// What somebody has to read before there is an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum MissingFact {
    /// The work that the plan allows is used up.
    MoreWork,
    /// The replicas of a controller.
    Replicas {
        budget: String,
        controller: String,
    },
    NamespaceLabels(String),
}

/// What happens to one machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DrainStep {
    pub machine: String,
    pub skipped: Vec<(String, SkipReason)>,
    /// In order.
    pub evicted: Vec<String>,
    /// Pods that wait at first: for a budget, or for their own end.
    pub waited: Vec<String>,
    /// Pods that the machine takes with it without an eviction.
    pub killed: Vec<String>,
    /// Evicted pods with a grace period beyond the machine's drain timeout.
    pub cut_short: Vec<String>,
    pub end: StepEnd,
}

/// How a step ends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub enum StepEnd {
    /// The rollout stops before.
    #[default]
    NotReached,
    Gone,
    Stopped(StopCause),
    TimedOut {
        after_seconds: u64,
        because: StopCause,
    },
}
