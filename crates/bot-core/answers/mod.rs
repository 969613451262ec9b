//! How a request is answered: whether that needs a comment, when it is said, and what the audit trail says.

mod said;
mod shown;
#[cfg(test)]
mod tests;
mod turn;

pub use self::said::{in_one_line, said};
pub use self::shown::not_shown;
pub use self::turn::{AnswerTurn, AuditedCommand, audited, turn_of};
