//! What is said to each command, whether it needs a comment, and when it is said.

mod in_one_line;
mod kept;
mod parts;
mod shown;
#[cfg(test)]
mod tests;
mod turn;

pub use self::in_one_line::{in_one_line, told_once};
pub use self::kept::Kept;
pub use self::parts::{Asks, Concerned, Part, Told, part, retry_answer};
pub use self::shown::untold;
pub use self::turn::{AnswerTurn, AuditedCommand, audited, turn_of};
