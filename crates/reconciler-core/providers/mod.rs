//! Providers of a management cluster: what a pass knows of each, and the state of each.
//!
//! | file | owns |
//! |---|---|
//! | `halted` | why a pass does not continue with one |
//! | `prepared` | what one was rendered to |
//! | `record` | what is remembered of one |
//! | `member` | one provider, as a pass found it |
//! | `members` | all of them, and what is worth watching |
//! | `sights` | what was seen of their objects |
//! | `standing` | the state of one |
//!
//! Deliberately absent: what a pass does next ([`capstan_live::installing::pass`]).

pub mod halted;
pub mod member;
pub mod members;
pub mod prepared;
pub mod record;
pub mod sights;
pub mod standing;
