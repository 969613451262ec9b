//! Budgets as the disruption controller counts them (`pkg/controller/disruption`), and what the eviction API answers
//! (`pkg/registry/core/pod/storage/eviction.go`).

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::selector::{LabelIndex, index, number};
use crate::workload::{DisruptionBudget, Health, OwnerReference, Phase, Pod, PodController, Workload};

/// Kinds of Kubernetes without `/scale` that own pods: group, kind, resource.
const WITHOUT_SCALE: &[(&str, &str, &str)] =
    &[("batch", "Job", "jobs.batch"), ("apps", "DaemonSet", "daemonsets.apps"), ("", "Node", "nodes")];

/// What counts of a pod's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodState {
    Ready,
    Unready,
    Pending,
    Finished,
    Terminating,
    Absent,
}

impl PodState {
    pub fn of(pod: &Pod) -> Self {
        match (pod.deleted, pod.phase, pod.health) {
            (true, ..) => Self::Terminating,
            (_, Phase::Succeeded | Phase::Failed, _) => Self::Finished,
            (_, Phase::Pending, _) => Self::Pending,
            (.., Health::Ready) => Self::Ready,
            (.., Health::Unready | Health::Failing) => Self::Unready,
        }
    }
}

/// Why the eviction API refuses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Refusal {
    /// 500: more than one budget selects the pod.
    ManyBudgets(Vec<String>),
    /// 429: the disruption controller cannot count, because this controller has no `/scale`.
    SyncFailed { budget: String, controller: String },
    /// 429: the disruption controller has not seen the last change of the budget.
    NotObserved { budget: String },
    /// Nobody read how many replicas this controller has.
    UnknownScale { budget: String, controller: String },
    /// 429: the budget allows none.
    NoneAllowed { budget: String, expected: u32, desired: u32, healthy: u32 },
}

/// The budgets of a cluster, with their counts.
pub struct Budgets<'a> {
    tallies: Vec<Tally<'a>>,
    /// The budgets of each pod.
    of_pods: Vec<Vec<u32>>,
}

struct Tally<'a> {
    budget: &'a DisruptionBudget,
    scale: Scale,
    matched: u32,
    healthy: u32,
}

enum Scale {
    /// `minAvailable` as a number expects the pods that match.
    Matched {
        desired: u32,
    },
    Controllers {
        expected: u32,
        desired: u32,
    },
    Failed {
        controller: String,
    },
    Unknown {
        controller: String,
    },
}

impl Tally<'_> {
    fn expected_and_desired(&self) -> Option<(u32, u32)> {
        match self.scale {
            Scale::Matched { desired } => Some((self.matched, desired)),
            Scale::Controllers { expected, desired } => Some((expected, desired)),
            Scale::Failed { .. } | Scale::Unknown { .. } => None,
        }
    }

    fn answer(&self, is_ready: bool, is_optimistic: bool) -> Result<(), Refusal> {
        let budget = || self.budget.name.clone();
        if !is_ready && self.budget.always_allow_unhealthy {
            return Ok(());
        }
        let Some((expected, desired)) = self.expected_and_desired() else {
            return match &self.scale {
                Scale::Failed { controller } => {
                    Err(Refusal::SyncFailed { budget: budget(), controller: controller.clone() })
                }
                Scale::Unknown { controller } if !is_optimistic => {
                    Err(Refusal::UnknownScale { budget: budget(), controller: controller.clone() })
                }
                _ => Ok(()),
            };
        };
        if !is_ready && self.healthy >= desired && desired > 0 {
            return Ok(());
        }
        if !is_optimistic && self.budget.status.observed_generation < self.budget.generation {
            return Err(Refusal::NotObserved { budget: budget() });
        }
        if expected > 0 && self.healthy > desired {
            return Ok(());
        }
        Err(Refusal::NoneAllowed { budget: budget(), expected, desired, healthy: self.healthy })
    }
}

/// A controller's group, kind and name.
type ControllerKey<'a> = (&'a str, &'a str, &'a str);

/// Controllers by namespace.
struct Controllers<'a>(BTreeMap<(&'a str, ControllerKey<'a>), &'a PodController>);

fn key(reference: &OwnerReference) -> ControllerKey<'_> {
    (reference.group(), &reference.kind, &reference.name)
}

impl<'a> Controllers<'a> {
    /// The controller whose replicas count for a pod of that owner, and how many they are.
    fn scale(
        &self,
        namespace: &'a str,
        owner: &'a OwnerReference,
    ) -> Result<(ControllerKey<'a>, u32), Scale> {
        let find = |reference: &'a OwnerReference| self.0.get(&(namespace, key(reference))).copied();
        let own = find(owner);
        let deployment = own.and_then(|own| find(own.controller.as_ref()?));
        let Some(found) = deployment.or(own) else {
            let known =
                WITHOUT_SCALE.iter().find(|(group, kind, _)| (*group, *kind) == (owner.group(), &owner.kind));
            return Err(match known {
                Some((.., resource)) => Scale::Failed { controller: (*resource).to_owned() },
                None => Scale::Unknown { controller: format!("{} {}", owner.kind, owner.name) },
            });
        };
        let reference = &found.reference;
        let failed = || Scale::Failed { controller: format!("{} {}", reference.kind, reference.name) };
        Ok((key(reference), found.replicas.ok_or_else(failed)?))
    }

    /// The sum of the replicas of all controllers of these pods. Pods without a controller count 0.
    fn expected(&self, pods: impl Iterator<Item = &'a Pod>) -> Result<u32, Scale> {
        let mut sums = BTreeMap::new();
        let mut asked = BTreeSet::new();
        for pod in pods {
            let Some(owner) = &pod.owner else { continue };
            if asked.insert(key(owner)) {
                let (controller, replicas) = self.scale(&pod.namespace, owner)?;
                sums.insert(controller, replicas);
            }
        }
        Ok(sums.values().fold(0, |sum: u32, replicas| sum.saturating_add(*replicas)))
    }
}

fn scale(budget: &DisruptionBudget, expected: impl FnOnce() -> Result<u32, Scale>) -> Scale {
    let (amount, is_most) = match (budget.max_unavailable, budget.min_available) {
        (Some(most), _) => (most, true),
        (None, Some(crate::workload::Amount::Number(desired))) => return Scale::Matched { desired },
        (None, Some(least)) => (least, false),
        (None, None) => return Scale::Controllers { expected: 0, desired: 0 },
    };
    match expected() {
        Ok(expected) => {
            let share = amount.of(expected);
            let desired = if is_most { expected.saturating_sub(share) } else { share };
            Scale::Controllers { expected, desired }
        }
        Err(Scale::Unknown { controller }) => {
            let status = &budget.status;
            if status.sync_failed {
                Scale::Failed { controller }
            } else if status.observed_generation > 0 && status.observed_generation >= budget.generation {
                Scale::Controllers { expected: status.expected_pods, desired: status.desired_healthy }
            } else {
                Scale::Unknown { controller }
            }
        }
        Err(other) => other,
    }
}

impl<'a> Budgets<'a> {
    pub fn new(workload: &'a Workload, labels: &LabelIndex<'a>) -> Self {
        let controllers =
            workload.controllers.iter().map(|one| ((one.namespace.as_str(), key(&one.reference)), one));
        let controllers = Controllers(controllers.collect());
        let mut of_pods = vec![Vec::new(); workload.pods.len()];
        let mut tallies = Vec::new();
        for (at, budget) in workload.budgets.iter().enumerate() {
            let selected =
                budget.selector.as_ref().map(|selector| labels.select(&budget.namespace, selector));
            let selected = selected.unwrap_or_default();
            let pods = || selected.iter().filter_map(|pod| workload.pods.get(index(*pod)));
            let scale = scale(budget, || controllers.expected(pods()));
            let healthy = pods().filter(|pod| PodState::of(pod) == PodState::Ready).count();
            let (matched, healthy) = (number(selected.len()), number(healthy));
            tallies.push(Tally { budget, scale, matched, healthy });
            for pod in &selected {
                of_pods[index(*pod)].push(number(at));
            }
        }
        Self { tallies, of_pods }
    }

    /// What the eviction API answers. Optimistically, a budget that is not observed yet is observed soon, and replicas
    /// that are not known suffice.
    pub fn ask(&self, pod: u32, state: PodState, is_optimistic: bool) -> Result<(), Refusal> {
        if !matches!(state, PodState::Ready | PodState::Unready) {
            return Ok(());
        }
        match self.of(pod) {
            [] => Ok(()),
            [one] => self.tallies[index(*one)].answer(state == PodState::Ready, is_optimistic),
            many => {
                let names = many.iter().map(|one| self.tallies[index(*one)].budget.name.clone());
                Err(Refusal::ManyBudgets(names.collect()))
            }
        }
    }

    /// Whether the only budget of a pod lets it go while it is not ready.
    pub fn always_allows(&self, pod: u32) -> bool {
        matches!(self.of(pod), [one] if self.tallies[index(*one)].budget.always_allow_unhealthy)
    }

    /// Counts a pod whose state changes.
    pub fn change(&mut self, pod: u32, from: PodState, to: PodState) {
        let Some(budgets) = self.of_pods.get(index(pod)) else { return };
        let step = |count: &mut u32, was: bool, is: bool| {
            *count = (*count + u32::from(is)).saturating_sub(u32::from(was));
        };
        for budget in budgets {
            let tally = &mut self.tallies[index(*budget)];
            step(&mut tally.matched, from != PodState::Absent, to != PodState::Absent);
            step(&mut tally.healthy, from == PodState::Ready, to == PodState::Ready);
        }
    }

    /// The budgets of a pod.
    pub fn of(&self, pod: u32) -> &[u32] {
        self.of_pods.get(index(pod)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Expected, desired, healthy and allowed pods of a budget, as its status has them. `None` if they cannot be counted.
    pub fn status(&self, budget: usize) -> Option<[u32; 4]> {
        let tally = self.tallies.get(budget)?;
        let (expected, desired) = tally.expected_and_desired()?;
        let allowed = if expected == 0 { 0 } else { tally.healthy.saturating_sub(desired) };
        Some([expected, desired, tally.healthy, allowed])
    }
}
