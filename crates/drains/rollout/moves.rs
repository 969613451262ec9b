//! Where pods go: those that were evicted, those that died with their node, those without a node.

use std::collections::BTreeSet;

use super::progress::{Drain, LooseKey};
use super::{Case, RolloutEnd, SimulatedRollout};
use crate::budgets::PodState;
use crate::placing::PodPlace;
use crate::selector::index;
use crate::verdict::{StepEnd, StopCause};
use crate::workload::{Health, Phase};

/// Controllers of Kubernetes that replace a pod.
const REPLACING: &[&str] = &["Job", "ReplicaSet", "ReplicationController", "StatefulSet"];

/// A machine with this annotation leaves with its volumes attached.
const EXCLUDE_DETACH: &str = "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach";

impl<'a> SimulatedRollout<'a> {
    /// What happens between two rounds. Whether anything did.
    pub(super) fn settle_round(&mut self) -> bool {
        let mut drains = std::mem::take(&mut self.drains);
        let mut to_place = Vec::new();
        for drain in drains.iter_mut().filter(|drain| !drain.is_gone) {
            for pod in std::mem::take(&mut drain.terminating) {
                to_place.extend(self.take_away(pod));
            }
        }
        let mut moved = false;
        for drain in drains.iter_mut().filter(|drain| !drain.is_gone) {
            self.check_loose(drain);
            if drain.remaining.is_empty() && drain.lasting.is_none() && drain.refused.is_none() {
                drain.lasting = self.volume(drain).map(StopCause::VolumeAttached);
                if drain.lasting.is_none() {
                    to_place.extend(self.leave(drain));
                    drain.step.end = StepEnd::Gone;
                    moved = true;
                }
            }
        }
        self.drains = drains;
        moved | self.place_all(to_place)
    }

    /// A pod is gone from its node. Returned if a new one takes its place.
    fn take_away(&mut self, pod: u32) -> Option<u32> {
        if let PodPlace::Node(node) = *self.places.place(pod) {
            self.on_nodes[index(node)].remove(&pod);
        }
        self.places.put(pod, PodPlace::Nowhere);
        let is_replaced = self.is_replaced(pod);
        self.set(pod, if is_replaced { PodState::Pending } else { PodState::Absent });
        is_replaced.then_some(pod)
    }

    /// Whether the controller of a pod creates another one.
    fn is_replaced(&self, pod: u32) -> bool {
        let pod = self.pod(pod);
        let Some(owner) = pod.owner.as_ref().filter(|_| !pod.has_finished()) else { return false };
        // A controller has replaced a pod that was deleted before, but for a StatefulSet.
        let replaces =
            REPLACING.contains(&owner.kind.as_str()) && (!pod.deleted || owner.kind == "StatefulSet");
        let is_known = || {
            let mut known = self.workload.controllers.iter();
            known.any(|one| {
                one.namespace == pod.namespace && one.reference == *owner && one.replicas.is_some()
            })
        };
        let may_replace = self.is_best() && !["DaemonSet", "Node"].contains(&owner.kind.as_str());
        replaces || (!pod.deleted && (may_replace || is_known()))
    }

    /// Whether an evicted pod returns to a node that is drained, for ever.
    pub(super) fn comes_back(&mut self, pod: u32) -> bool {
        let Some(owner) = self.pod(pod).owner.as_ref() else { return false };
        // The pods of foreign DaemonSets tolerate the cordon. That this is so for each is not certain.
        if owner.kind == "DaemonSet" {
            return owner.group() != "apps" && !self.is_best();
        }
        if !self.places.tolerates_cordon(pod) || !self.is_replaced(pod) {
            return false;
        }
        let old = self.places.place(pod).clone();
        self.places.put(pod, PodPlace::Nowhere);
        let nodes = self.places.candidates(pod);
        self.places.put(pod, old);
        let is_drained = |node: &u32| self.leaving.contains(node);
        if self.is_best() {
            !nodes.is_empty() && nodes.iter().all(is_drained)
        } else {
            nodes.iter().any(is_drained)
        }
    }

    /// A volume that keeps a drained machine.
    fn volume(&self, drain: &Drain<'_>) -> Option<String> {
        let node = &self.workload.nodes[index(drain.node?)];
        let machine = drain.machine;
        let is_waited_for = !node.unreachable
            && !machine.annotations.contains(EXCLUDE_DETACH)
            && machine.detach_timeout_seconds == 0;
        if !is_waited_for || self.is_best() {
            return None;
        }
        node.attached.iter().find(|volume| !drain.claims.contains(*volume)).cloned()
    }

    /// A machine is gone, with the pods that are still on its node. Those that get a new place are returned.
    fn leave(&mut self, drain: &mut Drain<'a>) -> Vec<u32> {
        drain.is_gone = true;
        self.groups[drain.group].left += 1;
        let Some(node) = drain.node else { return Vec::new() };
        let mut replaced = Vec::new();
        for pod in self.on_nodes[index(node)].clone() {
            let owner = self.pod(pod).owner.as_ref();
            // They belong to the node: the budgets of a DaemonSet see the pod of the next node instead.
            if self.pod(pod).mirror || owner.is_some_and(|owner| owner.kind == "DaemonSet") {
                self.places.put(pod, PodPlace::Nowhere);
                continue;
            }
            drain.step.killed.push(self.pod(pod).full_name());
            replaced.extend(self.take_away(pod));
        }
        self.on_nodes[index(node)].clear();
        self.places.leave(node);
        replaced
    }

    /// Pods get nodes where they can. Whether any did.
    pub(super) fn place_all(&mut self, new: Vec<u32>) -> bool {
        let mut moved = false;
        let is_new: BTreeSet<u32> = new.iter().copied().collect();
        let waiting: Vec<u32> = self.pending.iter().copied().filter(|pod| !is_new.contains(pod)).collect();
        let mut failed = BTreeSet::new();
        let together: Vec<u32> = new.iter().chain(&waiting).copied().collect();
        let requests = self.places.requests(&together);
        for pod in together {
            let shape = self.places.shape_number(pod);
            if failed.contains(&shape) {
                self.pending.insert(pod);
                continue;
            }
            if self.place(pod, &requests) {
                self.pending.remove(&pod);
                moved = true;
            } else {
                self.pending.insert(pod);
                failed.insert(shape);
            }
        }
        moved
    }

    /// Places one pod. Whether it runs for certain, or in the best case possibly.
    fn place(&mut self, pod: u32, together: &[i64]) -> bool {
        self.forget_loose(pod);
        self.places.put(pod, PodPlace::Nowhere);
        let mut nodes = self.places.candidates(pod);
        nodes.retain(|node| !self.leaving.contains(node));
        let runs = match (nodes.as_slice(), self.case) {
            ([], _) => return false,
            ([only], Case::Best) => {
                let node = *only;
                // Whether another pod takes the node is open, unless it has room for all.
                if self.places.has_room(node, together) {
                    self.run_on(pod, node);
                } else {
                    let place = self.places.loose_on(&nodes);
                    self.places.put(pod, place);
                }
                true
            }
            (_, Case::Best) => {
                let place = self.places.loose_on(&nodes);
                self.places.put(pod, place);
                true
            }
            (all, Case::Worst) => {
                let is_certain = self.places.is_certain(pod);
                match all {
                    [only] if is_certain => self.run_on(pod, *only),
                    _ => {
                        let place = self.places.loose_on(&nodes);
                        self.places.put(pod, place);
                        self.remember_loose(pod, &nodes);
                    }
                }
                is_certain
            }
        };
        if runs {
            let becomes_ready = match self.pod(pod).health {
                Health::Ready => true,
                Health::Unready => self.is_best() || self.pod(pod).phase == Phase::Pending,
                Health::Failing => false,
            };
            self.set(pod, if becomes_ready { PodState::Ready } else { PodState::Unready });
        }
        runs
    }

    fn run_on(&mut self, pod: u32, node: u32) {
        self.places.put(pod, PodPlace::Node(node));
        self.on_nodes[index(node)].insert(pod);
    }

    /// Only pods with a budget can stop another machine.
    fn remember_loose(&mut self, pod: u32, nodes: &[u32]) {
        if let Some(key) = self.loose_key(pod) {
            let shape = self.loose.0.entry(key).or_default();
            shape.pods.insert(pod);
            nodes.iter().for_each(|node| shape.nodes.insert(*node));
        }
    }

    fn loose_key(&self, pod: u32) -> Option<LooseKey> {
        Some((self.places.shape_number(pod), *self.budgets.of(pod).first()?))
    }

    fn forget_loose(&mut self, pod: u32) {
        let Some(key) = self.loose_key(pod) else { return };
        if let Some(shape) = self.loose.0.get_mut(&key)
            && shape.pods.remove(&pod)
            && shape.pods.is_empty()
        {
            self.loose.0.remove(&key);
        }
    }

    /// In the worst case loose pods are on the node that is drained: they have to be evicted as well.
    fn check_loose(&mut self, drain: &mut Drain<'a>) {
        let Some(node) = drain.node.filter(|_| drain.lasting.is_none()) else { return };
        let here = self.loose.0.iter().filter(|(_, shape)| shape.nodes.has(node));
        let here: Vec<LooseKey> = here.map(|(key, _)| *key).collect();
        let is_first = !std::mem::replace(&mut drain.has_counted_loose, true);
        for shape in here {
            if is_first {
                self.count_waits(drain, shape);
            }
            let is_evicted = self.evict_loose(drain, shape);
            if let Some(one) = self.loose.0.get_mut(&shape).filter(|_| is_evicted) {
                // An evicted pod may be on any other node now.
                one.nodes = self.places.every_node();
                one.nodes.remove(node);
            }
        }
    }

    /// If all loose pods of a shape are here, those beyond what the budget allows wait.
    fn count_waits(&self, drain: &mut Drain<'a>, key: LooseKey) {
        let pods = self.loose.0.get(&key).into_iter().flat_map(|one| &one.pods);
        let ready: Vec<u32> =
            pods.copied().filter(|pod| self.states[index(*pod)] == PodState::Ready).collect();
        let allowed = self.budgets.status(index(key.1));
        let allowed = allowed.map_or(0, |[.., allowed]| index(allowed));
        drain.waited.extend(ready.into_iter().skip(allowed).map(|pod| self.pod(pod).full_name()));
    }

    /// Evicts the loose pods of a shape, one after the other. Whether the budget allows that.
    fn evict_loose(&mut self, drain: &mut Drain<'a>, shape: LooseKey) -> bool {
        let mut from = 0;
        loop {
            let pods = self.loose.0.get(&shape).map(|one| &one.pods);
            let Some(pod) = pods.and_then(|pods| pods.range(from..).next().copied()) else { return true };
            from = pod + 1;
            self.work += 1;
            let is_ready = self.states[index(pod)] == PodState::Ready;
            // A pod that perhaps has no node may be ready as well.
            let state = if is_ready { PodState::Ready } else { PodState::Unready };
            if let Err(refusal) = self.budgets.ask(pod, state, false) {
                let cause = StopCause::Eviction { refusal, pending: Vec::new() };
                drain.refused.get_or_insert((Some(pod), cause));
                return false;
            }
            if !is_ready {
                continue;
            }
            // The other pods of the shape are alike.
            if self.places.is_certain_still(pod) {
                return true;
            }
            self.places.put(pod, PodPlace::Nowhere);
            let is_certain = self.places.is_certain(pod);
            let anywhere = self.places.loose_on(&[]);
            self.places.put(pod, anywhere);
            if is_certain {
                return true;
            }
            self.set(pod, PodState::Pending);
            self.pending.insert(pod);
        }
    }

    /// Nothing moves any more: the shortest timeout ends the drain of its machine.
    pub(super) fn time_out(&mut self) -> Option<RolloutEnd> {
        let ends = self.drains.iter().enumerate().filter(|(_, drain)| drain.times_out());
        let (at, _) = ends.min_by_key(|(at, drain)| (drain.machine.drain_timeout_seconds, *at))?;
        let (pod, because) = self.drains[at].cause().map(|(pod, cause)| (pod, cause.clone()))?;
        let stop = self.stop_of(&self.drains[at], pod, &because);
        let mut drains = std::mem::take(&mut self.drains);
        let drain = &mut drains[at];
        let after_seconds = drain.machine.drain_timeout_seconds;
        drain.remaining.clear();
        let replaced = self.leave(drain);
        drain.step.end = StepEnd::TimedOut { after_seconds, because: stop.because.clone() };
        let killed = drain.step.killed.clone();
        self.drains = drains;
        self.place_all(replaced);
        Some(RolloutEnd::TimesOut { stop, after_seconds, killed })
    }
}
