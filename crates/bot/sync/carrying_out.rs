//! Carries out decisions: opens, updates and closes pull requests.

use std::collections::BTreeMap;

use capstan_bot_core::planned::Planned;
use capstan_bot_core::proposals::{
    DecidedPull, Intent, Outcome, ProposalOutcome, Wrote, intent, leave, note_newcomers,
};
use capstan_model::rest::Rest;
use capstan_model::wording::sentence;
use capstan_plan::proposal::{Action, Closer, Command, ProposalId, Standing};
use capstan_plan::settings::Mode;
use capstan_report::ProposalState;
use futures_util::future::join_all;

use super::{Ending, Run, SyncError, fail};
use crate::performing::{Branched, Published};
use capstan_budget::{Priority, at_priority, present_priority};
use capstan_ports::PullRequest;

/// Branches that are updated at the same time. GitHub takes a hundred simultaneous requests; a run that used
/// many of them would delay others.
const BRANCHES_AT_A_TIME: usize = 8;

/// One proposal whose turn it is.
struct ProposalTurn<'a> {
    proposal: &'a ProposalId,
    decided: &'a DecidedPull,
    step: TurnStep<'a>,
}

/// What to do about it.
enum TurnStep<'a> {
    /// Nothing: the reason is its state.
    Says(ProposalOutcome),
    /// The pull request is not updated.
    Leave(&'a Standing),
    /// Its pull request is closed.
    Close { pull: u64, why: &'a str, by: Closer, rest: Rest },
    /// A pull request is opened or updated.
    Publish(Box<Intent<'a>>),
}

/// Whether it does not exist yet, and nobody asked for it.
fn is_new(decided: &DecidedPull) -> bool {
    decided.opens() && decided.command == Command::None
}

fn priority_of(decided: &DecidedPull) -> Priority {
    if is_new(decided) { Priority::Proposal } else { present_priority() }
}

impl Run<'_> {
    /// Carries decisions out, in this order, which is also the order of pull request numbers. Their branches
    /// take most of the calls, so some are updated at the same time.
    pub(super) async fn carry_out(
        self,
        planned: Planned<'_>,
        decided: &BTreeMap<ProposalId, DecidedPull>,
        now: &[ProposalId],
        (outcome, ending): (&mut Outcome, &mut Ending),
    ) -> Result<(), SyncError> {
        // Once the budget for new ones is spent, the following ones wait for it too.
        let mut spent: Option<String> = None;
        for some in now.chunks(BRANCHES_AT_A_TIME) {
            let some = some.iter().filter_map(|id| decided.get_key_value(id));
            let turns: Vec<ProposalTurn<'_>> = some
                .map(|(proposal, decided)| self.turn_of(planned, (proposal, decided), &spent, outcome))
                .collect();
            let branches = join_all(turns.iter().map(|turn| self.branch_for(turn))).await;
            for (turn, branch) in turns.iter().zip(branches) {
                let state = match (&spent, &branch) {
                    // A branch that is up to date waits for its pull request; each of its errors is reported
                    // by itself.
                    (Some(why), Ok(Branched::Stands | Branched::Written(_))) if is_new(turn.decided) => {
                        ProposalOutcome::waiting(why.clone())
                    }
                    _ => {
                        let so_far = (&mut *outcome, &mut *ending);
                        self.take_turn(planned, turn, branch, &mut spent, so_far).await?
                    }
                };
                // Members of a group pull request that ended each have their own standing.
                outcome.note(&turn.decided.carried, &state);
                note_newcomers(self.facts, turn.proposal, turn.decided, &state, outcome);
            }
        }
        Ok(())
    }

    fn turn_of<'a>(
        &'a self,
        planned: Planned<'a>,
        (proposal, decided): (&'a ProposalId, &'a DecidedPull),
        spent: &Option<String>,
        outcome: &Outcome,
    ) -> ProposalTurn<'a> {
        let turn = |step| ProposalTurn { proposal, decided, step };
        if is_new(decided)
            && let Some(why) = spent
        {
            return turn(TurnStep::Says(ProposalOutcome::waiting(why.clone())));
        }
        if planned.settings.mode == Mode::Observe && !matches!(decided.action, Action::Leave(_)) {
            let why = "The settings say `mode: observe`: no branch or pull request is written.";
            return turn(TurnStep::Says(ProposalOutcome::new(ProposalState::Observed, why)));
        }
        let (number, branch) = match &decided.action {
            Action::Leave(standing) => return turn(TurnStep::Leave(standing)),
            Action::Close { pull, why, by, rest } => {
                return turn(TurnStep::Close { pull: *pull, why, by: *by, rest: *rest });
            }
            Action::Open { branch } => (None, branch.clone()),
            Action::Update { pull, branch } => (Some(*pull), branch.clone()),
        };
        let pull = number.and_then(|number| self.pull(proposal, number));
        let now = self.ports.clock.now();
        turn(match intent(planned, proposal, decided, (branch, pull), outcome, now) {
            Some(intent) => {
                for cluster in &intent.without_room {
                    tracing::warn!(repository = %self.repository.name, cluster = %cluster, "the record of a group is full: it has no room for the decisions about one of its clusters");
                }
                TurnStep::Publish(Box::new(intent))
            }
            None => {
                TurnStep::Says(ProposalOutcome::new(ProposalState::Failed, "There is no plan to publish."))
            }
        })
    }

    async fn branch_for(&self, turn: &ProposalTurn<'_>) -> Result<Branched, SyncError> {
        match &turn.step {
            TurnStep::Publish(intent) => {
                let work = self.bring_branch_up(intent);
                Box::pin(at_priority(priority_of(turn.decided), work)).await
            }
            TurnStep::Says(_) | TurnStep::Leave(_) | TurnStep::Close { .. } => Ok(Branched::Stands),
        }
    }

    async fn take_turn(
        self,
        planned: Planned<'_>,
        turn: &ProposalTurn<'_>,
        branch: Result<Branched, SyncError>,
        spent: &mut Option<String>,
        (outcome, ending): (&mut Outcome, &mut Ending),
    ) -> Result<ProposalOutcome, SyncError> {
        let ProposalTurn { proposal, decided, .. } = turn;
        let work = self.perform(planned, turn, branch, (&mut *outcome, &mut *ending));
        let state = Box::pin(at_priority(priority_of(turn.decided), work)).await;
        match self.settled(proposal, decided, state, ending).await {
            Err(error) if error.budget().is_some() => {
                let why = sentence(&error.to_string());
                if is_new(decided) {
                    *spent = Some(why.clone());
                }
                fail(outcome, ending, &decided.carried, error);
                Ok(ProposalOutcome::waiting(why))
            }
            // The next run tries again; the others continue.
            Err(error) if error.is_of_one() => {
                tracing::warn!(repository = %self.repository.name, cluster = %proposal, error = %error, "the proposal could not be written");
                Ok(fail(outcome, ending, &decided.carried, error))
            }
            state => state,
        }
    }

    async fn perform(
        self,
        planned: Planned<'_>,
        turn: &ProposalTurn<'_>,
        branch: Result<Branched, SyncError>,
        (outcome, ending): (&mut Outcome, &mut Ending),
    ) -> Result<ProposalOutcome, SyncError> {
        let ProposalTurn { proposal, decided, .. } = turn;
        match &turn.step {
            TurnStep::Says(state) => Ok(state.clone()),
            TurnStep::Publish(intent) => self.publish_intent(intent, branch, (outcome, ending)).await,
            TurnStep::Leave(standing) => {
                let so_far = (&mut *outcome, ending);
                let refused = self.keep_decisions(planned, proposal, (standing, decided), so_far).await?;
                let left = leave(&proposal.kind, standing, planned.settings, outcome);
                Ok(refused.unwrap_or(left))
            }
            TurnStep::Close { pull, why, by, rest } => {
                if let Some(pull) = self.pull(proposal, *pull) {
                    let members = self.facts.members_of(proposal);
                    self.close((proposal, &members), pull, why, *by).await?;
                    outcome.wrote = Wrote::PullRequests;
                    if proposal.target.group().is_some() && *by == Closer::Capstan {
                        // Decisions about its clusters continue without it.
                        outcome.superseded.insert((*proposal).clone());
                    }
                }
                let state = match by {
                    Closer::Capstan => ProposalState::from(*rest),
                    Closer::Person => ProposalState::Declined,
                };
                Ok(ProposalOutcome::new(state, *why))
            }
        }
    }

    async fn publish_intent(
        self,
        intent: &Intent<'_>,
        branch: Result<Branched, SyncError>,
        (outcome, ending): (&mut Outcome, &mut Ending),
    ) -> Result<ProposalOutcome, SyncError> {
        let published = match branch {
            Ok(Branched::Stands | Branched::Written(_)) => self.publish(intent).await,
            Ok(Branched::Ends(published)) => Ok(published),
            Err(error) => Err(error),
        };
        match published {
            Ok(published) => Ok(self.published(intent, published, (outcome, ending))),
            // A problem with one proposal does not affect the others: the run continues, and reports it at
            // its end.
            Err(error @ SyncError::Outside(_)) => {
                tracing::error!(repository = %self.repository.name, cluster = %intent.proposal, error = %error, "the proposal could not be published");
                let why = error.to_string();
                ending.fail(error);
                Ok(ProposalOutcome::new(ProposalState::Failed, why))
            }
            Err(error) => Err(error),
        }
    }

    fn published(
        self,
        intent: &Intent<'_>,
        published: Published,
        (outcome, ending): (&mut Outcome, &mut Ending),
    ) -> ProposalOutcome {
        let Intent { proposal, offer, .. } = *intent;
        let (number, verb) = match published {
            Published::Opened(number) => (number, Some("opened")),
            Published::Updated(number) => (number, Some("brought up to date")),
            Published::Unchanged(number) => (number, None),
            Published::Refused(why) => return ProposalOutcome::refused(why),
            Published::Overtaken => {
                ending.look_again();
                return outcome.overtaken(intent);
            }
        };
        if let Some(verb) = verb {
            outcome.wrote = Wrote::PullRequests;
            tracing::info!(repository = %self.repository.name, cluster = %proposal, pull_request = number, source = %offer.source, "pull request {verb}");
        }
        outcome.published(intent, number)
    }

    fn pull(&self, proposal: &ProposalId, number: u64) -> Option<&PullRequest> {
        self.facts.open_proposal(proposal).filter(|pull| pull.number == number)
    }
}
