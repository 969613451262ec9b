//! What is counted of pods that run on one of several nodes.

use std::collections::BTreeMap;

use super::shapes::{Shape, Shapes};
use crate::workload::HostPort;

/// The share of resources that a node has at most.
pub(super) const WHOLE_NODE: f64 = 1.0;

/// All loose pods together.
pub(super) struct Loose<'a> {
    pub(super) pods: u32,
    pub(super) weight: f64,
    pub(super) ports: BTreeMap<&'a HostPort, u32>,
    /// How much the free shares can have shrunk since the beginning, at most.
    pub(super) spent: f64,
    /// For each shape, the value of `spent` up to which a pod of it surely fits. Absent: negative.
    pub(super) fits_until: Vec<f64>,
}

impl<'a> Loose<'a> {
    pub(super) fn new(shapes: &Shapes<'_>) -> Self {
        let fits_until = vec![-1.0; shapes.all.len()];
        Self { pods: 0, weight: 0.0, ports: BTreeMap::new(), spent: 0.0, fits_until }
    }

    pub(super) fn count(&mut self, shape: &Shape<'a>, change: i64) {
        let step = i32::from(change > 0) * 2 - 1;
        self.pods = self.pods.saturating_add_signed(step);
        self.weight = if self.pods == 0 { 0.0 } else { self.weight + f64::from(step) * shape.weight };
        for port in shape.ports {
            let count = self.ports.entry(port).or_default();
            *count = count.saturating_add_signed(step);
        }
        if change > 0 {
            self.spent += shape.weight;
        }
    }

    pub(super) fn spend(&mut self, share: f64) {
        self.spent += share;
    }
}
