//! What is done about a proposal whose turn it is, and the result.

use capstan_facts::PullRequest;
use capstan_model::rest::Rest;
use capstan_model::wording::sentence;
use capstan_plan::proposal::{Action, Closer, LeaveReason, ProposalCommand, ProposalId};
use capstan_plan::settings::Mode;
use capstan_report::ProposalState;
use jiff::Timestamp;

use super::deciding::DecidedPull;
use super::failure::ProposalFailure;
use super::intent::{Intent, intent};
use super::noting::kept_decisions;
use super::outcome::{Outcome, ProposalOutcome, Wrote};
use super::states::leave;
use crate::effects::{Effect, Published};
use crate::facts::{Write, refused_words};
use crate::planned::PlannedRun;

/// A proposal whose turn it is.
pub struct ProposalTurn<'a> {
    /// Which.
    pub proposal: &'a ProposalId,
    /// What was decided about it.
    pub decided: &'a DecidedPull,
    /// What is done.
    pub step: TurnStep<'a>,
}

/// What is done about a proposal.
pub enum TurnStep<'a> {
    /// Nothing: its state says why.
    Says(ProposalOutcome),
    /// It is left as it is; what people decided is written into its body.
    Leave(&'a LeaveReason),
    /// Its pull request is closed.
    Close {
        /// As it is, where it is open.
        pull: Option<&'a PullRequest>,
        /// Why, as a sentence.
        why: &'a str,
        /// Who ended it.
        by: Closer,
        /// What is true of its target then.
        rest: Rest,
    },
    /// A pull request is opened or brought up to date.
    Publish(Box<Intent<'a>>),
}

/// What performing a step gave.
#[derive(Debug, Clone)]
pub enum TurnDone {
    Done,
    /// GitHub refused what people decided about it before, and it is not tried again yet; its state.
    Refused(ProposalOutcome),
    /// The result for its pull request.
    Published(Published),
}

/// The result of a turn.
#[derive(Debug, Clone)]
pub struct CameOf {
    /// The state of the proposal.
    pub state: ProposalOutcome,
    /// What is remembered of it.
    pub effects: Vec<Effect>,
    /// Why other new proposals wait from now on.
    pub spent: Option<String>,
    /// Whether Capstan checks the proposal again soon.
    pub again: bool,
}

impl ProposalTurn<'_> {
    /// Whether a pull request would be opened that nobody asked for.
    pub fn is_new(&self) -> bool {
        is_new(self.decided)
    }

    /// What is said of a new proposal once the budget for these is spent: all wait for the same.
    pub fn waits(&self, spent: Option<&str>) -> Option<ProposalOutcome> {
        spent.filter(|_| self.is_new()).map(ProposalOutcome::waiting)
    }
}

fn is_new(decided: &DecidedPull) -> bool {
    decided.opens() && decided.command == ProposalCommand::None
}

/// What is done about a proposal whose turn it is. `spent` says why new ones wait, where they do.
pub fn turn_of<'a>(
    planned: PlannedRun<'a>,
    (proposal, decided): (&'a ProposalId, &'a DecidedPull),
    spent: Option<&str>,
    outcome: &Outcome,
    now: Timestamp,
) -> ProposalTurn<'a> {
    let turn = |step| ProposalTurn { proposal, decided, step };
    if let Some(why) = spent.filter(|_| is_new(decided)) {
        return turn(TurnStep::Says(ProposalOutcome::waiting(why)));
    }
    if planned.settings.mode == Mode::Observe && !matches!(decided.action, Action::Leave(_)) {
        let why = "The settings say `mode: observe`: no branch or pull request is written.";
        return turn(TurnStep::Says(ProposalOutcome::new(ProposalState::Observed, why)));
    }
    turn(match &decided.action {
        Action::Leave(standing) => TurnStep::Leave(standing),
        Action::Close { pull, why, by, rest } => {
            let pull = planned.facts.open_of_number(proposal, *pull);
            TurnStep::Close { pull, why, by: *by, rest: *rest }
        }
        Action::Open { .. } | Action::Update { .. } => match intent(planned, proposal, decided, outcome, now)
        {
            Some(intent) => TurnStep::Publish(Box::new(intent)),
            None => {
                TurnStep::Says(ProposalOutcome::new(ProposalState::Failed, "There is no plan to publish."))
            }
        },
    })
}

/// The result of a turn. A refusal by GitHub is remembered. It is forgotten once GitHub accepts the write, or Capstan
/// does not attempt it any more.
pub fn came_of(
    planned: PlannedRun<'_>,
    turn: &ProposalTurn<'_>,
    result: Result<TurnDone, ProposalFailure>,
    outcome: &mut Outcome,
    now: Timestamp,
) -> CameOf {
    let mut came =
        CameOf { state: ProposalOutcome::waiting(""), effects: Vec::new(), spent: None, again: false };
    let mut write = write_of(planned, turn).filter(|_| !matches!(result, Ok(TurnDone::Refused(_))));
    if write.is_some() && matches!((&turn.step, &result), (TurnStep::Leave(_), Ok(TurnDone::Done))) {
        outcome.wrote = Wrote::PullRequests;
    }
    came.state = match result {
        Ok(done) => {
            came.again = matches!(done, TurnDone::Published(Published::Overtaken));
            done_state(planned, turn, done, outcome)
        }
        Err(ProposalFailure::Refused(why)) if write.is_some() => {
            let refused = ProposalOutcome::refused(why);
            match turn.step {
                TurnStep::Leave(_) => done_state(planned, turn, TurnDone::Refused(refused), outcome),
                _ => refused,
            }
        }
        Err(failure) => {
            let state = outcome.fail(&turn.decided.carried, &failure);
            write = write.filter(|_| matches!(failure, ProposalFailure::Outside(_)));
            came.again = matches!(failure, ProposalFailure::Gone(_));
            match failure {
                ProposalFailure::BudgetSpent(why) => {
                    let why = sentence(&why);
                    came.spent = turn.is_new().then(|| why.clone());
                    ProposalOutcome::waiting(why)
                }
                _ => state,
            }
        }
    };
    let (facts, refusals) = (planned.facts, &planned.facts.refusals);
    let Some(write) = write else { return came };
    if came.state.state == ProposalState::Refused {
        let refused = refusals.refused(&write, facts.repository.id, &came.state.why, now);
        came.state.why = refused_words(&came.state.why, refused.not_before);
        let audited = Effect::Audit(write.refusal_audited(&refused));
        came.effects.extend([Effect::SaveRefusal(refused), audited]);
    } else if refusals.knows(&write) {
        came.effects.push(Effect::ForgetRefusal(write.what().to_owned()));
    }
    came
}

/// The write of a turn, if there is one.
fn write_of(planned: PlannedRun<'_>, turn: &ProposalTurn<'_>) -> Option<Write> {
    match &turn.step {
        TurnStep::Leave(standing) => {
            kept_decisions(planned, turn.proposal, (standing, turn.decided)).map(|(.., write)| write)
        }
        _ => turn.decided.write(turn.proposal),
    }
}

fn done_state(
    planned: PlannedRun<'_>,
    turn: &ProposalTurn<'_>,
    done: TurnDone,
    outcome: &mut Outcome,
) -> ProposalOutcome {
    let proposal = turn.proposal;
    match (&turn.step, done) {
        (TurnStep::Says(state), _) => state.clone(),
        (TurnStep::Leave(standing), done) => {
            let left = leave(&proposal.kind, standing, planned.settings, outcome);
            if let TurnDone::Refused(state) = done { state } else { left }
        }
        (TurnStep::Close { pull, why, by, rest }, _) => {
            if pull.is_some() {
                outcome.wrote = Wrote::PullRequests;
                if proposal.target.group().is_some() && *by == Closer::Capstan {
                    // The decisions about its clusters remain without it.
                    outcome.superseded.insert(proposal.clone());
                }
            }
            let state = match by {
                Closer::Capstan => ProposalState::from(*rest),
                Closer::Person => ProposalState::Declined,
            };
            ProposalOutcome::new(state, *why)
        }
        (
            TurnStep::Publish(intent),
            TurnDone::Published(Published::Opened(number) | Published::Updated(number)),
        ) => {
            outcome.wrote = Wrote::PullRequests;
            outcome.published(intent, number)
        }
        (TurnStep::Publish(intent), TurnDone::Published(Published::Unchanged(number))) => {
            outcome.published(intent, number)
        }
        (TurnStep::Publish(_), TurnDone::Published(Published::Refused(why))) => ProposalOutcome::refused(why),
        (TurnStep::Publish(intent), _) => outcome.overtaken(intent),
    }
}
