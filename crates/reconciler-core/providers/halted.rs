//! Why a provider is not gone on with.

use capstan_live::applying::RefusalKind;
use capstan_live::installing::{FailedCheck, InstallFailure};

use capstan_ports::LiveError;

/// Why a provider is not gone on with.
#[derive(Debug, Clone)]
pub enum Halted {
    /// One of the operator's checks.
    Check(FailedCheck),
    /// It cannot be rendered.
    Failed(InstallFailure, String),
}

impl Halted {
    /// In a sentence.
    pub fn message(&self) -> String {
        match self {
            Self::Check(check) => check.message(),
            Self::Failed(_, message) => message.clone(),
        }
    }
}

/// What somebody may not do, and what gives them the right.
pub fn may_not(error: LiveError) -> Result<String, LiveError> {
    match error {
        LiveError::Refused { ref refusal, .. } if refusal.kind == RefusalKind::Forbidden => {
            Ok(format!("{error}; `capstan providers rights` prints the role that the set needs"))
        }
        error => Err(error),
    }
}
