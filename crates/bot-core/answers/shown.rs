//! Which answers need no comment: what is said shows where the command was given, in the check or in the description of
//! that pull request.

use capstan_facts::{PullRequest, PullRequestState};
use capstan_plan::verbs::{Command, Verb};
use capstan_report::{Answer, ProposalState};

use crate::commands::AnswerContext;
use crate::requests::Request;

/// The answers to the commands of a request that are shown nowhere else.
pub fn not_shown(told: AnswerContext<'_>, request: &Request, parts: &[Answer]) -> Vec<Answer> {
    let carried_out: Vec<(usize, &Command)> = request.carried_out().collect();
    let shows = |at: usize| {
        let command = carried_out.iter().find(|(place, _)| *place == at);
        command.is_some_and(|(_, command)| shows(told, request, (at, command)))
    };
    let parts = parts.iter().enumerate();
    parts.filter(|(at, part)| !(part.is_shown() && shows(*at))).map(|(_, part)| part.clone()).collect()
}

/// Whether the result of a command is visible on the pull request where it was given: that pull request carries all
/// that the command is about, and GitHub accepted what was written.
fn shows(told: AnswerContext<'_>, request: &Request, (at, command): (usize, &Command)) -> bool {
    let AnswerContext { planned, outcome, .. } = told;
    let facts = planned.facts;
    let is_here = |pull: &&PullRequest| pull.number == request.number;
    let Some(pull) = request.pull.as_ref().filter(is_here) else { return false };
    if pull.state != PullRequestState::Open || planned.decided.is_in_dashboard(request, at) {
        return false;
    }
    if command.verb() == Verb::Preflight {
        return true;
    }
    let those = facts.decided_by(planned.scopes, request, command);
    !those.is_empty()
        && those.iter().all(|proposal| {
            let carrier = facts.carrier(proposal).unwrap_or(proposal);
            let stands_here = facts.proposals.get(carrier).is_some_and(|open| is_here(&open));
            let written = outcome.proposals.get(proposal).is_none_or(|one| {
                one.state != ProposalState::Refused && one.pull.is_none_or(|number| number == pull.number)
            });
            stands_here && written
        })
}
