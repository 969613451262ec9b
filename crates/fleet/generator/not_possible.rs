//! Why something that a person asked for is not done.

use serde::{Deserialize, Serialize};

use super::Refused;

/// Why something that a person asked for is not done; for people, a sentence or several lines of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum NotPossible {
    /// What was asked for cannot be.
    #[error("{0}")]
    Usage(String),
    /// What there is does not let it.
    #[error("{0}")]
    Failed(String),
}

impl From<Refused> for NotPossible {
    fn from(refused: Refused) -> Self {
        Self::Failed(refused.to_string())
    }
}
