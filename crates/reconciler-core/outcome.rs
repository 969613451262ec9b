//! How the reconciliation of one cluster folder ends.

use crate::reason::Reason;
use capstan_ports::LiveError;

/// Why a reconciliation ends before it is through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interruption {
    /// A newer commit is there.
    Superseded,
    /// The process ends, or is not the leader any more.
    Stopping,
    /// The tree was kept on a disk, and nobody can say that it is the newest: before its source was reached, this is
    /// not done on its word.
    Unconfirmed,
}

/// How a reconciliation ended.
#[derive(Debug)]
pub enum ReconcileEnd {
    /// Everything is applied that may be applied now.
    Applied,
    /// Everything is deleted, as `delete: cluster` says.
    Removed,
    /// Nothing is applied, for reasons in Git or in the live cluster.
    Refused(Vec<Reason>),
    /// Nothing more is applied now; it passes by itself.
    Waiting(Vec<Reason>),
    /// Nothing is applied, because somebody said so.
    Suspended,
    /// It was ended early; the inventory has what was done.
    Interrupted(Interruption),
    /// The API server, or the bot where its word is needed, did not do its part.
    Failed(ReconcileFailure),
}

/// Why a reconciliation failed that may succeed next time.
#[derive(Debug)]
pub struct ReconcileFailure {
    /// A word of a closed set.
    pub kind: &'static str,
    /// What was being done, and what was answered.
    pub message: String,
    /// The object and place, where one is to blame.
    pub reasons: Vec<Reason>,
}

impl From<LiveError> for ReconcileFailure {
    fn from(error: LiveError) -> Self {
        let kind = error.refusal().map_or(error.kind(), |refusal| refusal.kind.as_str());
        Self { kind, message: error.to_string(), reasons: Vec::new() }
    }
}
