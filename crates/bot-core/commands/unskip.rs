//! `unskip`: what was skipped or closed is offered again.

use capstan_plan::proposal::ProposalCommand as Wish;
use capstan_report::Answer;

use super::answering::Answering;
use super::given::CommandContext;

/// What is wished of the proposal.
pub(super) const WISH: Wish = Wish::Offer;

pub(super) fn hear(given: &mut CommandContext<'_>) {
    for proposal in given.ground.facts.proposals_of(given.ground.scopes, given.request, given.command) {
        given.decided.forget_skip(&proposal);
        given.decided.wish_of(proposal, WISH);
    }
}

pub(super) fn answer(asked: &Answering<'_>) -> Answer {
    // The pull request of the comment is closed, so it does not show that another one is open.
    asked.own_proposals().map_or_else(|refused| refused, |(_, answer)| Answer::info(answer.text()))
}

#[cfg(test)]
mod tests {
    use crate::proposals::{Outcome, ProposalOutcome};
    use crate::testing::{Case, V22, answered, heard, hears, id, town};
    use capstan_plan::proposal::{Decisions, Skipped};
    use capstan_report::{DashboardRecord, ProposalState};

    #[test]
    fn it_is_offered_again() {
        hears(&town(), (3, "gauss/peu01"), &[("/capstan unskip", "wished Offer", "")]);
    }

    #[test]
    fn of_one_that_is_named_it_is_offered_too() {
        hears(&town(), (9, "kiel/peu01"), &[("/capstan unskip for kiel/peu01", "wished Offer", "")]);
    }

    #[test]
    fn what_was_skipped_is_forgotten() {
        let skipped = Skipped { source: V22.to_owned(), by: "eve".to_owned() };
        let decisions =
            vec![(id("kiel/peu01"), Decisions { skipped: Some(skipped), ..Decisions::default() })];
        let record = DashboardRecord { decisions, ..DashboardRecord::default() };
        let (decided, _) =
            heard(&Case { record, ..town() }, 0, "/capstan unskip for kiel/peu01", "kiel/peu01");
        assert_eq!(decided, "wished Offer, new");
    }

    #[test]
    fn the_answer_says_that_the_proposal_is_open() {
        for (state, expected) in [
            (ProposalState::Proposed, "`gauss/peu01`: So it is."),
            (ProposalState::Edited, "`gauss/peu01`: So it is."),
        ] {
            let mut outcome = Outcome::default();
            outcome.note(&[id("gauss/peu01")], &ProposalOutcome::new(state, "So it is."));
            let answer = answered(&town(), 3, "/capstan unskip", &outcome);
            assert!(answer.starts_with(expected), "{answer}");
        }
    }
}
