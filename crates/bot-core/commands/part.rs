//! The answer to one command of a request: why it was not carried out, or what its file says.

use capstan_plan::command::Hearing;
use capstan_plan::verbs::Command;
use capstan_report::{
    Answer, Refusal, denied, edited_refusal, moved_refusal, not_noted, refusal, unexplained_refusal,
    unseen_refusal,
};

use super::answering::{AnswerContext, Answering, Asks, Concerned};
use super::catalogue;
use crate::requests::{DashboardWrite, Request};

#[derive(Debug, Clone)]
pub enum CommandAnswer<'a> {
    /// This is the answer.
    Says(Answer),
    /// Something has to be found out or done first.
    Asks(Asks<'a>),
}

/// The answer to one of a request's commands, by its place. `concerned` answers [`Asks::Concerned`].
pub fn part<'a>(
    AnswerContext { planned, outcome, kept }: AnswerContext<'a>,
    request: &'a Request,
    at: usize,
    concerned: Option<&'a Concerned>,
) -> CommandAnswer<'a> {
    let prefix = &planned.settings.commands.prefix;
    let command = match request.commands.get(at) {
        None => return CommandAnswer::Says(Answer::default()),
        Some(_) if request.hearing == Hearing::Edited => {
            return CommandAnswer::Says(edited_refusal(prefix.as_str()));
        }
        Some(Ok(command)) => command,
        Some(Err(error)) => {
            return CommandAnswer::Says(Answer::refused(Refusal::NotUnderstood, &error.answer(prefix)));
        }
    };
    let written = format!("{prefix} {}", command.verb().word());
    if !request.carried_out().any(|(place, _)| place == at) {
        return CommandAnswer::Says(not_carried_out(request, at, command, &written));
    }
    if let DashboardWrite::Not(why) = kept
        && let Some(instead) = planned.decided.instead_of_dashboard(request, at)
    {
        return CommandAnswer::Says(not_noted(&written, why, instead));
    }
    let asked = Answering { planned, outcome, request, at, command, concerned };
    catalogue::answer(&asked).map_or_else(CommandAnswer::Asks, CommandAnswer::Says)
}

/// Why a command is not carried out.
fn not_carried_out(request: &Request, at: usize, command: &Command, written: &str) -> Answer {
    match request.denied.get(&at) {
        Some(why) => denied(written, why),
        None if request.hearing != Hearing::Obeyed => refusal(written),
        None if command.commit().is_some() => moved_text(request, written),
        None => unseen_text(request, written),
    }
}

/// For a command that means a head which its author had not seen.
fn moved_text(request: &Request, command: &str) -> Answer {
    match (&request.moved, &request.pull) {
        (Some(moved), Some(pull)) => moved_refusal(command, &moved.branch, &pull.head, &moved.pushes),
        _ => refusal(command),
    }
}

/// For a command that is not carried out because of what its author had not seen.
fn unseen_text(request: &Request, command: &str) -> Answer {
    match &request.unseen {
        Some(unseen) if !unseen.pushes.is_empty() => unseen_refusal(command, &unseen.branch, &unseen.pushes),
        Some(unseen) => unexplained_refusal(command, &unseen.branch),
        None => refusal(command),
    }
}
