//! What may be asked of GitHub, and when: one budget for all that GitHub counts together, shared by all processes.
//!
//! GitHub limits an installation twice: by requests an hour (the primary limit, in headers) and by what it
//! calls secondary limits, which are in no header
//! (<https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api>). Exceeding them blocks
//! the installation for minutes. So each call asks before: [`Ledger::ask`] says "now" or until when to wait,
//! and is pure; [`Meter`] keeps the ledger in the database, and takes from it for a second ahead, so that not
//! each call writes a row. [`Rehearsal`] lets the ledger decide under a virtual clock: what a release to a
//! fleet would take.
//!
//! Not here: what a call costs (the adapter knows its routes), and what becomes of the work that waits
//! (the worker says).
//!
//! A room may import the rooms of this package that its line names; `tests/cli/house` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`limits`] | GitHub's published limits, and what a call takes of them | nothing |
//! | [`priority`] | what is done first where not all can be done | nothing |
//! | [`ledger`] | the counts, and the decision | `limits`, `priority` |
//! | [`meter`] | asks the ledger for each call, and keeps it in the database | `ledger`, `limits`, `priority` |
//! | [`rehearsal`] | how long a fleet's pull requests take within the limits, under a virtual clock | `ledger`, `limits`, `priority` |

mod ledger;
mod limits;
mod meter;
mod priority;
mod rehearsal;
#[cfg(test)]
mod tests;

pub use ledger::{Ask, Grant, Ledger, Primary, RateResource, Wait};
pub use limits::{Cost, RateLimit, RateLimits};
pub use meter::Meter;
pub use priority::{Priority, at_priority, present_priority};
pub use rehearsal::{Figures, Rehearsal};
