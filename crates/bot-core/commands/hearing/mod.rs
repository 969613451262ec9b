//! Decides which comments, buttons and orders are requests, and what happens at once to the others. It also finds what
//! the author of a request had not seen.

mod binding;
mod buttons;
mod comments;
mod orders;
#[cfg(test)]
mod tests;

pub use self::binding::{BindAnswers, BindFacts, BindNeed, MergeResult, bind};
pub use self::buttons::{line_of_press, press};
pub use self::comments::{
    CommentAnswers, CommentFacts, CommentNeed, HeardComment, eyes, hear, issues_to_read,
};
pub use self::orders::{OrderFacts, order, orders_of, refuse_order};
