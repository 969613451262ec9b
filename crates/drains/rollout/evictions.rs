//! The drain of one machine: hooks, cordon, evictions, volumes.

use std::collections::BTreeSet;

use super::SimulatedRollout;
use super::progress::Drain;
use crate::budgets::{PodState, Refusal};
use crate::plan::{LeavingMachine, MachineDrainRule};
use crate::selector::{index, number};
use crate::treatment::{Filters, PodTreatment};
use crate::verdict::{DrainStep, StopCause};
use crate::workload::{Health, Phase};

const EXCLUDE_DRAIN: &str = "machine.cluster.x-k8s.io/exclude-node-draining";
const PRE_DRAIN: &str = "pre-drain.delete.hook.machine.cluster.x-k8s.io";
const PRE_TERMINATE: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io";
/// Control planes set these hooks on their own machines, and remove them.
const OWN_HOOKS: &[&str] = &["kcp-cleanup", "rke2-cleanup"];
/// Controllers that keep their pods running.
const RUN_FOR_EVER: &[&str] = &["DaemonSet", "ReplicaSet", "ReplicationController", "StatefulSet"];

impl<'a> SimulatedRollout<'a> {
    /// A machine begins to leave: its node is cordoned, its pods are sorted.
    pub(super) fn begin(
        &mut self,
        group: usize,
        machine: &'a LeavingMachine,
        daemon_sets: &BTreeSet<(&'a str, &'a str)>,
    ) {
        let nodes = &self.workload.nodes;
        let node = machine.node.as_ref().and_then(|name| nodes.iter().position(|node| node.name == *name));
        let mut drain = Drain {
            machine,
            group,
            node: node.map(number),
            remaining: Vec::new(),
            terminating: Vec::new(),
            lasting: None,
            refused: None,
            waited: BTreeSet::new(),
            has_counted_loose: false,
            claims: BTreeSet::new(),
            is_gone: false,
            step: DrainStep { machine: machine.name.clone(), ..DrainStep::default() },
        };
        if let Some(node) = node {
            drain.lasting = self.hook(machine).filter(|_| !self.is_best()).map(StopCause::Hook);
            self.places.cordon(number(node));
            for pod in self.on_nodes[node].iter().map(|pod| self.pod(*pod)) {
                drain.claims.extend(pod.claims.iter().map(|claim| format!("{}/{claim}", pod.namespace)));
            }
            self.leaving.insert(number(node));
            if !machine.annotations.contains(EXCLUDE_DRAIN) {
                let filters = Filters::new(self.plan, machine, self.workload, daemon_sets);
                self.sort_pods(&mut drain, node, &filters);
            }
        }
        self.drains.push(drain);
    }

    fn sort_pods(&mut self, drain: &mut Drain<'a>, node: usize, filters: &Filters<'_>) {
        let unreachable = self.workload.nodes[node].unreachable;
        let mut pods: Vec<(String, u32)> =
            self.on_nodes[node].iter().map(|pod| (self.pod(*pod).full_name(), *pod)).collect();
        pods.sort_unstable();
        self.work += u64::from(number(pods.len()));
        let invalid = self.plan.rules.iter().find(|rule| !MachineDrainRule::is_valid(rule));
        if let Some(rule) = invalid.filter(|_| !pods.is_empty()) {
            drain.lasting = drain.lasting.take().or(Some(StopCause::InvalidRule(rule.name.clone())));
        }
        for (name, pod) in pods {
            match filters.treat(self.pod(pod), unreachable) {
                Some(PodTreatment::Skip(reason)) => drain.step.skipped.push((name, reason)),
                Some(treatment) => drain.remaining.push((pod, treatment)),
                None => {
                    let namespace = self.pod(pod).namespace.clone();
                    if !self.is_best() && drain.lasting.is_none() {
                        drain.lasting = Some(StopCause::UnknownNamespace(namespace));
                    }
                    drain.remaining.push((pod, PodTreatment::Evict { order: 0 }));
                }
            }
        }
    }

    /// A hook that the owner of its annotation has to remove.
    fn hook(&self, machine: &LeavingMachine) -> Option<String> {
        let is_foreign = |key: &&String| {
            key.split_once('/').is_some_and(|(prefix, name)| {
                prefix == PRE_DRAIN || (prefix == PRE_TERMINATE && !OWN_HOOKS.contains(&name))
            })
        };
        machine.annotations.iter().find(is_foreign).cloned()
    }

    /// Each machine tries to evict its pods of the lowest order. Whether any pod goes.
    pub(super) fn evict_round(&mut self) -> bool {
        let mut drains = std::mem::take(&mut self.drains);
        let mut moved = false;
        for drain in drains.iter_mut().filter(|drain| !drain.is_gone && drain.lasting.is_none()) {
            self.evict_lowest(drain);
            moved |= !drain.terminating.is_empty();
        }
        self.drains = drains;
        moved
    }

    fn evict_lowest(&mut self, drain: &mut Drain<'a>) {
        drain.refused = None;
        let lowest = drain.remaining.iter().filter_map(|(_, treatment)| treatment.order()).min();
        let (now, later) = std::mem::take(&mut drain.remaining)
            .into_iter()
            .partition::<Vec<_>, _>(|(_, treatment)| treatment.order() == lowest);
        drain.remaining = later;
        self.work += u64::from(number(now.len()));
        for (pod, treatment) in now {
            let refused = match treatment {
                _ if self.states[index(pod)] == PodState::Terminating => None,
                PodTreatment::WaitCompleted => self.wait_completed(pod),
                _ => self.evict(drain, pod),
            };
            let Some(cause) = refused else {
                drain.terminating.push(pod);
                continue;
            };
            drain.waited.insert(self.pod(pod).full_name());
            drain.refused.get_or_insert((Some(pod), cause));
            drain.remaining.push((pod, treatment));
        }
        drain.remaining.sort_by_cached_key(|(pod, _)| self.pod(*pod).full_name());
    }

    /// Why the node still waits for a pod that has to end. Cluster API waits until the pod is deleted, ended or not.
    fn wait_completed(&self, pod: u32) -> Option<StopCause> {
        let owner = self.pod(pod).owner.as_ref();
        if owner.is_some_and(|owner| RUN_FOR_EVER.contains(&owner.kind.as_str())) {
            return Some(StopCause::NeverCompletes);
        }
        (!self.is_best()).then_some(StopCause::MayNotComplete)
    }

    fn evict(&mut self, drain: &mut Drain<'a>, pod: u32) -> Option<StopCause> {
        if let Err(refusal) = self.ask(pod) {
            return Some(StopCause::Eviction { refusal, pending: Vec::new() });
        }
        let comes_back = self.comes_back(pod);
        if comes_back {
            return Some(StopCause::ComesBack);
        }
        self.set(pod, PodState::Terminating);
        let (name, grace) = (self.pod(pod).full_name(), self.pod(pod).grace_seconds);
        let timeout = drain.machine.drain_timeout_seconds;
        if timeout > 0 && grace > timeout {
            drain.step.cut_short.push(name.clone());
        }
        drain.step.evicted.push(name);
        None
    }

    /// In the best case a pod that is not ready now is counted as ready, but evicted as what it is.
    fn ask(&self, pod: u32) -> Result<(), Refusal> {
        let (state, is_best) = (self.states[index(pod)], self.is_best());
        let known = self.pod(pod);
        let is_starting = known.phase == Phase::Pending && state == PodState::Ready;
        let is_unready = known.health == Health::Unready && state == PodState::Ready;
        if is_best && (is_starting || (is_unready && self.budgets.always_allows(pod))) {
            return Ok(());
        }
        self.budgets.ask(pod, state, is_best)
    }
}
