//! Application credentials of a cluster: made, renewed, taken away, with never a moment without a valid one.
//!
//! Owns the decision what comes next of one of them ([`next_step`]), and whether those who are given it inside of the cluster
//! work with it ([`is_taken_up`]), from what Keystone has, what the Secret names and
//! which credential its consumers work with. Does not make them, and sees no secret: who performs a step makes a
//! credential and writes it into the Secret, and may die in between.
//!
//! *Guarantees*, after every single write, however often whoever performs them dies: what the Secret names is there and
//! has not ended; what a consumer works with is there until it works with the next one or that has ended, also where the
//! user who makes them is another one meanwhile; after the next pass Keystone has none that no Secret names.
//!
//! *Assumption*: one process at a time performs steps, and nobody else gives credentials names of this beginning.
//!
//! *Caveat*: Keystone shows a user's credentials to that user alone. Those of a user who makes none any more are left to
//! end by themselves.

mod inside;
mod step;
#[cfg(test)]
mod tests;

pub use inside::{begin_with, is_taken_up};
pub use step::{Consumer, Facts, HandedOut, Issued, Step, Wish, Written, WrittenState, next_step, renewal};
