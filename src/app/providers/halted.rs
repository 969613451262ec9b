//! Why a provider is not gone on with.

use capstan_live::installing::{Check, Failure};

/// Why a provider is not gone on with.
#[derive(Debug, Clone)]
pub(super) enum Halted {
    /// One of the operator's checks.
    Check(Check),
    /// It cannot be rendered.
    Failed(Failure, String),
}

impl Halted {
    pub(super) fn message(&self) -> String {
        match self {
            Self::Check(check) => check.message(),
            Self::Failed(_, message) => message.clone(),
        }
    }
}
