//! Which of several running reconcilers acts.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::LiveError;

/// A post that one process at a time holds.
#[async_trait]
pub trait Leadership: Send + Sync {
    /// Waits until this process leads; `None` where it was stopped before.
    async fn lead(&self, stop: &CancellationToken) -> Option<Term>;
}

/// Posts of one name, one in each namespace.
pub trait NamespacedLeadership: Send + Sync {
    /// The post of that namespace.
    fn of(&self, namespace: &str) -> Arc<dyn Leadership>;
}

/// What a leader asks before each write: a process may have been stopped for longer than it may lead, and know of
/// nothing.
#[async_trait]
pub trait Fence: Send + Sync {
    /// Whether this process leads still, asked where everybody asks. `doing` is what is to be done.
    ///
    /// # Errors
    /// [`LiveError::NotLeading`] where it does not; another one where that cannot be found out. Then nothing may be
    /// written.
    async fn check(&self, doing: &str) -> Result<(), LiveError>;
}

/// The time for which a process leads. Dropping it without resigning leaves the Lease blocked until it
/// expires.
pub struct Term {
    fence: Arc<dyn Fence>,
    lost: CancellationToken,
    resigned: CancellationToken,
    keeping: JoinHandle<()>,
}

impl Term {
    /// A term that a task keeps up: it cancels `lost` when the post is lost, and gives the post away and ends
    /// once `resigned` is cancelled.
    pub fn new(
        fence: Arc<dyn Fence>,
        lost: CancellationToken,
        resigned: CancellationToken,
        keeping: JoinHandle<()>,
    ) -> Self {
        Self { fence, lost, resigned, keeping }
    }

    /// To be asked before each write of this term.
    pub fn fence(&self) -> Arc<dyn Fence> {
        Arc::clone(&self.fence)
    }

    /// Cancelled when the Lease was lost: nothing more may be written, since another process may be writing
    /// already.
    pub const fn lost(&self) -> &CancellationToken {
        &self.lost
    }

    /// Ends its upkeep without giving it away: nobody has it until it runs out.
    pub fn abandon(self) {
        self.keeping.abort();
    }

    /// Gives the post away, so that another process leads at once.
    pub async fn resign(self) {
        self.resigned.cancel();
        if let Err(error) = self.keeping.await {
            tracing::warn!(error = %error, "leadership was not released properly");
        }
    }
}
