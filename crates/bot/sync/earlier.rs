//! Reads the previous pull requests of proposals' branches.

use std::collections::BTreeMap;

use capstan_bot_core::proposals::{Carriers, Earlier, as_earlier, asked_earlier, became, unbound};
use capstan_plan::proposal::{ProposalId, Pull, Wanted};

use super::{Run, SyncError};
use capstan_ports::{CodeHostError, EarlierPullRequest, PullRequestState};

impl Run<'_> {
    /// The newest pull request of each proposal that may be opened: its fate decides whether it is.
    pub(super) async fn earlier(
        self,
        carriers: &Carriers,
        wanted: &BTreeMap<ProposalId, Wanted>,
    ) -> Result<Earlier, SyncError> {
        let asked = asked_earlier(self.facts, carriers, wanted);
        let mut found = self.before_unbound(carriers).await?;
        if !asked.is_empty() {
            let branches: Vec<String> = asked.iter().map(ProposalId::branch).collect();
            let (host, base) = (&self.ports.host, &self.repository.default_branch);
            found.extend(host.newest_pull_requests(self.repository, &branches, Some(base)).await?);
        }
        Ok(Earlier::read(self.facts, carriers, asked, found))
    }

    async fn before_unbound(self, carriers: &Carriers) -> Result<Vec<EarlierPullRequest>, SyncError> {
        let mut found = Vec::new();
        for (id, number) in unbound(self.facts, carriers) {
            match self.ports.host.pull_request(self.repository, number).await {
                Ok(pull) => found.extend(as_earlier(self.facts, id, pull)),
                Err(CodeHostError::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(found)
    }

    /// The fate of a proposal's pull request that was not open when the run began.
    pub(super) async fn earlier_facts(
        self,
        proposal: &ProposalId,
        pull: &EarlierPullRequest,
    ) -> Result<Pull, SyncError> {
        let of_head = match pull.state {
            PullRequestState::Open => None,
            PullRequestState::Merged | PullRequestState::Closed => self.source_of_commit(&pull.head).await?,
        };
        Ok(became(self.facts, proposal, pull, of_head))
    }
}
