//! How many machines rollouts replace and lose: one count for titles, bodies, checks, limits and waves.

use super::{Certainty, Rollout, RolloutEffect};

/// A number of machines, as far as Git knows it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MachineCount {
    /// As many as replicas in Git say.
    pub known: u64,
    /// Whether there are owners besides whose replicas are not in Git.
    pub is_more: bool,
}

impl MachineCount {
    /// Machines that are replaced, or lost with their owner.
    pub fn of<'r>(rollouts: impl IntoIterator<Item = &'r Rollout>) -> Self {
        let replacing =
            rollouts.into_iter().filter(|rollout| rollout.course.effect == RolloutEffect::Replaces);
        replacing.fold(Self::default(), |sum, rollout| sum.and(Self::one(rollout.machines)))
    }

    /// Those of one owner; `None` where Git does not know how many it has.
    pub fn one(machines: Option<u32>) -> Self {
        Self { known: machines.map_or(0, u64::from), is_more: machines.is_none() }
    }

    /// Those that are replaced by new ones.
    pub fn replaced<'r>(rollouts: impl IntoIterator<Item = &'r Rollout>) -> Self {
        Self::of(rollouts.into_iter().filter(|rollout| rollout.replaces()))
    }

    /// Those that go with their owner.
    pub fn lost<'r>(rollouts: impl IntoIterator<Item = &'r Rollout>) -> Self {
        Self::of(rollouts.into_iter().filter(|rollout| rollout.loses_its_owner()))
    }

    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self { known: self.known.saturating_add(other.known), is_more: self.is_more || other.is_more }
    }

    /// Whether it is known that there are none.
    pub const fn is_none(self) -> bool {
        self.known == 0 && !self.is_more
    }

    /// The number, where Git has all of it.
    pub fn exactly(self) -> Option<u64> {
        (!self.is_more).then_some(self.known)
    }
}

impl Certainty {
    /// How certain these rollouts are, where that is the same of all.
    pub fn common(rollouts: &[Rollout]) -> Option<Self> {
        let first = rollouts.first()?.certainty;
        rollouts.iter().all(|rollout| rollout.certainty == first).then_some(first)
    }
}

impl Rollout {
    /// Whether its machines are replaced by new ones.
    pub fn replaces(&self) -> bool {
        self.course.effect == RolloutEffect::Replaces && !self.loses_its_owner()
    }

    /// Whether the object that owns the machines goes: they are lost.
    pub fn loses_its_owner(&self) -> bool {
        self.because.iter().any(capstan_model::object::FieldPath::is_root)
    }
}
