//! `replan`: the proposal of the pull request is rebuilt, over people's commits.

use capstan_plan::proposal::ProposalCommand as Wish;
use capstan_report::Answer;

use super::answering::Answering;

/// What is wished of the proposal. That it was skipped is forgotten with it.
pub(super) const WISH: Wish = Wish::Replan;

pub(super) fn answer(asked: &Answering<'_>) -> Answer {
    asked.own_proposals().map_or_else(|refused| refused, |(_, answer)| answer)
}

#[cfg(test)]
mod tests {
    use crate::proposals::{Outcome, ProposalOutcome};
    use crate::testing::{answered, hears, id, town};
    use capstan_report::ProposalState;

    #[test]
    fn it_is_a_wish_of_the_proposal() {
        hears(&town(), (3, "gauss/peu01"), &[("/capstan replan", "wished Replan", "")]);
    }

    #[test]
    fn what_became_of_the_proposal_is_said() {
        for (state, expected) in [
            (ProposalState::Proposed, "=`gauss/peu01`: So it is."),
            (ProposalState::Refused, "!`gauss/peu01`: So it is."),
        ] {
            let mut outcome = Outcome::default();
            outcome.note(&[id("gauss/peu01")], &ProposalOutcome::new(state, "So it is."));
            let answer = answered(&town(), 3, "/capstan replan", &outcome);
            assert!(answer.starts_with(expected), "{answer}");
        }
    }

    #[test]
    fn a_pull_request_that_is_not_a_proposal_is_not_replanned() {
        let none = "!This pull request is not one of Capstan's proposals, so there is nothing to replan. Its check `capstan` shows how it changes clusters.";
        assert_eq!(answered(&town(), 9, "/capstan replan", &Outcome::default()), none);
        assert!(answered(&town(), 3, "/capstan replan", &Outcome::default()).starts_with("!`gauss/peu01`: "));
    }
}
