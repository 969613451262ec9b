//! Planning in a process of its own: what a bot and its planning process say to each other, and the process' side.
//!
//! Anybody who can open a pull request writes what is planned and rendered. Budgets stop what is too large. But a
//! missing budget must not end the bot for everybody: so another process of the same program does that work. It has
//! limits of memory and stack, no secret and no connection, and its death counts as an answer.
//!
//! *Expected flow*: the bot writes a [`PlannerRequest`] in one [frame], the process answers with any number of
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

pub use messages::{FleetRequest, Judging, OpenedFleet, PlannerRequest, Releases, Response, SentUpgrade};
pub use serve::serve;
pub use tree_ref::{TreeRef, WrittenRelease};

/// How the process opens snapshots that the bot fetched.
pub trait StoredTrees {
    /// Opens one.
    ///
    /// # Errors
    /// It is not there, or cannot be listed; a sentence without a full stop.
    fn open(&mut self, stored: &StoredTree) -> Result<Arc<dyn Tree>, String>;

    /// Whether anything could not be read since the last call that should be there. The answer is then invalid, because
    /// another mirror may have replaced the one that it was read from. A damaged mirror is opened again the next time.
    fn take_damage(&mut self) -> bool;
}
