//! Why a Secret does not hold what is asked for.

use capstan_live::applying::RefusalKind;
use capstan_live::secrets::Why;

use crate::app::ports::{LiveError, VaultError};

/// In a word and a sentence, as it stands in the condition: no value of a secret.
pub(super) type Trouble = VaultError;

/// The API server, or what lies there, is in the way.
fn of_live(error: &LiveError) -> Trouble {
    let why = match error {
        LiveError::Unreachable { .. } | LiveError::NotLeading { .. } => Why::Away,
        LiveError::Refused { refusal, .. } if refusal.kind == RefusalKind::Forbidden => Why::NotAllowed,
        LiveError::Refused { refusal, .. } if refusal.worth_retrying() => Why::Away,
        LiveError::Refused { .. } | LiveError::Malformed { .. } | LiveError::TooMuch { .. } => Why::BadData,
    };
    Trouble::new(why, error.to_string())
}

impl From<LiveError> for Trouble {
    fn from(error: LiveError) -> Self {
        of_live(&error)
    }
}
