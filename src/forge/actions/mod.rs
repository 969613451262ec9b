//! What may be done on a forge, with everything that follows from it, whoever asks: the API, a page, a push, a test.
//!
//! | file | does |
//! |---|---|
//! | `events` | records events for the App's webhook |
//! | `follow` | makes pull requests follow their branches |
//! | `references` | moves references |
//! | `limits` | refuses what is too long |
//! | `pulls`, `issues`, `checks` | what is done with each |
//! | `merge` | tries merges, merges, queues |

mod checks;
mod events;
mod follow;
mod issues;
mod limits;
mod merge;
mod pulls;
mod references;

pub(crate) use self::follow::size;
pub(crate) use self::limits::check_length;
pub(crate) use self::merge::{merge_pull, web_flow};
pub use self::pulls::NewPull;
pub(crate) use self::references::NO_COMMIT;
