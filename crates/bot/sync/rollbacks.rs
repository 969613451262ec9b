//! The target of a rollback: from the commits of the merged upgrade, not from Capstan's records.

use capstan_bot_core::commands::{RollBacks, branches_of, newest_of, subject_of};
use capstan_bot_core::facts::{Scopes, settings_in};
use capstan_bot_core::proposals::HeadFacts;
use capstan_bot_core::requests::Request;
use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::source::SourceId;
use capstan_model::tree::Tree;
use capstan_plan::proposal::{Merged, ProposalId, RollBack, roll_back};
use capstan_plan::settings::RepositorySettings;
use capstan_plan::verbs::{Back, Command};

use super::{Run, SyncError};
use capstan_ports::{EarlierPullRequest, PullRequestState};

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
        let at = HeadFacts::on(self.facts, &branch, &head, None);
        let (source, base) = self.find_out(&at, HeadFacts::last_own).await?.unzip();
        let brought = source.and_then(|source| SourceId::release(source.source()));
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
}

/// The release that a cluster records in a snapshot.
fn recorded(tree: &dyn Tree, cluster: &ClusterId) -> Option<ReleaseId> {
    settings_in(tree, cluster)?.release
}
