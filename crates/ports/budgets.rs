//! What is left of GitHub's limits, as all processes that share a database know it.

use async_trait::async_trait;

use super::RecordsError;

/// A stored budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptBudget {
    /// Goes up by one with each write.
    pub version: u64,
    /// JSON.
    pub ledger: String,
}

/// Whether a budget was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetWrite {
    /// It was.
    Written,
    /// Another process wrote it since it was read: read it again, and decide again.
    Overtaken,
}

/// Where budgets are stored. There is no lock: a writer names the version that it read.
#[async_trait]
pub trait Budgets: Send + Sync {
    /// The budget of the callers that GitHub counts together (`installation 17`); `None` before the first
    /// call.
    async fn budget(&self, counted_for: &str) -> Result<Option<KeptBudget>, RecordsError>;

    /// Writes it over the version that was read; `None` is for the first.
    async fn keep_budget(
        &self,
        counted_for: &str,
        read: Option<u64>,
        ledger: &str,
    ) -> Result<BudgetWrite, RecordsError>;
}
