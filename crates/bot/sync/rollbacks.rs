//! The target of a rollback: from the commits of the merged upgrade, not from Capstan's records.

use capstan_bot_core::commands::{RollBacks, branches_of, newest_of, subject_of};
use capstan_bot_core::facts::{Scopes, settings_in};
use capstan_bot_core::requests::Request;
use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::source::SourceId;
use capstan_model::tree::{CommitId, Tree};
use capstan_plan::proposal::{Merged, ProposalId, RollBack, SourceState, Vouched, roll_back};
use capstan_plan::settings::RepositorySettings;
use capstan_plan::verbs::{Back, Command};

use super::{Run, SyncError};
use capstan_ports::{EarlierPullRequest, PullRequestState};

/// People's commits that are examined on a branch.
const MOST_COMMITS: usize = 20;

impl Run<'_> {
    /// Finds the target of each requested rollback.
    pub(super) async fn find_rollbacks(
        self,
        requests: &[Request],
        (scopes, settings): (&Scopes, &RepositorySettings),
    ) -> Result<RollBacks, SyncError> {
        let mut found = RollBacks::default();
        for request in requests {
            for (at, command) in request.carried_out() {
                let Command::Rollback(back) = command else { continue };
                let asked = (command, back);
                found.note(request, at, self.rollback_of(request, asked, (scopes, settings)).await?);
            }
        }
        Ok(found)
    }

    async fn rollback_of(
        self,
        request: &Request,
        asked: (&Command, &Back),
        (scopes, settings): (&Scopes, &RepositorySettings),
    ) -> Result<Result<(ProposalId, RollBack), String>, SyncError> {
        let (proposal, cluster, meant) = match subject_of(self.facts, scopes, request, asked) {
            Ok(subject) => subject,
            Err(why) => return Ok(Err(why)),
        };
        let (number, state, branch, head) = match meant {
            Some(pull) => (pull.number, pull.state, pull.head_branch.clone(), pull.head.clone()),
            None => match self.newest_of(&proposal, settings).await? {
                Some(pull) => (pull.number, pull.state, pull.head_branch, pull.head),
                None => return Ok(Err(format!("no upgrade of {cluster} was ever proposed here"))),
            },
        };
        if state != PullRequestState::Merged {
            return Ok(Err(format!(
                "#{number} is not merged: comment `rollback` on the merged upgrade that you want to roll back"
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

    /// The newest pull request with a proposal's changes: its own, or its group's.
    async fn newest_of(
        self,
        proposal: &ProposalId,
        settings: &RepositorySettings,
    ) -> Result<Option<EarlierPullRequest>, SyncError> {
        let by_branch = branches_of(self.facts, proposal, settings);
        let branches: Vec<String> = by_branch.keys().cloned().collect();
        let (host, base) = (&self.ports.host, &self.repository.default_branch);
        let found = host.newest_pull_requests(self.repository, &branches, Some(base)).await?;
        Ok(newest_of(self.facts, proposal, &by_branch, found))
    }

    /// The release of Capstan's last commit on a branch, and the commit that it was planned on.
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
