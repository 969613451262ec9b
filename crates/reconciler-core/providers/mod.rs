//! Providers of a management cluster: what a pass knows of each, and how it stands.
//!
//! | file | owns |
//! |---|---|
//! | `halted` | why one is not gone on with |
//! | `prepared` | what one was rendered to |
//! | `record` | what is remembered of one |
//! | `member` | one provider, as a pass found it |
//! | `members` | all of them, and what is worth watching |
//! | `sights` | what was seen of their objects |
//! | `standing` | how one stands |
//!
//! Deliberately absent: what a pass does next ([`capstan_live::installing::pass`]).

pub mod halted;
pub mod member;
pub mod members;
pub mod prepared;
pub mod record;
pub mod sights;
pub mod standing;
