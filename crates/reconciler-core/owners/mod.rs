//! The key of a cluster that its owners alone can open: whom it is for, what comes next of it, and what is said of it.
//!
//! *Guarantees*, however often whoever performs the steps dies: once a step other than [`OwnersStep::Count`] was taken after
//! somebody left, the binding names no group of which they ever had a certificate; a file that serves is neither made anew
//! nor written.
//!
//! *Assumption*: one process at a time performs steps, and what was handed out is written down before anybody can fetch it.
//!
//! | file | owns |
//! |---|---|
//! | `asked` | who the owners are, and what they are to have |
//! | `step` | what comes next |
//! | `secret` | the Secret that the file lies in |
//! | `told` | condition and status |
//! | `trouble` | why there is no key |

mod asked;
pub mod secret;
mod step;
#[cfg(test)]
mod tests;
pub mod told;
mod trouble;

pub use asked::OwnersRequest;
pub use secret::StoredKubeconfig;
pub use step::{Handed, LastOwnersFile, OwnersFacts, OwnersRest, OwnersStep, WantedAccess, renewal};
pub use trouble::{OwnersError, TroubleKind};
