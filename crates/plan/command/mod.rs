//! Slash-commands: how comments are read, whose count, and how far.
//!
//! ```text
//! comment     = line*
//! command     = ( prefix | "@" app ) [ verb [ argument ] ] end-of-line      at the very start of a line
//! ```
//!
//! The text that an issue begins with is read so too, and as the form that asks for a new cluster ([`parse_issue`]).
//! Lines that GitHub shows as code, quotation or not at all are passed over. Whose commands are obeyed, and how far,
//! is decided here too ([`hear`], [`judge`], [`unseen`]). Deliberately absent: which verbs there are
//! ([`verbs`](crate::verbs)), and what a command does.

mod form;
mod hearing;
mod owners;
mod parse;
mod rights;
mod seen;
mod visible;

use crate::settings::CommandPrefix;
use crate::verbs::Verb;

pub use form::{CREATE_FORM, parse_issue};
pub use hearing::{CommentId, Hearing, Readers, Right, Wording, hear, is_just_after};
pub use owners::{CODE_OWNERS_FILES, CodeOwners};
pub use parse::{Address, CommandError, MAX_COMMANDS, parse};
pub use rights::{Asker, CommandPlace, Denied, RightsVerdict, Team, judge};
pub use seen::{Push, Unseen, unseen};

/// A text in a table's cell, where a bar ends the cell even inside a code span.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The answer to `help`, in Markdown.
pub fn help(prefix: &CommandPrefix) -> String {
    let mut text = String::from("| command | what it does | who may |\n|---|---|---|\n");
    for verb in Verb::ALL {
        let space = if verb.syntax().is_empty() { "" } else { " " };
        text.push_str(&format!(
            "| `{} {}{space}{}` | {} | {} |\n",
            cell(prefix.as_str()),
            verb.word(),
            cell(verb.syntax()),
            cell(verb.does()),
            cell(rights::by_default(verb.needs())),
        ));
    }
    text.push_str(
        "\nWrite a command at the start of its own line. `commands.permissions` in `.capstan.yaml` can change who may use a command; administrators may use all.\n",
    );
    text
}
