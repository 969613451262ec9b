//! Why what a folder asks for cannot be applied.

use crate::reason::Reason;
use capstan_ports::LiveError;

/// Why a folder cannot be applied at all.
#[derive(Debug, thiserror::Error)]
pub enum Unwanted {
    /// For reasons in Git.
    #[error("refused")]
    Refused(Vec<Reason>),
    /// Its service account has no right to one of its objects: a person has to grant it, in no commit of it.
    #[error("{error}")]
    Forbidden {
        /// What the API server answered.
        error: LiveError,
        /// The object, and where it is written.
        reason: Box<Reason>,
    },
    /// The API server did not answer.
    #[error(transparent)]
    Live(#[from] LiveError),
}
