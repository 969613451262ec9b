//! Whether a request is answered now, and what the audit trail says of it.

use capstan_facts::AuditEntry;
use capstan_model::wording;
use capstan_plan::command::{CommandError, Hearing};
use capstan_plan::proposal::ProposalId;
use capstan_plan::verbs::{Command, Verb};
use capstan_report::Answer;

use super::said::in_one_line;
use crate::commands::AnswerContext;
use crate::facts::{Facts, Scopes};
use crate::proposals::Outcome;
use crate::requests::{DashboardWrite, Request, RequestId, RequestOrigin};

/// Characters of an answer in the audit trail.
const MOST_SAID: usize = 400;

/// Characters of a command in the audit trail.
const MOST_WRITTEN: usize = 200;

/// Whether a request is answered now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerTurn {
    /// It is.
    Now,
    /// It is, and what it asked for is done by the next run.
    NowAndAgain,
    /// It is not; answered now it would count as done, and the next run would not hear it.
    Later,
    /// It is not: it is answered elsewhere, or by a run that comes anyway.
    Elsewhere,
    /// The same, and the next run does what it asked for.
    ElsewhereAndAgain,
}

/// Says whether a request is answered now.
pub fn turn_of(told: AnswerContext<'_>, request: &Request) -> AnswerTurn {
    let AnswerContext { planned, outcome, kept } = told;
    let retries = request.carries_out(Verb::Retry);
    // Ticks are answered in the dashboard.
    if request.is_tick() {
        return if retries { AnswerTurn::ElsewhereAndAgain } else { AnswerTurn::Elsewhere };
    }
    // Its answer goes into the audit trail together with the dashboard; what is not noted yet waits for the next run.
    if request.is_of_page() {
        return if *kept == DashboardWrite::Later { AnswerTurn::Later } else { AnswerTurn::Elsewhere };
    }
    let is_noted = |(at, _): (usize, &Command)| planned.decided.is_in_dashboard(request, at);
    if *kept == DashboardWrite::Later && request.carried_out().any(is_noted) {
        return AnswerTurn::Elsewhere;
    }
    if is_overtaken(outcome, request) {
        return AnswerTurn::Elsewhere;
    }
    let is_undecided = |command: &Command| {
        let those = planned.facts.proposals_of(planned.scopes, request, command);
        those.iter().any(|one| outcome.undecided.contains(one))
    };
    if request.carried_out().any(|(_, command)| is_undecided(command))
        || outcome.postponed.contains(&request.id())
    {
        return AnswerTurn::Later;
    }
    if retries { AnswerTurn::NowAndAgain } else { AnswerTurn::Now }
}

/// Whether another write to a branch came first: the next run finds out which, and answers.
fn is_overtaken(outcome: &Outcome, request: &Request) -> bool {
    request.rewritten.iter().any(|proposal| outcome.overtaken.contains(proposal))
}

/// What became of one command, for the log and the audit trail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditedCommand {
    /// The command's word.
    pub word: &'static str,
    /// What became of it: a word of a closed set.
    pub action: &'static str,
    /// Where it was given.
    pub place: String,
    /// The head that it was given at.
    pub head: String,
    /// The lines of the audit trail.
    pub entries: Vec<AuditEntry>,
}

/// What the audit trail says of each command of a request, with what is said to each.
pub fn audited(facts: &Facts, scopes: &Scopes, request: &Request, answers: &[Answer]) -> Vec<AuditedCommand> {
    let carried_out: Vec<usize> = request.carried_out().map(|(at, _)| at).collect();
    let place = match request.id() {
        RequestId::Tick(_) => format!("a tick in #{}", request.number),
        id @ RequestId::Page(_) => format!("{id} on Capstan's page"),
        id => format!("{id} on #{}", request.number),
    };
    let head = request.pull.as_ref().map_or("-", |pull| pull.head.as_str());
    let at_head = request.pull.as_ref().map_or_else(String::new, |pull| format!(" at {}", pull.head));
    let one = |(at, command): (usize, &Result<Command, CommandError>)| {
        let (word, action, about): (_, _, Vec<ProposalId>) = match command {
            Err(_) => ("?", "command-unknown", facts.proposal_asked(request).into_iter().collect()),
            Ok(command) => {
                let action = if carried_out.contains(&at) {
                    let is_refusal = answers.get(at).is_some_and(Answer::is_refusal);
                    if is_refusal { "command-not-possible" } else { "command-carried-out" }
                } else if request.denied.contains_key(&at) {
                    "command-refused"
                } else {
                    match request.hearing {
                        Hearing::Edited => "command-edited",
                        Hearing::Obeyed => "command-overtaken",
                        Hearing::Refused | Hearing::Waved | Hearing::PassedOver => "command-refused",
                    }
                };
                (command.verb().word(), action, facts.proposals_of(scopes, request, command))
            }
        };
        let written = command.as_ref().map_or_else(CommandError::written, ToString::to_string);
        let given = shortened(&written);
        let entry = |proposal: Option<ProposalId>| AuditEntry {
            repository: facts.repository.id,
            proposal,
            actor: request.by.clone(),
            action,
            detail: match (&request.origin, answers.get(at)) {
                // Nobody answers it elsewhere.
                (RequestOrigin::Page(_), Some(answer)) => {
                    let said = in_one_line(std::slice::from_ref(answer), MOST_SAID);
                    format!("{given}, {place}: {said}")
                }
                _ => format!("{given}, {place}{at_head}"),
            },
        };
        let entries = if about.is_empty() {
            vec![entry(None)]
        } else {
            about.into_iter().map(|proposal| entry(Some(proposal))).collect()
        };
        AuditedCommand { word, action, place: place.clone(), head: head.to_owned(), entries }
    };
    request.commands.iter().enumerate().map(one).collect()
}

/// A command as people wrote it, for the audit trail: anybody may comment on a public repository.
fn shortened(command: &str) -> String {
    let mut left = command.chars();
    let kept: String = left.by_ref().take(MOST_WRITTEN).collect();
    let kept = wording::in_one_line(&kept);
    if left.next().is_some() { format!("{kept} …") } else { kept }
}
