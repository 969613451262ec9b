//! Which filter of the scheduler rules a node out.

use serde::Serialize;

/// Why a pod does not fit on a node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Obstacle {
    /// The node is cordoned, drained or unreachable.
    Unschedulable,
    Taint,
    /// The pod's node selector or node affinity.
    NodeAffinity,
    /// A volume of another zone or node.
    Volume,
    Insufficient(String),
    HostPort,
    /// The pod's own, or that of a pod on the node.
    AntiAffinity,
    Affinity,
    TopologySpread,
}
