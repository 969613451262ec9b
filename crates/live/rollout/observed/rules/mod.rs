//! What of "done" an owner does not meet.
//!
//! | file | owns |
//! |---|---|
//! | `standing` | the state of an owner, and the evidence for it |
//! | `evidence` | what an owner shows, held against what it should |
//! | `applied`, `held_back` | whether it asks for what is rendered; what a person holds back |
//! | `core_owner`, `other_control_plane`, `pool`, `topology` | each sort of owner |
//! | `judge` | any of them |

mod applied;
mod core_owner;
mod evidence;
mod held_back;
mod judge;
mod other_control_plane;
mod pool;
mod standing;
mod topology;

pub(super) use self::applied::is_applied;
pub(super) use self::held_back::waits_for_nobody;
pub(super) use self::judge::standing;
pub(super) use self::standing::{Ends, OwnerState};
