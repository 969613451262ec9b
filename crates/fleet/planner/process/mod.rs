//! Planning in a process of its own: what a bot and its planning process say to each other, and the process' side.
//!
//! Whoever can open a pull request writes what is planned and rendered. Budgets stop what is too large, but a budget
//! that somebody forgot must not end the bot for everybody else: so that work is done in another process of the same
//! program, which has limits of memory and stack, no secret and no connection, and whose death is an answer.
//!
//! *Expected flow*: the bot writes a [`Request`] in one [frame], the process answers with any number of
//! [`Response`]s, the last of which [is the end](Response::is_end), and waits for the next request. It ends with its
//! input. Before it works on a target it says so: what was begun and not answered when it ended is to blame.
//!
//! Deliberately absent: starting and ending processes (`planner-process`).

pub mod frame;
mod messages;
mod sent;
mod serve;
mod tree_ref;

use std::sync::Arc;

use capstan_model::tree::{StoredTree, Tree};

pub use messages::{FleetRequest, Judging, Opened, Releases, Request, Response, SentUpgrade};
pub use serve::serve;
pub use tree_ref::{TreeRef, WrittenRelease};

/// How the process opens snapshots that the bot fetched.
pub trait StoredTrees {
    /// Opens one.
    ///
    /// # Errors
    /// It is not there, or cannot be listed; a sentence without a full stop.
    fn open(&mut self, stored: &StoredTree) -> Result<Arc<dyn Tree>, String>;

    /// Whether anything could not be read that should be there since this was asked last: an answer from a mirror that
    /// another took the place of is none. What is damaged is opened anew the next time.
    fn take_damage(&mut self) -> bool;
}
