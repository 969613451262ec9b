//! `retarget`: the upgrade may edit the names of templates in a cluster's overlay.

use std::collections::BTreeSet;

use capstan_plan::proposal::ProposalId;
use capstan_plan::verbs::Verb;
use capstan_report::{Answer, standing_answer};

use super::answering::{Answering, Asks, Each, MAX_PLANS, link};
use crate::requests::Request;

/// The proposals that may edit names in their overlay.
pub fn retargeted(requests: &[Request]) -> BTreeSet<ProposalId> {
    let asked = requests.iter().filter(|request| request.carries_out(Verb::Retarget));
    asked.flat_map(|request| request.rewritten.iter().cloned()).collect()
}

pub(super) fn answer<'a>(asked: &Answering<'a>) -> Result<Answer, Asks<'a>> {
    let each = Each { none: ", so there is no overlay to edit", most: MAX_PLANS, more: "" };
    asked.of_each(&each, |proposal, _| of_one(asked, proposal))
}

fn of_one(asked: &Answering<'_>, proposal: &ProposalId) -> Answer {
    let planned = asked.planned;
    let Some(one) = asked.outcome.proposals.get(proposal) else { return asked.missing(proposal) };
    let scope = planned.scopes.get(&proposal.target);
    let is_edited = scope
        .zip(planned.plan_of(proposal))
        .is_some_and(|(scope, upgrade)| upgrade.files.iter().any(|file| file.path.is_in(&scope.overlay)));
    let overlay = match (is_edited, one.pull) {
        (true, Some(_)) => {
            " Names in its overlay follow their templates; nothing else in its overlay changes."
        }
        (false, _) => " Its overlay does not change.",
        (true, None) => "",
    };
    let why = format!("{}{overlay}", one.why);
    let answer = standing_answer(proposal.target.path(), one.state, &why).with(&link(one));
    // The description shows which files of the overlay are edited; that none is shows nowhere.
    if is_edited && one.pull.is_some() { Answer::shown(answer.text()) } else { answer }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{comment, id};

    #[test]
    fn it_is_of_the_proposals_that_it_writes() {
        let retarget = Request {
            rewritten: vec![id("kiel/peu01")],
            ..comment(4, "ada", None, "/capstan retarget for kiel/peu01")
        };
        let other =
            Request { rewritten: vec![id("gauss/peu01")], ..comment(5, "ada", None, "/capstan replan") };
        assert_eq!(retargeted(&[retarget, other]).into_iter().collect::<Vec<_>>(), [id("kiel/peu01")]);
    }
}
