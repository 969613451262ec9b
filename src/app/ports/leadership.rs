//! Which of several running reconcilers acts.

use async_trait::async_trait;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A post that one process at a time holds.
#[async_trait]
pub trait Leadership: Send + Sync {
    /// Waits until this process leads; `None` where it was told to stop before.
    async fn lead(&self, stop: &CancellationToken) -> Option<Term>;
}

/// The time for which a process leads. Whoever drops it without resigning leaves the post blocked until it
/// runs out.
#[derive(Debug)]
pub struct Term {
    lost: CancellationToken,
    resigned: CancellationToken,
    keeping: JoinHandle<()>,
}

impl Term {
    /// A term that a task keeps up: it cancels `lost` when the post is lost, and gives the post away and ends
    /// once `resigned` is cancelled.
    pub const fn new(lost: CancellationToken, resigned: CancellationToken, keeping: JoinHandle<()>) -> Self {
        Self { lost, resigned, keeping }
    }

    /// Cancelled when the post was lost: nothing more may be written, somebody else may be writing already.
    pub const fn lost(&self) -> &CancellationToken {
        &self.lost
    }

    /// Gives the post away, so that another process leads at once.
    pub async fn resign(self) {
        self.resigned.cancel();
        if let Err(error) = self.keeping.await {
            tracing::warn!(error = %error, "leadership was not given away in order");
        }
    }
}
