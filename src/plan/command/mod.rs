//! The grammar of slash-commands.
//!
//! ```text
//! comment     = line*
//! command     = prefix [ word ] end-of-line      at the very start of a line
//! ```
//!
//! Lines that GitHub shows as code, quotation or not at all are passed over. Whose commands are obeyed, and how far,
//! is decided here too ([`hear`], [`unseen`]). Deliberately absent: what a command does.

mod hearing;
mod parse;
mod seen;
mod visible;

use crate::settings::CommandPrefix;

pub use hearing::{Hearing, Right, Wording, hear, is_just_after};
pub use parse::{CommandError, MAX_COMMANDS, parse};
pub use seen::{Push, Unseen, unseen};

/// Declares every command once: a variant without its word and its meaning does not compile.
macro_rules! commands {
    ($($(#[$doc:meta])* $variant:ident: $word:literal, $does:literal;)*) => {
        /// What people can ask for in a comment.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Command {
            $($(#[$doc])* $variant,)*
        }

        impl Command {
            /// Whether it may write a proposal's branch anew.
            pub const fn rewrites(self) -> bool {
                matches!(self, Self::Replan | Self::Retarget)
            }

            /// Every command, as the help lists them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The word that asks for it.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// What it does, for the help.
            pub const fn does(self) -> &'static str {
                match self {
                    $(Self::$variant => $does,)*
                }
            }
        }
    };
}

commands! {
    /// Lists the commands.
    Help: "help", "lists the commands";
    /// Plans again and answers with the result; writes nothing to the branch.
    Plan: "plan", "plans the upgrade of this pull request's clusters and answers with what it would change; the branch stays as it is";
    /// Makes the proposal anew, over edits by people; offers a closed one again.
    Replan: "replan", "makes this proposal anew from the present base and release: commits of people on the branch are overwritten, and a closed proposal is offered again";
    /// Lets the upgrade edit the names of rotated templates in the overlay.
    Retarget: "retarget", "lets the upgrade edit, in this cluster's overlay, the names of templates that get a new name, and nothing else there";
}

/// The answer to `help`, in Markdown.
pub fn help(prefix: &CommandPrefix) -> String {
    let mut text = String::from("| command | what it does |\n|---|---|\n");
    for command in Command::ALL {
        text.push_str(&format!("| `{prefix} {}` | {} |\n", command.word(), command.does()));
    }
    text.push_str("\nA command stands at the start of a line of its own. It needs write permission to this repository.\n");
    text
}
