//! The dashboard issue: which one counts, whose word a tick is, what there is to tell, and what is noted in it.

mod board;
mod keep;
#[cfg(test)]
mod keep_tests;
mod step;
#[cfg(test)]
mod step_tests;
#[cfg(test)]
mod tests;
mod ticks;

pub use self::board::{Board, DashboardState, choose, newer_record, reading_of, record_of};
pub use self::step::{
    AnsweredRequests, DashboardStep, DesiredIssue, Keeping, disabled, duplicate, in_trouble, keep, refused,
    with_notice,
};
pub use self::ticks::{
    DashboardEdit, Editor, TickedBoxes, by_others, edited, late, said_to_lost, tick_requests, whose,
    written_over,
};
