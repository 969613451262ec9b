//! Why a forge does not do what it is asked.

use crate::error::ApiError;
use crate::store::StoreError;

/// Why a forge could not start, or could not do what a test or demo asked of it.
#[derive(Debug, thiserror::Error)]
pub enum ForgeError {
    /// GitHub would have refused.
    #[error("the forge refuses: {0}")]
    Api(#[from] ApiError),
    /// Git or the disk failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The port, the temporary folder or the threads could not be had.
    #[error("cannot start the forge")]
    Io(#[from] std::io::Error),
    /// The App's key could not be made.
    #[error("cannot generate the App's key")]
    Key,
}
