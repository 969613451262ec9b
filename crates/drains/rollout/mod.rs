//! One simulated rollout, in rounds. In a round each machine that leaves tries to evict its pods of the lowest order.
//! Between two rounds evicted pods are gone, others take their places, and machines leave and come.

mod evictions;
mod groups;
mod moves;
mod progress;

use std::collections::BTreeSet;

use self::progress::{Drain, GroupProgress, LoosePods};
use crate::budgets::{Budgets, PodState};
use crate::placing::{Obstacle, Places, PodPlace};
use crate::plan::{MachineGroup, Plan};
use crate::selector::{LabelIndex, index};
use crate::treatment::daemon_sets;
use crate::verdict::{DrainStep, MissingFact, PendingPod, Stop, StopCause};
use crate::workload::{Health, Pod, Workload, WorkloadNode};

/// What is assumed where something is not certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    /// Everything possible.
    Best,
    /// Only what is certain.
    Worst,
}

/// How a simulated rollout ends.
pub(crate) struct RolloutCourse {
    pub(crate) end: RolloutEnd,
    pub(crate) steps: Vec<DrainStep>,
}

pub(crate) enum RolloutEnd {
    Through,
    TimesOut { stop: Stop, after_seconds: u64, killed: Vec<String> },
    Stops(Stop),
    Unknown(MissingFact),
}

/// How many machines may come: twice as many as a cluster may have for which Kubernetes is made.
const MOST_COMING: usize = 10_000;

/// The nodes of a workload, and those that come: `node-1` to `node-n` for each group; `None` where too many come.
pub(crate) fn all_nodes(workload: &Workload, plan: &Plan) -> Option<Vec<WorkloadNode>> {
    let come = plan.groups.iter().fold(0, |sum: usize, group| sum.saturating_add(group.come));
    if come > MOST_COMING {
        return None;
    }
    let new = plan.groups.iter().flat_map(|group| (1..=group.come).map(|at| new_node(group, at)));
    Some(workload.nodes.iter().cloned().chain(new).collect())
}

fn new_node(group: &MachineGroup, at: usize) -> WorkloadNode {
    let mut node = group.new_node.clone();
    node.name = format!("{}-{at}", node.name);
    node.labels.insert("kubernetes.io/hostname".to_owned(), node.name.clone());
    node
}

/// What has moved so far, and what has not.
struct SimulatedRollout<'a> {
    workload: &'a Workload,
    plan: &'a Plan,
    case: Case,
    places: Places<'a>,
    budgets: Budgets<'a>,
    states: Vec<PodState>,
    /// Pods on each node, those that may be loose on it aside.
    on_nodes: Vec<BTreeSet<u32>>,
    /// Pods without a node, or in the worst case perhaps without one.
    pending: BTreeSet<u32>,
    /// Nodes of machines that leave.
    leaving: BTreeSet<u32>,
    loose: LoosePods,
    /// One pod of each DaemonSet.
    daemons: Vec<u32>,
    groups: Vec<GroupProgress>,
    drains: Vec<Drain<'a>>,
    work: u64,
}

/// Simulates a rollout. `nodes` are [`all_nodes`].
pub(crate) fn simulate(
    workload: &Workload,
    plan: &Plan,
    nodes: &[WorkloadNode],
    case: Case,
) -> RolloutCourse {
    let labels = LabelIndex::new(workload.pods.iter().map(|pod| (pod.namespace.as_str(), &pod.labels)));
    let daemon_sets = daemon_sets(workload);
    let mut rollout = SimulatedRollout::new(workload, plan, (nodes, &labels), case);
    let mut times_out = None;
    // Each round moves a pod or a machine; a pod moves once with each machine at most.
    let most_rounds = (workload.pods.len() + 4) * (nodes.len() + 4);
    let mut rounds = 0;
    let end = loop {
        rounds += 1;
        let moved = rollout.advance_groups(&daemon_sets);
        let evicted = rollout.evict_round();
        let settled = rollout.settle_round();
        let work = rollout.work + rollout.places.work();
        if rounds > most_rounds || plan.most_work.is_some_and(|most| work > most) {
            break RolloutEnd::Unknown(MissingFact::MoreWork);
        }
        if moved || evicted || settled {
            continue;
        }
        if rollout.is_over() {
            break times_out.unwrap_or(RolloutEnd::Through);
        }
        let Some(timeout) = rollout.time_out() else {
            break rollout.stop().map_or(RolloutEnd::Through, RolloutEnd::Stops);
        };
        times_out.get_or_insert(timeout);
    };
    RolloutCourse { end, steps: rollout.drains.into_iter().map(Drain::into_step).collect() }
}

impl<'a> SimulatedRollout<'a> {
    fn new(
        workload: &'a Workload,
        plan: &'a Plan,
        (nodes, labels): (&'a [WorkloadNode], &LabelIndex<'a>),
        case: Case,
    ) -> Self {
        let places = Places::new(workload, nodes, labels);
        let mut on_nodes = vec![BTreeSet::new(); nodes.len()];
        let mut daemons = Vec::new();
        let mut known = BTreeSet::new();
        let mut pending = BTreeSet::new();
        for (at, pod) in (0..).zip(&workload.pods) {
            match (places.place(at), &pod.node) {
                (PodPlace::Node(node), _) => {
                    on_nodes[index(*node)].insert(at);
                }
                (_, None) if !pod.deleted && !pod.has_finished() => {
                    pending.insert(at);
                }
                _ => {}
            }
            if let Some(owner) = pod.owner.as_ref().filter(|owner| owner.kind == "DaemonSet")
                && known.insert((&pod.namespace, &owner.name))
            {
                daemons.push(at);
            }
        }
        let finished = (0..).zip(&workload.pods).filter(|(_, pod)| pod.has_finished());
        let by_name: std::collections::BTreeMap<&str, usize> =
            workload.nodes.iter().enumerate().map(|(at, node)| (node.name.as_str(), at)).collect();
        for (at, pod) in finished {
            if let Some(node) = pod.node.as_ref().and_then(|node| by_name.get(node.as_str())) {
                on_nodes[*node].insert(at);
            }
        }
        let mut rollout = Self {
            workload,
            plan,
            case,
            budgets: Budgets::new(workload, labels),
            states: workload.pods.iter().map(PodState::of).collect(),
            places,
            on_nodes,
            pending,
            leaving: BTreeSet::new(),
            loose: LoosePods::default(),
            daemons,
            groups: vec![GroupProgress::default(); plan.groups.len()],
            drains: Vec::new(),
            work: 0,
        };
        if case == Case::Best {
            rollout.make_ready();
        }
        rollout
    }

    /// Pods that have a node and may become ready do.
    fn make_ready(&mut self) {
        for (at, pod) in (0..).zip(&self.workload.pods) {
            let starts = pod.node.is_some() && self.states[index(at)] == PodState::Pending;
            let recovers = self.states[index(at)] == PodState::Unready;
            if pod.health != Health::Failing && (starts || recovers) {
                self.set(at, PodState::Ready);
            }
        }
    }

    fn pod(&self, pod: u32) -> &'a Pod {
        &self.workload.pods[index(pod)]
    }

    fn set(&mut self, pod: u32, state: PodState) {
        let old = std::mem::replace(&mut self.states[index(pod)], state);
        self.budgets.change(pod, old, state);
    }

    fn is_best(&self) -> bool {
        self.case == Case::Best
    }

    /// The pods without a node of the budgets that select this one.
    fn pending_with(&self, pod: u32) -> Vec<PendingPod> {
        let budgets = self.budgets.of(pod);
        let shares = |other: &&u32| self.budgets.of(**other).iter().any(|budget| budgets.contains(budget));
        let pending = self.pending.iter().filter(shares).map(|other| {
            let mut obstacles = self.places.obstacles(*other);
            obstacles.retain(|obstacle, _| *obstacle != Obstacle::Unschedulable);
            PendingPod { pod: self.pod(*other).full_name(), obstacles }
        });
        pending.collect()
    }

    /// The first machine that does not move, in the order of the rollout.
    fn stop(&self) -> Option<Stop> {
        let stopped = self.drains.iter().find_map(|drain| Some((drain, drain.cause()?)));
        stopped.map(|(drain, (pod, because))| self.stop_of(drain, pod, because))
    }

    fn stop_of(&self, drain: &Drain<'_>, pod: Option<u32>, because: &StopCause) -> Stop {
        let mut because = because.clone();
        if let (StopCause::Eviction { pending, .. }, Some(pod)) = (&mut because, pod) {
            *pending = self.pending_with(pod);
        }
        Stop { machine: drain.machine.name.clone(), pod: pod.map(|pod| self.pod(pod).full_name()), because }
    }
}
