//! What a rollback goes back to: read from the commits of the merged upgrade, not from any memory of Capstan's.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::source::SourceId;
use capstan_model::tree::{CommitId, Tree};
use capstan_plan::proposal::{
    Decisions, Draft, Merged, ProposalId, RollBack, SourceState, Vouched, carrier_of, roll_back,
};
use capstan_plan::settings::RepositorySettings;
use capstan_plan::verbs::{Back, Command};
use capstan_report::Block;

use super::facts::part_id;
use super::request::{Request, RequestId};
use super::trees::settings_in;
use super::{Run, SyncError};
use capstan_ports::{EarlierPullRequest, PullRequest, PullRequestState};

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
    pub(super) async fn find_rollbacks(
        self,
        requests: &[Request],
        settings: &RepositorySettings,
    ) -> Result<RollBacks, SyncError> {
        let mut found = RollBacks::default();
        for request in requests {
            for (at, command) in request.carried_out() {
                let Command::Rollback(back) = command else { continue };
                let asked = (command, back);
                found.0.insert((request.id(), at), self.rollback_of(request, asked, settings).await?);
            }
        }
        Ok(found)
    }

    async fn rollback_of(
        self,
        request: &Request,
        (command, back): (&Command, &Back),
        settings: &RepositorySettings,
    ) -> Result<Result<(ProposalId, RollBack), String>, SyncError> {
        let subjects = self.proposals_of(request, command);
        let proposal = match subjects.as_slice() {
            [only] => only.clone(),
            [] => return Ok(Err("name the cluster: this is no proposal of one".to_owned())),
            several => {
                let named = several[0].target.path();
                return Ok(Err(format!(
                    "name the cluster, as in `rollback {named}`: this pull request is of {} clusters, and each is rolled back by itself",
                    several.len()
                )));
            }
        };
        let Some(cluster) = proposal.target.id().cloned() else {
            return Ok(Err("name the cluster: this is no proposal of one".to_owned()));
        };
        // Of a shared one that is merged the cluster has to be named; a newer one may be open on its branch by now.
        let is_meant = |pull: &&PullRequest| {
            let id = self.proposal_of(request).filter(|id| id.target.group().is_some());
            pull.state == PullRequestState::Merged
                && id.is_some_and(|id| self.members_in(&id, pull).contains(&proposal))
        };
        let meant = request.pull.as_ref().filter(|pull| back.cluster.is_none() || is_meant(pull));
        let (number, state, branch, head) = match meant {
            Some(pull) => (pull.number, pull.state, pull.head_branch.clone(), pull.head.clone()),
            None => match self.newest_of(&proposal, settings).await? {
                Some(pull) => (pull.number, pull.state, pull.head_branch, pull.head),
                None => return Ok(Err(format!("no upgrade of {cluster} was ever proposed here"))),
            },
        };
        if state != PullRequestState::Merged {
            return Ok(Err(format!(
                "#{number} is not merged: comment `rollback` on the merged upgrade that is to be taken back"
            )));
        }
        let (brought, base) = self.brought_by(&branch, &head).await?;
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

    /// The newest pull request that brought a proposal's changes: its own, or its group's.
    async fn newest_of(
        self,
        proposal: &ProposalId,
        settings: &RepositorySettings,
    ) -> Result<Option<EarlierPullRequest>, SyncError> {
        let by = settings.upgrade.proposals.group.as_ref().map(|group| &group.by);
        let home = carrier_of(proposal, by, (&Decisions::default(), Draft::Ready));
        let groups =
            self.facts.branches.keys().filter(|id| id.target.group().is_some() && id.kind == proposal.kind);
        let ids: BTreeSet<&ProposalId> = [proposal, &home].into_iter().chain(groups).collect();
        let by_branch: BTreeMap<String, &ProposalId> = ids.into_iter().map(|id| (id.branch(), id)).collect();
        let branches: Vec<String> = by_branch.keys().cloned().collect();
        let (host, base) = (&self.ports.host, &self.repository.default_branch);
        let found = host.newest_pull_requests(self.repository, &branches, Some(base)).await?;
        let brought = |pull: &EarlierPullRequest| {
            let Some(id) = by_branch.get(&pull.head_branch) else { return false };
            let block = Block::read(&pull.body, &self.ports.key, self.repository.id, pull.number, id);
            let parts = block.map(|block| block.parts).unwrap_or_default();
            *id == proposal || parts.iter().any(|part| part_id(id, part) == *proposal)
        };
        Ok(found.into_iter().filter(brought).max_by_key(|pull| pull.number))
    }

    /// The release that the last commit of Capstan's on a branch brought, and the commit that it was planned on.
    async fn brought_by(
        self,
        branch: &str,
        head: &CommitId,
    ) -> Result<(Option<ReleaseId>, Option<CommitId>), SyncError> {
        let mut commit = Some(head.clone());
        for _ in 0..MOST_COMMITS {
            let Some(at) = commit.take() else { break };
            let Some(snapshot) = self.snapshot(&at).await? else { break };
            let source = snapshot.trailers.source.as_deref().and_then(SourceState::parse);
            let is_own = source.is_some() && self.vouched(branch, &snapshot).await? == Vouched::Yes;
            let parent = snapshot.parents.into_iter().next();
            if let Some(source) = source.filter(|_| is_own) {
                return Ok((SourceId::release(source.source()), parent));
            }
            commit = parent;
        }
        Ok((None, None))
    }
}

/// The release that a cluster records in a snapshot.
fn recorded(tree: &dyn Tree, cluster: &ClusterId) -> Option<ReleaseId> {
    settings_in(tree, cluster)?.release
}
