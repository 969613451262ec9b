//! The state of an owner, and the evidence for it.

use jiff::Timestamp;

use crate::rollout::observed::scheduled::PutOff;
use crate::rollout::observed::verdict::{Counts, Readiness, RolloutProgress};
use capstan_model::object::ObjectId;

/// The state of an owner, before the check whether it is stuck.
pub(in crate::rollout::observed) struct OwnerState {
    pub(in crate::rollout::observed) state: RolloutProgress,
    pub(in crate::rollout::observed) words: Option<String>,
    pub(in crate::rollout::observed) counts: Counts,
    pub(in crate::rollout::observed) ready: Readiness,
    /// What it waits for besides its own controller.
    pub(in crate::rollout::observed) behind: Option<Behind>,
    /// Until when all is up to date.
    pub(in crate::rollout::observed) until: Option<Timestamp>,
}

/// Something above an owner that has changed, and that nothing shows to have been taken up.
pub(in crate::rollout::observed) struct Behind {
    pub(in crate::rollout::observed) on: ObjectId,
    pub(in crate::rollout::observed) since: Option<Timestamp>,
    pub(in crate::rollout::observed) words: String,
    pub(in crate::rollout::observed) ends: Ends,
}

/// How a wait ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::rollout::observed) enum Ends {
    /// When its controller observes it, which may be down.
    WhenSeen,
    /// After a while.
    ByItself,
}

/// What is missing, the most telling first.
#[derive(Default)]
pub(super) struct Unmet(pub(super) Vec<String>);

impl Unmet {
    pub(super) fn add(&mut self, words: impl Into<String>) {
        self.0.push(words.into());
    }
}

/// What an owner shows that lacks nothing.
pub(super) enum Evidence {
    /// Enough to be called done.
    Complete,
    /// Not whether its machines are up to date.
    TooLittle(String),
    /// Not that a change above it has been taken up.
    Behind(Behind),
    /// That something of it will be replaced later.
    PutOff(PutOff),
}
