//! What calls to GitHub may cost.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use capstan_ports::CodeHostError;

/// Bounds of what a call may cost.
#[derive(Debug, Clone)]
pub struct GitHubLimits {
    /// How long one attempt may take, its answer's body included.
    pub timeout: Duration,
    /// How often a call is repeated that was not answered, where it may be.
    pub retries: usize,
    /// The wait before the first repetition; doubled (with jitter) for each further one.
    pub first_retry_after: Duration,
    /// After some calls in a row that were not answered, each of them repeated, nothing is asked for so long.
    pub rest_when_unanswered: Duration,
    /// Calls under way at once, per installation.
    pub concurrent: usize,
    /// A larger answer is an error.
    pub answer_bytes: usize,
    /// So many bytes of deflated answers are kept for conditional reads.
    pub remembered_bytes: usize,
    /// A longer list is an error: cut short it would be taken for the whole.
    pub pages: usize,
    /// So is one whose pages are larger together.
    pub list_bytes: usize,
}

impl Default for GitHubLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            retries: 3,
            first_retry_after: Duration::from_millis(250),
            rest_when_unanswered: Duration::from_secs(5),
            concurrent: 8,
            answer_bytes: 32 << 20,
            remembered_bytes: 16 << 20,
            pages: 300,
            list_bytes: 256 << 20,
        }
    }
}

impl GitHubLimits {
    /// Counts a page of a list.
    pub(super) fn judge_list(&self, bytes: &mut u64, page: u64, doing: &str) -> Result<(), CodeHostError> {
        *bytes = bytes.saturating_add(page);
        if usize::try_from(*bytes).is_ok_and(|bytes| bytes <= self.list_bytes) {
            return Ok(());
        }
        let reason = format!("the list has more than {} bytes", self.list_bytes);
        Err(CodeHostError::Unexpected { doing: doing.to_owned(), status: 200, reason })
    }
}

impl GitHubLimits {
    /// How long is waited before each of so many repetitions.
    pub(super) fn pauses(&self, times: usize) -> ExponentialBackoff {
        let pauses = ExponentialBuilder::default().with_min_delay(self.first_retry_after);
        pauses.with_max_times(times).with_jitter().build()
    }
}
