//! `help`: the table of all commands.

use capstan_plan::command;
use capstan_report::Answer;

use super::answering::Answering;

pub(super) fn answer(asked: &Answering<'_>) -> Answer {
    Answer::info(command::help(asked.prefix()))
}
