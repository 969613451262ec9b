//! Credentials of a cluster's own for its cloud: made, renewed, taken away, with never a moment without a valid one.
//!
//! Owns the decision what comes next of one of them ([`CredentialFacts`]), and whether those who are given it inside of the cluster
//! work with it ([`is_taken_up`]), from what the cloud has, what the Secret names and which credential its consumers work
//! with; what the annotations of the Secrets say, and what is said of them. Does not make them, and does not know what those
//! who work with one read: the adapter of the cloud does.
//!
//! *Guarantees*, after every single write, wherever the process dies. The credential that the Secret names exists and
//! is valid. A credential that a consumer works with exists until the consumer works with the next one, or until it
//! ends; this also holds where another user makes them meanwhile. After the next pass, the cloud has no credential that
//! no Secret names.
//!
//! *Assumption*: one process at a time performs steps, and no other tool gives credentials names with this beginning.
//!
//! *Caveat*: a cloud such as OpenStack shows a user's credentials to that user alone. Credentials of a user who makes
//! none any more are left until they end.
//!
//! | file | owns |
//! |---|---|
//! | `asked` | which cluster asks for credentials of which cloud, and which Secrets are Capstan's then |
//! | `purpose` | the two credentials, and the names of their Secrets |
//! | `secret` | what a Secret says of its credential |
//! | `consumers` | who works with it, of the objects of a management cluster |
//! | `taken_up` | who is given it inside of the cluster, and whether these work with it |
//! | `step` | what comes next |
//! | `told` | condition and status |
//! | `trouble` | why one is not made, renewed or taken away |

mod asked;
pub mod consumers;
mod purpose;
pub mod secret;
mod step;
mod taken_up;
#[cfg(test)]
mod tests;
mod trouble;
mod turn;

pub use asked::{CredentialRequest, CredentialSubject, asked, bears_mark, opened, reserved};
pub use purpose::Purpose;
pub use secret::{CredentialSecret, Inside};
pub use step::{
    Consumer, CredentialFacts, CredentialRecord, CredentialStep, HandedOut, Rest, Wish, WrittenState, renewal,
};
pub use taken_up::{begin_with, is_taken_up};
pub use trouble::CredentialError;
pub use turn::{Turn, remembered};
