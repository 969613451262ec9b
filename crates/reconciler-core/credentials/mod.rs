//! Application credentials of a cluster: made, renewed, taken away, with never a moment without a valid one.
//!
//! Owns the decision what comes next of one of them ([`Facts`]), and whether those who are given it inside of the cluster
//! work with it ([`is_taken_up`]), from what Keystone has, what the Secret names and which credential its consumers work
//! with; what stands in the Secrets, and what is said of them. Does not make them.
//!
//! *Guarantees*, after every single write, however often whoever performs them dies: what the Secret names is there and
//! has not ended; what a consumer works with is there until it works with the next one or that has ended, also where the
//! user who makes them is another one meanwhile; after the next pass Keystone has none that no Secret names.
//!
//! *Assumption*: one process at a time performs steps, and nobody else gives credentials names of this beginning.
//!
//! *Caveat*: Keystone shows a user's credentials to that user alone. Those of a user who makes none any more are left to
//! end by themselves.
//!
//! | file | owns |
//! |---|---|
//! | `asked` | which cluster asks for credentials of which cloud, and which Secrets are Capstan's then |
//! | `purpose` | the two credentials: names of their Secrets, and what lies in them |
//! | `secret` | what a Secret says of its credential |
//! | `consumers` | who works with it, of the objects of a management cluster |
//! | `taken_up` | who is given it inside of the cluster, and whether these work with it |
//! | `step` | what comes next |
//! | `told` | condition and status |
//! | `trouble` | why one is not made, renewed or taken away |

mod asked;
pub mod consumers;
mod purpose;
pub mod secret;
mod step;
mod taken_up;
#[cfg(test)]
mod tests;
mod told;
mod trouble;

pub use asked::{Asked, Subject, asked, bears_mark, opened, reserved};
pub use purpose::{Place, Purpose};
pub use secret::{Found, Inside};
pub use step::{Consumer, Facts, HandedOut, Rest, Step, Wish, Written, WrittenState, renewal};
pub use taken_up::{begin_with, is_taken_up};
pub use told::{Turn, remembered};
pub use trouble::Trouble;
