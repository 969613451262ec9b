//! Applying a cluster folder to its management cluster, as far as it can be decided without asking anybody.

mod refusal;

pub use refusal::{Cause, Refusal, RefusalKind};
