//! Applying (DESIGN 7): what of a cluster's render goes to its management cluster now, and what never does.
//!
//! Owns every decision between a render and the API server: the boundary of a folder, the guards that look
//! at the live cluster, what waits for the control plane, what differs, what is deleted, what an answer of
//! the API server means. Facts come in as values.
//!
//! Deliberately absent: requests, clocks, and what the rollout has come to ([`crate::rollout::observed`]).

mod managers;
mod refusal;
mod written;

pub use managers::{LAST_APPLIED, MANAGER, appliers, fields_that_go, is_applied_by_capstan, taken_over};
pub use refusal::{Cause, FieldNotation, LONGEST_MESSAGE, Refusal, RefusalKind};
pub use written::Written;
