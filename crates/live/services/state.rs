//! The state of a service, in one word.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A service in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ServiceState {
    /// It is applied, and well.
    Ready,
    /// It waits for its turn.
    Waiting,
    /// It is applied, and not well yet.
    Progressing,
    /// It is switched off, and its objects are going, or kept for a reason.
    Removing,
    /// Unknown: the cluster's API does not answer.
    Unknown,
    /// It was not well for long.
    Stuck,
    /// It does not come to be well without somebody doing something.
    Failed,
}

impl ServiceState {
    /// Whether a person has to do something.
    pub const fn needs_a_person(self) -> bool {
        matches!(self, Self::Stuck | Self::Failed)
    }
}
