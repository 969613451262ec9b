//! How long nothing may happen before a rollout is stuck.

use jiff::SignedDuration;

/// How long nothing may happen before a rollout counts as stuck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RolloutPatience {
    /// Until a controller looks at an object.
    pub unobserved: SignedDuration,
    /// With something missing that will not come.
    pub blocked: SignedDuration,
    /// Between two steps of machines: as long as a machine may take to boot.
    pub still: SignedDuration,
    /// Until an edit of a ClusterClass shows in what is made of it, if it does. Nothing is stuck then.
    pub settling: SignedDuration,
}

impl Default for RolloutPatience {
    /// Five minutes; two; twenty, which bare metal needs; one.
    fn default() -> Self {
        Self {
            unobserved: SignedDuration::from_mins(5),
            blocked: SignedDuration::from_mins(2),
            still: SignedDuration::from_mins(20),
            settling: SignedDuration::from_mins(1),
        }
    }
}
