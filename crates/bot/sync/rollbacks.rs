//! Finds out what rollbacks have to know: from the commits of the merged upgrade, not from Capstan's records.

use capstan_bot_core::commands::{RollBackAsked, RollBackFound, RollBackNeed, RollBacks};
use capstan_bot_core::proposals::{HeadFacts, Step};
use capstan_bot_core::requests::{Ground, Request};
use capstan_plan::proposal::{ProposalId, RollBack};
use capstan_plan::verbs::Command;

use super::{Run, SyncError};

impl Run<'_> {
    /// Finds the target of each requested rollback.
    pub(super) async fn find_rollbacks(
        self,
        requests: &[Request],
        ground: Ground<'_>,
    ) -> Result<RollBacks, SyncError> {
        let mut found = RollBacks::default();
        for request in requests {
            for (at, command) in request.carried_out() {
                let Command::Rollback(back) = command else { continue };
                let asked = RollBackAsked { ground, request, command, back };
                found.note(request, at, self.rollback_of(asked).await?);
            }
        }
        Ok(found)
    }

    async fn rollback_of(
        self,
        asked: RollBackAsked<'_>,
    ) -> Result<Result<(ProposalId, RollBack), String>, SyncError> {
        let mut found = RollBackFound::default();
        loop {
            match asked.find(&found) {
                Step::Decided(back) => return Ok(back),
                Step::Ask(RollBackNeed::Newest(branches)) => {
                    let (host, base) = (&self.ports.host, &self.repository.default_branch);
                    let newest = host.newest_pull_requests(self.repository, &branches, Some(base)).await?;
                    found.newest = Some(newest);
                }
                Step::Ask(RollBackNeed::LastOwn { branch, head }) => {
                    let at = HeadFacts::on(self.facts, &branch, &head, None);
                    found.last_own = Some(self.find_out(&at, HeadFacts::last_own).await?);
                }
                Step::Ask(RollBackNeed::Commit(commit)) => {
                    found.before = Some(self.snapshot(&commit).await?);
                }
            }
        }
    }
}
