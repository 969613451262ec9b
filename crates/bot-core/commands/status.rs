//! `status`: the state of the repository, then of each cluster's proposal.

use capstan_plan::proposal::ProposalId;
use capstan_report::markdown::prose;
use capstan_report::{Answer, ProposalState, Status, approvals_in_words, pause_in_words, status_answer};

use super::answering::{Answering, Asks, Each, MAX_STATUSES};

pub(super) fn answer<'a>(asked: &Answering<'a>) -> Result<Answer, Asks<'a>> {
    let pause = asked.planned.decided.pause().map(pause_in_words);
    let pause = pause.map(|pause| Answer::info(format!("{}\n", prose(&pause, 600)))).unwrap_or_default();
    let each = Each { none: "", most: MAX_STATUSES, more: "" };
    let all = asked.of_each(&each, |proposal, _| {
        asked.outcome.shown_of(proposal).iter().map(|one| of_one(asked, one)).collect()
    });
    all.map(|all| pause.and(all))
}

fn of_one(asked: &Answering<'_>, proposal: &ProposalId) -> Answer {
    let (planned, outcome) = (asked.planned, asked.outcome);
    let facts = planned.facts;
    let missing = planned.missing(proposal);
    let became = outcome.proposals.get(proposal);
    let judged = outcome.judged.get(facts.carrier(proposal).unwrap_or(proposal));
    status_answer(&Status {
        target: proposal.target.path(),
        kind: &proposal.kind,
        state: became.map_or(ProposalState::Unknown, |one| one.state),
        why: became.map_or(missing.as_str(), |one| one.why.as_str()),
        upgrade: match planned.plans.get(proposal) {
            Some(Ok(upgrade)) => Ok(upgrade.as_ref()),
            Some(Err(why)) => Err(why),
            None => Err(&missing),
        },
        pull: facts.pull_of(proposal).map(|pull| pull.number),
        decisions: &planned.decided.of(proposal),
        approvals: &judged.map(|judged| approvals_in_words(&judged.approved)).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use crate::proposals::Outcome;
    use crate::testing::{Case, answered, id, town};
    use capstan_plan::proposal::{Decisions, OnHold, Paused};
    use capstan_report::DashboardRecord;
    use jiff::civil::date;

    #[test]
    fn every_status_mentions_a_pause() {
        let pause = Paused { by: "ada".to_owned(), reason: None, since: date(2026, 3, 1) };
        let record = DashboardRecord { pause: Some(pause), ..DashboardRecord::default() };
        let case = Case { record, ..town() };
        let answer = answered(&case, 0, "/capstan status for gauss/peu01", &Outcome::default());
        assert!(answer.starts_with("Paused by `ada` since 2026-03-01."), "{answer}");
    }

    #[test]
    fn it_tells_of_a_hold() {
        let hold = OnHold { by: "ada".to_owned(), reason: None, until: None };
        let decisions = vec![(id("kiel/peu01"), Decisions { hold: Some(hold), ..Decisions::default() })];
        let record = DashboardRecord { decisions, ..DashboardRecord::default() };
        let case = Case { record, ..town() };
        let answer = answered(&case, 0, "/capstan status for kiel/peu01", &Outcome::default());
        assert!(answer.contains("On hold by `ada`"), "{answer}");
    }
}
