//! The key of a cluster that its owners alone can open: made inside of the cluster, encrypted here, told to the bot.
//!
//! *Expected flow* of one look at one cluster ([`pass`]): who the owners are ([`asked`]); the cluster's API is opened by the
//! kubeconfig that Cluster API wrote, and the binding there and the Secret here are read; then the core decides step by
//! step ([`capstan_reconciler_core::owners`]), and each step is performed and everything looked at again ([`life`]); what the Secret
//! holds is told to the bot, to which nothing is sent that it has already.
//!
//! *Guarantees*: the core's. A private key is made in memory and leaves it encrypted alone ([`certificate`], [`sealed`]):
//! no byte of it stands in a log line, message, status, request to an API server, or in what the bot is sent. The Secret is
//! written before the bot is told, and so outlives both. A look that finds nothing to do writes nothing, there nor here.
//!
//! A file serves only if the status remembers its SHA-256: who can write the Secret alone puts nothing into Capstan's mouth.
//!
//! Where nothing of a folder is applied, since it is refused or suspended, whoever left is kept out all the same, and what
//! the others have is renewed, by what Git says of them, or, where that cannot be read, by what is remembered.
//!
//! *Caveat*: who can write the status, too, can have a file of their own told.
//!
//! | file | |
//! |---|---|
//! | `asked` | who the owners of a cluster are |
//! | `certificate` | a private key, the request for its certificate, and what came back |
//! | `sealed` | encryption |
//! | `memory` | clusters whose signer did not answer |
//! | `life` | facts and effects |
//! | `pass` | a cluster's turn |

mod asked;
mod certificate;
mod life;
mod memory;
mod pass;
mod sealed;

pub use memory::OwnersKeys;
pub(super) use pass::{forget_owners_key, guard_owners_key, publish_owners_key, remembered_id};
