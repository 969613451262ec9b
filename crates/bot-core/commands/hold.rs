//! `hold`: a cluster is left alone, until a day or until `unhold`.

use capstan_plan::proposal::OnHold;
use capstan_plan::verbs::HoldArguments;
use capstan_report::{Answer, hold_in_words, shown};

use super::given::{CommandContext, NotedIn};

/// What people can do where nothing can be noted.
pub(super) const INSTEAD: &str = "`hold` in `overlay/capstan.yaml` of the cluster holds it back";

pub(super) fn hear(given: &mut CommandContext<'_>, held: &HoldArguments) -> Answer {
    let those = given.those();
    given.decide_each(&those, NotedIn::Apart { instead: INSTEAD }, |one| {
        let hold = OnHold::of(held, one.given.by());
        let of = held.cluster.as_ref().map_or_else(String::new, |cluster| format!(" for {cluster}"));
        let words = format!("{} `{} unhold{of}` undoes it.", hold_in_words(&hold), one.given.prefix());
        one.decisions().hold = Some(hold);
        shown(one.target(), &words)
    })
}

#[cfg(test)]
mod tests {
    use crate::proposals::{Outcome, ProposalOutcome};
    use crate::testing::{answered, hears, id, town};
    use capstan_report::ProposalState;

    #[test]
    fn a_cluster_is_held_until_a_day_or_until_it_is_taken_back() {
        hears(
            &town(),
            (3, "gauss/peu01"),
            &[
                (
                    "/capstan hold",
                    "held by ada, new",
                    "=`gauss/peu01`: On hold by `ada`. `/capstan unhold` undoes it.",
                ),
                (
                    "/capstan hold the audit until 2026-12-01",
                    "held by ada until 2026-12-01, new",
                    "=`gauss/peu01`: On hold by `ada` until 2026-12-01: the audit. `/capstan unhold` undoes it.",
                ),
            ],
        );
    }

    #[test]
    fn of_one_that_is_named_the_dashboard_notes_it() {
        hears(
            &town(),
            (9, "kiel/peu01"),
            &[
                (
                    "/capstan hold",
                    "",
                    "!This pull request is not one of Capstan's open proposals, so there is nothing to decide here; `for CLUSTER` names another one.",
                ),
                (
                    "/capstan hold for kiel/peu01",
                    "held by ada, new",
                    "#=`kiel/peu01`: On hold by `ada`. `/capstan unhold for kiel/peu01` undoes it.",
                ),
                (
                    "/capstan hold for kiel/peu09",
                    "",
                    "!`kiel/peu09`: there is no such cluster on the default branch.",
                ),
            ],
        );
    }

    #[test]
    fn an_answer_gives_the_decision_and_what_speaks_against_it() {
        for (state, told) in [
            (ProposalState::Held, false),
            (ProposalState::Proposed, false),
            (ProposalState::Edited, true),
            (ProposalState::Blocked, true),
            (ProposalState::Waiting, true),
            (ProposalState::Paused, true),
        ] {
            let mut outcome = Outcome::default();
            outcome.note(&[id("gauss/peu01")], &ProposalOutcome::new(state, "Something stands against it."));
            let answer = answered(&town(), 3, "/capstan hold", &outcome);
            assert_eq!(answer.contains("Something stands against it."), told, "{state:?}");
        }
    }
}
