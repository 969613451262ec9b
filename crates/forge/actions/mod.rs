//! The actions on a forge, with everything that follows from them, for any caller: the API, a page, a push, a
//! test.
//!
//! | file | does |
//! |---|---|
//! | `events` | records events for the App's webhook |
//! | `follow` | makes pull requests follow their branches |
//! | `references` | moves references |
//! | `limits` | refuses what is too long |
//! | `pulls`, `issues`, `checks` | what is done with each |
//! | `sidebar` | labels, assignees, requested reviews |
//! | `merge` | tries merges, merges, queues |
//! | `stacks` | stacks pull requests, and merges a stack at once |
//! | `protection` | what a branch wants before a merge |

mod checks;
mod events;
mod follow;
mod issues;
mod limits;
mod merge;
mod protection;
mod pulls;
mod references;
mod sidebar;
mod stacks;

pub(crate) use self::checks::{emit_check, press_button, rerequest_check, rerequest_suite, suite_for};
pub(crate) use self::follow::size;
pub(crate) use self::limits::check_length;
pub(crate) use self::merge::{
    compute_mergeability, dequeue, enqueue, merge_pull, read_mergeability, web_flow,
};
pub(crate) use self::protection::{RequiredCheck, merge_state, refusal, reported, unmet, verdicts};
pub use self::pulls::NewPull;
pub(crate) use self::references::NO_COMMIT;
pub(crate) use self::sidebar::SidebarEdit;
pub(crate) use self::stacks::{merge_stack, stack};
