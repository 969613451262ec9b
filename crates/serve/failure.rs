//! Why the bot did not start, or ended.

use std::error::Error;

/// Why the bot did not start, or ended: what the part that failed says of it.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ServeError(Box<dyn Error + Send + Sync>);

pub(super) fn failed(error: impl Into<Box<dyn Error + Send + Sync>>) -> ServeError {
    ServeError(error.into())
}
