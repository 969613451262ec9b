//! Finds out what rollbacks have to know: from the commits of the merged upgrade, not from Capstan's records.

use capstan_bot_core::commands::{RollBackAsked, RollBackFound, RollBackNeed, RollBacks};
use capstan_bot_core::proposals::{DecisionStep, HeadFacts};
use capstan_bot_core::requests::{Ground, Request};
use capstan_plan::proposal::{ProposalId, RollBack};
use capstan_plan::verbs::Command;

use super::SyncError;
use super::heads::Heads;

/// Finds the target of each requested rollback.
pub(super) async fn find_rollbacks(
    heads: Heads<'_>,
    requests: &[Request],
    ground: Ground<'_>,
) -> Result<RollBacks, SyncError> {
    let mut found = RollBacks::default();
    for request in requests {
        for (at, command) in request.carried_out() {
            let Command::Rollback(back) = command else { continue };
            let asked = RollBackAsked { ground, request, command, back };
            found.note(request, at, rollback_of(heads, asked).await?);
        }
    }
    Ok(found)
}

async fn rollback_of(
    heads: Heads<'_>,
    asked: RollBackAsked<'_>,
) -> Result<Result<(ProposalId, RollBack), String>, SyncError> {
    let mut found = RollBackFound::default();
    loop {
        match asked.find(&found) {
            DecisionStep::Decided(back) => return Ok(back),
            DecisionStep::Ask(RollBackNeed::Newest(branches)) => {
                found.newest = Some(heads.newest_to_default(&branches).await?);
            }
            DecisionStep::Ask(RollBackNeed::LastOwn { branch, head }) => {
                let at = HeadFacts::on(heads.commits.facts, &branch, &head, None);
                found.last_own = Some(heads.find_out(&at, HeadFacts::last_own).await?);
            }
            DecisionStep::Ask(RollBackNeed::Commit(commit)) => {
                found.before = Some(heads.commits.snapshot(&commit).await?);
            }
        }
    }
}
