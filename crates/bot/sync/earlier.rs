//! Reads the previous pull requests of proposals' branches.

use std::collections::BTreeMap;

use capstan_bot_core::proposals::{Carriers, Earlier, as_earlier, asked_earlier, became, unbound};
use capstan_plan::proposal::{ProposalId, ProposalPlan, Pull};

use super::SyncError;
use super::heads::Heads;
use capstan_ports::{CodeHostError, EarlierPullRequest, PullRequestState};

/// The newest pull request of each proposal that may be opened: its fate decides whether it is.
pub(super) async fn earlier(
    heads: Heads<'_>,
    carriers: &Carriers,
    wanted: &BTreeMap<ProposalId, ProposalPlan>,
) -> Result<Earlier, SyncError> {
    let facts = heads.commits.facts;
    let asked = asked_earlier(facts, carriers, wanted);
    let mut found = before_unbound(heads, carriers).await?;
    if !asked.is_empty() {
        let branches: Vec<String> = asked.iter().map(ProposalId::branch).collect();
        found.extend(heads.newest_to_default(&branches).await?);
    }
    Ok(Earlier::read(facts, carriers, asked, found))
}

async fn before_unbound(heads: Heads<'_>, carriers: &Carriers) -> Result<Vec<EarlierPullRequest>, SyncError> {
    let facts = heads.commits.facts;
    let mut found = Vec::new();
    for (id, number) in unbound(facts, carriers) {
        match heads.host.pull_request(&facts.repository, number).await {
            Ok(pull) => found.extend(as_earlier(facts, id, pull)),
            Err(CodeHostError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}

/// The fate of a proposal's pull request that was not open when the run began.
pub(super) async fn fate_of(
    heads: Heads<'_>,
    proposal: &ProposalId,
    pull: &EarlierPullRequest,
) -> Result<Pull, SyncError> {
    let of_head = match pull.state {
        PullRequestState::Open => None,
        PullRequestState::Merged | PullRequestState::Closed => {
            heads.commits.source_of_commit(&pull.head).await?
        }
    };
    Ok(became(heads.commits.facts, proposal, pull, of_head))
}
