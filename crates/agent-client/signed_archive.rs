//! An archive as it came: its bytes with what the bot says of them, not checked yet.

use capstan_model::tree::CommitId;

/// An archive as it came.
#[derive(Clone)]
pub(super) struct Signed {
    pub(super) commit: CommitId,
    pub(super) bytes: Vec<u8>,
    pub(super) sha256: String,
    pub(super) signature: String,
}
