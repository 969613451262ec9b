//! Whether a pod gets a node for certain, although the nodes of loose pods are not known.
//!
//! Loose pods may prevent a pod from a node in two ways: they take its free resources, or they conflict with the pod by
//! anti-affinity or a port. To prevent it everywhere, they have to do that on each node where it fits. So the free shares
//! of these nodes are added up, without the nodes that conflicts may take. If all loose pods together request less, at
//! least one node is left.

use std::collections::BTreeMap;

use super::Places;
use super::loose::WHOLE_NODE;
use super::shapes::{Shape, float};
use super::terms::TermSide;
use crate::selector::{index, number};

/// Far less than any request is of a node, and more than sums of shares are inexact.
const MARGIN: f64 = 1e-9;

impl Places<'_> {
    /// Whether a pod that has no place gets one, wherever loose pods are.
    pub fn is_certain(&mut self, pod: u32) -> bool {
        let shape_number = index(self.shape_number(pod));
        if self.is_certain_still(pod) {
            return true;
        }
        if let Some(left) = self.left_by_all_conflicts(pod).filter(|left| *left > 0.0) {
            self.loose.fits_until[shape_number] = self.loose.spent + left;
            return true;
        }
        let nodes = self.fitting(pod, true);
        let shape = self.shape(pod);
        let shares: Vec<f64> = nodes.iter().map(|node| self.share(shape, *node)).collect();
        let (lost_nodes, lost_share) = self.conflicts(shape, &nodes, &shares);
        if nodes.len() <= lost_nodes {
            return false;
        }
        let left = shares.iter().sum::<f64>() - lost_share - self.loose.weight;
        self.loose.pods == 0 || left >= -MARGIN
    }

    /// Whether that was certain before, with so much left that nothing since then has changed it.
    pub fn is_certain_still(&self, pod: u32) -> bool {
        self.loose.fits_until[index(self.shape_number(pod))] > self.loose.spent
    }

    /// The free share that is left if every pod of the shape's terms conflicts with it on nodes that are free. `None` if
    /// more than anti-affinity counts: then the places of other pods decide.
    fn left_by_all_conflicts(&mut self, pod: u32) -> Option<f64> {
        self.work += u64::from(number(self.nodes.len()));
        let shape = self.shape(pod);
        if !shape.affinity.is_empty() || !shape.spread.is_empty() || !shape.ports.is_empty() {
            return None;
        }
        let terms = shape.matched_by.iter().chain(&shape.anti).map(|term| &self.terms[index(*term)]);
        let conflicts: f64 =
            terms.map(|term| f64::from(term.most) * f64::from(self.domains.largest(term.key))).sum();
        let fits = |node: &u32| {
            self.is_open(shape, *node)
                && self.has_free(shape, *node)
                && self.shapes.is_affine(shape, *node)
                && self.shapes.is_tolerated(shape, *node)
        };
        let shares: f64 = self.all_nodes().filter(fits).map(|node| self.share(shape, node)).sum();
        Some(shares - conflicts * WHOLE_NODE - self.loose.weight)
    }

    /// The share that other pods may take of a node before this one does not fit any more.
    fn share(&self, shape: &Shape<'_>, node: u32) -> f64 {
        let free = &self.nodes[index(node)].free;
        let share = |(resource, amount): &(usize, i64)| {
            float(free[*resource] - amount) / self.shapes.largest[*resource].max(1.0)
        };
        shape.requests.iter().map(share).fold(WHOLE_NODE, f64::min)
    }

    /// How many of the nodes loose pods may take by conflicts, and their shares, at most.
    fn conflicts(&self, shape: &Shape<'_>, nodes: &[u32], shares: &[f64]) -> (usize, f64) {
        // Per topology key; a port takes one node.
        let mut loose: BTreeMap<Option<usize>, u32> = BTreeMap::new();
        for term in &shape.anti {
            let term_state = &self.terms[index(*term)];
            let most = term_state.loose(TermSide::Matched).max(term_state.loose(TermSide::Owned));
            *loose.entry(Some(term_state.key)).or_default() += most;
        }
        for term in shape.matched_by.iter().filter(|term| !shape.anti.contains(term)) {
            let term_state = &self.terms[index(*term)];
            *loose.entry(Some(term_state.key)).or_default() += term_state.loose(TermSide::Owned);
        }
        for (port, count) in &self.loose.ports {
            if shape.ports.iter().any(|own| own.conflicts(port)) {
                *loose.entry(None).or_default() += count;
            }
        }
        let (mut lost_nodes, mut lost_share) = (0, 0.0);
        for (key, count) in loose.into_iter().filter(|(_, count)| *count > 0) {
            let mut domains: BTreeMap<u32, (usize, f64)> = BTreeMap::new();
            for (at, (node, share)) in (0..).zip(nodes.iter().zip(shares)) {
                let domain = key.map_or(Some(at), |key| self.domains.of(key, *node));
                let sums = domains.entry(domain.unwrap_or(number(self.nodes.len()))).or_default();
                (sums.0, sums.1) = (sums.0 + 1, sums.1 + share);
            }
            let most =
                domains.values().fold((0, 0.0_f64), |most, one| (most.0.max(one.0), most.1.max(one.1)));
            lost_nodes += index(count) * most.0;
            lost_share += f64::from(count) * most.1;
        }
        (lost_nodes, lost_share)
    }
}
