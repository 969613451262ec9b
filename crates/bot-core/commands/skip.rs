//! `skip`: a release is not offered to a cluster again. Without a name the proposal of the pull request is closed; for a named
//! cluster, or one of a shared pull request, that is noted.

use capstan_plan::proposal::{ProposalCommand as Wish, Skipped, offer_name};
use capstan_plan::verbs::OfCluster;
use capstan_report::{Answer, ProposalState, Refusal, about, refused};

use super::answering::Answering;
use super::given::{CommandContext, Deciding, NotedIn};

/// What is wished of the proposal.
pub(super) const WISH: Wish = Wish::Skip;

const NOTED: NotedIn =
    NotedIn::Apart { instead: "`upgrade.fields` in `.capstan.yaml` sets who owns a field" };

pub(super) fn hear(given: &mut CommandContext<'_>, OfCluster(named): &OfCluster) -> Option<Answer> {
    if named.is_none() && !given.request.is_tick() && !given.is_ended {
        return None;
    }
    let those = given.those();
    Some(given.decide_each(&those, NOTED, decide))
}

fn decide(one: &mut Deciding<'_, '_>) -> Answer {
    let (target, facts) = (one.target(), one.given.ground.facts);
    // A pull request with this cluster alone is closed.
    let alone = facts.carrier(one.proposal).filter(|id| facts.members_of(id) == [one.proposal.clone()]);
    if let Some(id) = alone {
        one.given.decided.wish_of(id.clone(), WISH);
        return Answer::default();
    }
    let nothing = |why: &str| refused(target, why, Refusal::NothingThere);
    let Some(upgrade) = one.upgrade() else {
        return nothing("It has no plan now, so there is nothing to skip.");
    };
    let Some(source) = offer_name(upgrade) else {
        return nothing("Nothing is offered to it, so there is nothing to skip.");
    };
    let words = format!(
        "Capstan does not offer `{source}` to it again, only a newer one. `{} unskip for {}` undoes it.",
        one.given.prefix(),
        for_word(target)
    );
    let by = one.given.by().to_owned();
    one.decisions().skipped = Some(Skipped { source, by });
    about(target, &words)
}

/// A cluster's folder as `for` takes it.
fn for_word(target: &str) -> String {
    if target.contains('/') { target.to_owned() } else { format!("./{target}") }
}

pub(super) fn answer(asked: &Answering<'_>, OfCluster(named): &OfCluster) -> Answer {
    let said = asked.said_at_once();
    let is_heard = asked.planned.decided.answer(asked.request, asked.at).is_some();
    if named.is_some() || is_heard {
        // That it is declined is what was answered.
        let mut said_already = vec![ProposalState::Held, ProposalState::Proposed];
        said_already.extend((!said.is_empty()).then_some(ProposalState::Declined));
        return asked.decided_but(&said_already);
    }
    let (proposals, answer) = match asked.own_proposals() {
        Ok(own) => own,
        Err(refused) => return refused,
    };
    // That nothing is open then is what was asked for, and the description says why.
    let is_declined =
        |one| asked.outcome.proposals.get(one).is_some_and(|one| one.state == ProposalState::Declined);
    if proposals.iter().all(is_declined) { Answer::shown(answer.text()) } else { Answer::info(answer.text()) }
}

#[cfg(test)]
mod tests {
    use crate::proposals::{Outcome, ProposalOutcome};
    use crate::testing::{Case, V21, V22, answered, heard, hears, id, town, upgrade};
    use capstan_plan::upgrade::Upgrade;
    use capstan_report::ProposalState;

    #[test]
    fn of_the_proposal_it_is_a_wish_and_of_one_that_is_named_it_is_noted() {
        hears(
            &town(),
            (3, "gauss/peu01"),
            &[("/capstan skip", "wished Skip", ""), ("/capstan skip for gauss/peu01", "wished Skip", "")],
        );
    }

    #[test]
    fn what_is_named_is_skipped_in_the_dashboard() {
        hears(
            &town(),
            (9, "kiel/peu01"),
            &[
                (
                    "/capstan skip for kiel/peu01",
                    "skipped aws/v22.0.0 by ada, new",
                    "#`kiel/peu01`: Capstan does not offer `aws/v22.0.0` to it again, only a newer one. `/capstan unskip for kiel/peu01` undoes it.",
                ),
                (
                    "/capstan skip for kiel/peu09",
                    "",
                    "!`kiel/peu09`: there is no such cluster on the default branch.",
                ),
            ],
        );
    }

    #[test]
    fn what_is_skipped_must_be_offered() {
        let blocked = Upgrade { to: None, ..upgrade("kiel/peu01", V21, V22) };
        for (case, answer) in [
            (
                Case::new().current("kiel/peu01"),
                "!`kiel/peu01`: Nothing is offered to it, so there is nothing to skip.",
            ),
            (
                Case::new().plan("kiel/peu01", Ok(blocked)),
                "!`kiel/peu01`: Nothing is offered to it, so there is nothing to skip.",
            ),
            (
                Case::new().plan("kiel/peu01", Err("no.")),
                "!`kiel/peu01`: It has no plan now, so there is nothing to skip.",
            ),
        ] {
            let (decided, said) = heard(&case, 0, "/capstan skip for kiel/peu01", "kiel/peu01");
            assert_eq!((decided.as_str(), said.trim_start_matches('#')), ("", answer));
        }
    }

    #[test]
    fn skipping_the_last_cluster_of_a_shared_pull_request_closes_it() {
        let case = Case::new().offered("gauss/peu01").shared(3, "group://gauss", 'a', &["gauss/peu01"]);
        for (target, decided) in [("group://gauss", "wished Skip"), ("gauss/peu01", "")] {
            let found = heard(&case, 3, "/capstan skip for gauss/peu01", target);
            assert_eq!(found, (decided.to_owned(), String::new()), "{target}");
        }
    }

    #[test]
    fn that_nothing_is_open_then_is_what_was_asked_for() {
        for (state, expected) in [
            (ProposalState::Declined, "=`gauss/peu01`: So it is."),
            (ProposalState::Proposed, "`gauss/peu01`: So it is."),
        ] {
            let mut outcome = Outcome::default();
            outcome.note(&[id("gauss/peu01")], &ProposalOutcome::new(state, "So it is."));
            let answer = answered(&town(), 3, "/capstan skip", &outcome);
            assert_eq!(answer, expected, "{state:?}");
        }
    }

    #[test]
    fn a_cluster_in_the_root_is_named_as_for_takes_it() {
        assert_eq!(super::for_word("gauss/peu01"), "gauss/peu01");
        assert_eq!(super::for_word("peu01"), "./peu01");
    }
}
