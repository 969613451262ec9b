//! What a rollback goes back to: read from the commits of the merged upgrade, not from any memory of Capstan's.

use std::collections::BTreeMap;

use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::source::SourceId;
use capstan_model::tree::{CommitId, Tree};
use capstan_plan::proposal::{Merged, ProposalId, RollBack, SourceState, roll_back};
use capstan_plan::settings::{ClusterSettings, FOLDER_FILE};
use capstan_plan::verbs::{Back, Command};

use super::requests::{Request, RequestId};
use super::{Run, SyncError};
use crate::app::ports::PullRequestState;

/// So many commits of people are looked through on a branch.
const MOST_COMMITS: usize = 20;

/// What each command comes to, by its comment and place in it; else why nothing is offered, as the answer's sentence.
#[derive(Default)]
pub(super) struct RollBacks(BTreeMap<(RequestId, usize), Result<(ProposalId, RollBack), String>>);

impl RollBacks {
    pub(super) fn of(&self, request: &Request, at: usize) -> Option<&Result<(ProposalId, RollBack), String>> {
        self.0.get(&(request.id(), at))
    }
}

impl Run<'_> {
    /// Finds out what is asked for.
    pub(super) async fn find_rollbacks(self, requests: &[Request]) -> Result<RollBacks, SyncError> {
        let mut found = RollBacks::default();
        for request in requests {
            for (at, command) in request.carried_out() {
                let Command::Rollback(back) = command else { continue };
                found.0.insert((request.id(), at), self.rollback_of(request, back).await?);
            }
        }
        Ok(found)
    }

    async fn rollback_of(
        self,
        request: &Request,
        back: &Back,
    ) -> Result<Result<(ProposalId, RollBack), String>, SyncError> {
        let named = back.cluster.clone().map(|id| self.proposal_for(id));
        let Some(proposal) = named.or_else(|| self.proposal_of(request)) else {
            return Ok(Err("name the cluster: this is no proposal of one".to_owned()));
        };
        let cluster = proposal.target.id().clone();
        let (number, state, head) = match (&request.pull, &back.cluster) {
            (Some(pull), None) => (pull.number, pull.state, pull.head.clone()),
            _ => {
                let (host, base) = (&self.ports.host, &self.repository.default_branch);
                let branches = [proposal.branch()];
                let newest = host.newest_pull_requests(self.repository, &branches, Some(base)).await?;
                match newest.into_iter().find(|pull| pull.head_branch == branches[0]) {
                    Some(pull) => (pull.number, pull.state, pull.head),
                    None => return Ok(Err(format!("no upgrade of {cluster} was ever proposed here"))),
                }
            }
        };
        if state != PullRequestState::Merged {
            return Ok(Err(format!(
                "#{number} is not merged: comment `rollback` on the merged upgrade that is to be taken back"
            )));
        }
        let (brought, base) = self.brought_by(&head).await?;
        let before = match base {
            Some(base) => self.snapshot(&base).await?,
            None => None,
        };
        let before = before.and_then(|before| recorded(before.tree.as_ref(), &cluster));
        let now = recorded(self.facts.base.tree.as_ref(), &cluster);
        let merged = Merged { before: before.as_ref(), brought: brought.as_ref(), now: now.as_ref() };
        Ok(match roll_back(merged) {
            Ok(back) => Ok((proposal, back)),
            Err(why) => Err(format!("#{number}: {why}")),
        })
    }

    /// The release that the last commit of Capstan's on a branch brought, and the commit that it was planned on.
    async fn brought_by(self, head: &CommitId) -> Result<(Option<ReleaseId>, Option<CommitId>), SyncError> {
        let mut commit = Some(head.clone());
        for _ in 0..MOST_COMMITS {
            let Some(at) = commit.take() else { break };
            let Some(snapshot) = self.snapshot(&at).await? else { break };
            let parent = snapshot.parents.into_iter().next();
            let source = snapshot.trailers.source.as_deref().and_then(SourceState::parse);
            if let Some(source) = source {
                return Ok((SourceId::release(source.source()), parent));
            }
            commit = parent;
        }
        Ok((None, None))
    }
}

/// The release that a cluster records in a snapshot.
fn recorded(tree: &dyn Tree, cluster: &ClusterId) -> Option<ReleaseId> {
    let path = cluster.folder().join(FOLDER_FILE).ok()?;
    let bytes = tree.read(tree.entry(&path)?).ok()?;
    ClusterSettings::read(&path, std::str::from_utf8(&bytes).ok()?).ok()?.release
}
