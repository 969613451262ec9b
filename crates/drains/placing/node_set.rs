//! A set of nodes, one bit each.

use crate::selector::index;

/// Nodes by their numbers.
#[derive(Debug, Clone, Default)]
pub struct NodeSet(Vec<u64>);

impl NodeSet {
    /// All of so many nodes.
    pub fn all(nodes: usize) -> Self {
        Self(vec![u64::MAX; nodes.div_ceil(64)])
    }

    pub fn insert(&mut self, node: u32) {
        let at = index(node);
        if self.0.len() <= at / 64 {
            self.0.resize(at / 64 + 1, 0);
        }
        self.0[at / 64] |= 1 << (at % 64);
    }

    pub fn remove(&mut self, node: u32) {
        let at = index(node);
        if let Some(bits) = self.0.get_mut(at / 64) {
            *bits &= !(1 << (at % 64));
        }
    }

    pub fn has(&self, node: u32) -> bool {
        let at = index(node);
        self.0.get(at / 64).is_some_and(|bits| bits >> (at % 64) & 1 == 1)
    }
}
