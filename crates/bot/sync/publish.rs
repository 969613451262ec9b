//! Publishes a proposal: its branch, then its pull request with labels, assignees and reviewers. Also closes it.

use capstan_bot_core::facts::Facts;
use capstan_bot_core::proposals::{Intent, closing};
use capstan_plan::proposal::{Closer, ProposalId};
use tracing::Instrument as _;

use super::SyncError;
use super::commits::Commits;
use crate::performing::{Branched, Performer, Published};
use capstan_ports::{Clock, PullRequest};

/// Publishes proposals.
#[derive(Clone, Copy)]
pub(super) struct Publisher<'a> {
    pub(super) clock: &'a dyn Clock,
    pub(super) facts: &'a Facts,
    pub(super) commits: Commits<'a>,
    pub(super) performer: &'a Performer<'a>,
}

impl Publisher<'_> {
    /// The first half of an intention, which the second one builds upon: its commit and its branch. Looks at what exists
    /// before each write.
    pub(super) async fn bring_branch_up(self, intent: &Intent<'_>) -> Result<Branched, SyncError> {
        self.write_branch(intent).instrument(self.span_of(intent)).await
    }

    /// The second half: the pull request.
    pub(super) async fn publish(self, intent: &Intent<'_>) -> Result<Published, SyncError> {
        let span = self.span_of(intent);
        let published = self.bring_pull_up(intent).instrument(span.clone()).await;
        if let Ok(Published::Opened(number)) = &published {
            span.record("pull_request", number);
        }
        published
    }

    fn span_of(self, intent: &Intent<'_>) -> tracing::Span {
        tracing::info_span!(
            "proposal",
            repository = %self.facts.repository.name,
            cluster = intent.proposal.target.path(),
            pull_request = intent.pull.map(|pull| pull.number),
        )
    }

    async fn write_branch(self, intent: &Intent<'_>) -> Result<Branched, SyncError> {
        let Some(branch) = intent.desired_branch(self.facts)? else { return Ok(Branched::Unchanged) };
        let open = intent.pull.map(|pull| pull.number);
        let branched = self.performer.bring_branch_up(&branch, open).await?;
        if let Branched::Written(commit) = &branched {
            let place = (open, commit);
            let noted = intent.noted_in_records(self.facts, place, self.clock.now());
            self.performer.perform_all(noted).await?;
        }
        Ok(branched)
    }

    async fn bring_pull_up(self, intent: &Intent<'_>) -> Result<Published, SyncError> {
        let offered = match intent.head_to_ask(self.facts) {
            Some(head) => self.commits.source_of_commit(head).await?,
            None => None,
        };
        let desired = intent.desired_pull(self.facts, offered, self.clock.now());
        self.performer.bring_pull_up(&desired).await
    }

    /// Closes a proposal; `members` are the proposals that no pull request carries then.
    pub(super) async fn close(
        self,
        (proposal, members): (&ProposalId, &[ProposalId]),
        pull: &PullRequest,
        why: &str,
        by: Closer,
    ) -> Result<(), SyncError> {
        let Some(now) = self.performer.still_open(pull.number).await? else { return Ok(()) };
        let block = self.commits.block_of(proposal, &now).await?;
        let closing = closing(self.facts, proposal, (&now, block), (why, by));
        self.performer.close(now.number, closing.forgetting(members)).await
    }
}
