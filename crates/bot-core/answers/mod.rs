//! What is said to each command, whether it needs a comment, and when it is said.

mod kept;
mod parts;
mod said;
mod shown;
#[cfg(test)]
mod tests;
mod turn;

pub use self::kept::Kept;
pub use self::parts::{Asks, Concerned, Part, Told, part, retry_answer};
pub use self::said::{in_one_line, said};
pub use self::shown::untold;
pub use self::turn::{AnswerTurn, AuditedCommand, audited, turn_of};
