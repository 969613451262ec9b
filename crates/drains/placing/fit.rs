//! The scheduler's filters for one pod and one node, and what the filters say of all nodes.

use std::collections::BTreeMap;

use super::Places;
use super::obstacle::Obstacle;
use super::shapes::Shape;
use super::terms::TermSide;
use crate::selector::index;

/// What is counted once for all nodes.
pub(super) struct Spread {
    least: Vec<u32>,
}

impl Places<'_> {
    /// The nodes on which a pod may fit, whatever other pods that moved have chosen.
    pub fn candidates(&mut self, pod: u32) -> Vec<u32> {
        self.fitting(pod, false)
    }

    pub(super) fn fitting(&mut self, pod: u32, is_strict: bool) -> Vec<u32> {
        self.work += u64::from(crate::selector::number(self.nodes.len()));
        let shape = self.shape(pod);
        let spread = self.spread(shape);
        let fits = |node: &u32| {
            // Most nodes are ruled out by these two.
            self.is_open(shape, *node)
                && self.has_free(shape, *node)
                && self.obstacle(shape, *node, &spread, is_strict).is_none()
        };
        self.all_nodes().filter(fits).collect()
    }

    /// For each obstacle, the number of nodes that it rules out.
    pub fn obstacles(&self, pod: u32) -> BTreeMap<Obstacle, usize> {
        let shape = self.shape(pod);
        let spread = self.spread(shape);
        let mut all = BTreeMap::new();
        let present = self.all_nodes().filter(|node| self.nodes[index(*node)].is_present);
        for obstacle in present.filter_map(|node| self.obstacle(shape, node, &spread, false)) {
            *all.entry(obstacle).or_default() += 1;
        }
        all
    }

    /// The first filter that refuses a node. Strictly, a loose pod is where it hinders most.
    fn obstacle(&self, shape: &Shape<'_>, node: u32, spread: &Spread, is_strict: bool) -> Option<Obstacle> {
        let state = &self.nodes[index(node)];
        if !self.is_open(shape, node) {
            return Some(Obstacle::Unschedulable);
        }
        if !self.shapes.is_tolerated(shape, node) {
            return Some(Obstacle::Taint);
        }
        if !self.shapes.is_affine(shape, node) {
            let volumes_match = self.shapes.volumes_match(shape, node);
            return Some(if volumes_match { Obstacle::NodeAffinity } else { Obstacle::Volume });
        }
        let lacking = shape.requests.iter().find(|(resource, amount)| state.free[*resource] < *amount);
        if let Some((resource, _)) = lacking {
            return Some(Obstacle::Insufficient(self.shapes.resource(*resource).to_owned()));
        }
        if shape.ports.iter().any(|port| state.ports.iter().any(|other| port.conflicts(other))) {
            return Some(Obstacle::HostPort);
        }
        if shape.is_simple {
            return None;
        }
        self.term_obstacle(shape, node, spread, is_strict)
    }

    fn term_obstacle(
        &self,
        shape: &Shape<'_>,
        node: u32,
        spread: &Spread,
        is_strict: bool,
    ) -> Option<Obstacle> {
        let count = |term: u32, counted: TermSide| {
            let term = &self.terms[index(term)];
            self.domains.of(term.key, node).map(|domain| term.in_domain(counted, domain))
        };
        let is_taken = |term: &u32, counted| count(*term, counted).is_some_and(|pods| pods > 0);
        if shape.anti.iter().any(|term| is_taken(term, TermSide::Matched))
            || shape.matched_by.iter().any(|term| is_taken(term, TermSide::Owned))
        {
            return Some(Obstacle::AntiAffinity);
        }
        let attracts = |number: &u32| {
            let term = &self.terms[index(*number)];
            let Some(pods) = count(*number, TermSide::Matched) else { return false };
            let is_first = shape.matched_by.contains(number) && term.has_none();
            pods > 0 || is_first || (!is_strict && term.loose(TermSide::Matched) > 0)
        };
        if !shape.affinity.iter().all(attracts) {
            return Some(Obstacle::Affinity);
        }
        let keeps_skew = |(at, (number, constraint)): (usize, &(u32, &crate::workload::SpreadConstraint))| {
            let Some(pods) = count(*number, TermSide::Matched) else { return false };
            let own = u32::from(shape.matched_by.contains(number));
            let loose = self.terms[index(*number)].loose(TermSide::Matched);
            let (pods, least) =
                if is_strict { (pods + loose, spread.least[at]) } else { (pods, spread.least[at] + loose) };
            (pods + own).saturating_sub(least) <= constraint.max_skew
        };
        (!shape.spread.iter().enumerate().all(keeps_skew)).then_some(Obstacle::TopologySpread)
    }

    /// The smallest number of pods in a domain, for each constraint. A node that is drained counts until it is gone.
    fn spread(&self, shape: &Shape<'_>) -> Spread {
        let least = shape.spread.iter().map(|(number, constraint)| {
            let term = &self.terms[index(*number)];
            let counts = |node: &u32| {
                let state = &self.nodes[index(*node)];
                state.is_present
                    && (constraint.ignores_affinity || self.shapes.is_affine(shape, *node))
                    && (!constraint.honors_taints
                        || (self.shapes.is_tolerated(shape, *node)
                            && (!state.is_cordoned || shape.tolerates_cordon)))
            };
            let mut domains: Vec<u32> =
                self.all_nodes().filter(counts).filter_map(|node| self.domains.of(term.key, node)).collect();
            domains.sort_unstable();
            domains.dedup();
            if domains.len() < usize::try_from(constraint.min_domains).unwrap_or(usize::MAX) {
                return 0;
            }
            let counts = domains.iter().map(|domain| term.in_domain(TermSide::Matched, *domain));
            counts.min().unwrap_or_default()
        });
        Spread { least: least.collect() }
    }
}
