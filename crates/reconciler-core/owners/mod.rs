//! The key of a cluster that its owners alone can open: who it is for, what comes next of it, and what is said of it.
//!
//! *Guarantees*, wherever the process dies. Once a step other than [`OwnersStep::Count`] was taken after somebody left,
//! the binding names no group that a certificate of theirs ever had. A file that serves is neither made again nor
//! written.
//!
//! *Assumption*: one process at a time performs steps, and what was handed out is written down before anybody can fetch it.
//!
//! | file | owns |
//! |---|---|
//! | `asked` | who the owners are, and what they are to have |
//! | `step` | what comes next |
//! | `secret` | the Secret that holds the file |
//! | `told` | condition and status |
//! | `trouble` | why there is no key |

mod asked;
pub mod condition;
pub mod secret;
#[cfg(test)]
mod secret_tests;
mod step;
#[cfg(test)]
mod tests;
mod trouble;

pub use asked::OwnersRequest;
pub use secret::StoredKubeconfig;
pub use step::{Handed, LastOwnersFile, OwnersFacts, OwnersRest, OwnersStep, WantedAccess, renewal};
pub use trouble::{OwnersError, TroubleKind};
