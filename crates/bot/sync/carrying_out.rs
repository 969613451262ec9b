//! Carries out decisions: opens, updates and closes pull requests.

use capstan_bot_core::planned::PlannedRun;
use capstan_bot_core::proposals::{
    CameOf, DecidedPull, Intent, Outcome, ProposalFailure, ProposalTurn, TurnDone, TurnStep, came_of,
    note_newcomers, turn_of,
};
use capstan_plan::proposal::ProposalId;
use futures_util::future::join_all;

use super::SyncError;
use super::ending::Ending;
use super::proposals::Proposals;
use crate::performing::{Branched, Published};
use capstan_budget::{Priority, at_priority, present_priority};

/// Branches that are updated at the same time. GitHub takes a hundred simultaneous requests; a run that used
/// many of them would delay others.
const BRANCHES_AT_A_TIME: usize = 8;

fn priority_of(turn: &ProposalTurn<'_>) -> Priority {
    if turn.is_new() { Priority::Proposal } else { present_priority() }
}

impl Proposals<'_> {
    /// Carries decisions out, in this order, which is also the order of pull request numbers. Their branches
    /// take most of the calls, so some are updated at the same time.
    pub(super) async fn carry_out(
        self,
        planned: PlannedRun<'_>,
        now: &[(&ProposalId, &DecidedPull)],
        (outcome, ending): (&mut Outcome, &mut Ending),
    ) -> Result<(), SyncError> {
        // Once the budget for new ones is spent, the following ones wait for it too.
        let mut spent: Option<String> = None;
        for some in now.chunks(BRANCHES_AT_A_TIME) {
            let time = self.clock.now();
            let turn = |one: &_| turn_of(planned, *one, spent.as_deref(), outcome, time);
            let turns: Vec<ProposalTurn<'_>> = some.iter().map(turn).collect();
            let branches = join_all(turns.iter().map(|turn| self.branch_for(turn))).await;
            for (turn, branch) in turns.iter().zip(branches) {
                // Once the budget is spent, a proposal whose branch is ready waits. One whose branch failed or ended
                // takes its turn, which reports why.
                let stands = matches!(&branch, Ok(Branched::Unchanged | Branched::Written(_)));
                let state = match turn.waits(spent.as_deref().filter(|_| stands)) {
                    Some(waits) => waits,
                    None => {
                        let came = self.take_turn(planned, turn, branch, (&mut *outcome, &mut *ending));
                        let CameOf { state, spent: new, .. } = came.await?;
                        spent = new.or(spent);
                        state
                    }
                };
                // Members of a group pull request that ended each have their own standing.
                outcome.note(&turn.decided.carried, &state);
                note_newcomers(self.facts, turn.proposal, turn.decided, &state, outcome);
            }
        }
        Ok(())
    }

    async fn branch_for(self, turn: &ProposalTurn<'_>) -> Result<Branched, SyncError> {
        let TurnStep::Publish(intent) = &turn.step else { return Ok(Branched::Unchanged) };
        for cluster in &intent.without_room {
            tracing::warn!(repository = %self.facts.repository.name, cluster = %cluster, "the record of a group is full: it has no room for the decisions about one of its clusters");
        }
        let work = self.publisher.bring_branch_up(intent);
        Box::pin(at_priority(priority_of(turn), work)).await
    }

    async fn take_turn(
        self,
        planned: PlannedRun<'_>,
        turn: &ProposalTurn<'_>,
        branch: Result<Branched, SyncError>,
        (outcome, ending): (&mut Outcome, &mut Ending),
    ) -> Result<CameOf, SyncError> {
        let work = self.perform(planned, turn, branch);
        let result = match Box::pin(at_priority(priority_of(turn), work)).await {
            Ok(done) => Ok(done),
            // What was repeated in vain is tried again by the next run; its neighbours go on.
            Err(error) => {
                let (failure, error) = self.publisher.failure_of((turn.proposal, "writing"), error).await?;
                // A refusal is remembered, and no failure of the run's.
                if !matches!(failure, ProposalFailure::Refused(_)) {
                    ending.keep(&failure, error);
                }
                Err(failure)
            }
        };
        let mut came = came_of(planned, turn, result, outcome, self.clock.now());
        self.performer.perform_all(std::mem::take(&mut came.effects)).await?;
        if came.again {
            ending.look_again();
        }
        Ok(came)
    }

    async fn perform(
        self,
        planned: PlannedRun<'_>,
        turn: &ProposalTurn<'_>,
        branch: Result<Branched, SyncError>,
    ) -> Result<TurnDone, SyncError> {
        let ProposalTurn { proposal, decided, .. } = *turn;
        match &turn.step {
            TurnStep::Publish(intent) => self.publish_intent(intent, branch).await.map(TurnDone::Published),
            TurnStep::Leave(standing) => {
                self.publisher.keep_decisions(planned, proposal, (standing, decided)).await
            }
            TurnStep::Close { pull: Some(pull), why, by, .. } => {
                let members = self.facts.members_of(proposal);
                self.publisher.close((proposal, &members), pull, why, *by).await?;
                Ok(TurnDone::Done)
            }
            TurnStep::Says(_) | TurnStep::Close { pull: None, .. } => Ok(TurnDone::Done),
        }
    }

    async fn publish_intent(
        self,
        intent: &Intent<'_>,
        branch: Result<Branched, SyncError>,
    ) -> Result<Published, SyncError> {
        let published = match branch? {
            Branched::Unchanged | Branched::Written(_) => self.publisher.publish(intent).await?,
            Branched::Ends(published) => published,
        };
        let told = match published {
            Published::Opened(number) => Some((number, "opened")),
            Published::Updated(number) => Some((number, "brought up to date")),
            Published::Unchanged(_) | Published::Refused(_) | Published::Overtaken => None,
        };
        if let Some((number, verb)) = told {
            tracing::info!(repository = %self.facts.repository.name, cluster = %intent.proposal, pull_request = number, source = %intent.offer.source, "pull request {verb}");
        }
        Ok(published)
    }
}
