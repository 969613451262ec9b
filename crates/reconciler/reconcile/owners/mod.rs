//! The key of a cluster that its owners alone can open: made inside of the cluster, encrypted here, handed to the bot.
//!
//! *Expected flow* of one look at one cluster ([`pass`]): who the owners are ([`asked`]). The cluster's API is opened
//! by the kubeconfig that Cluster API wrote, and the binding there and the Secret here are read. Then the core decides
//! step by step ([`capstan_reconciler_core::owners`]); each step is performed, and everything is read again ([`life`]).
//! The bot is sent what the Secret holds, unless it has that already.
//!
//! *Guarantees*: the core's. A private key is made in memory and leaves it encrypted alone ([`certificate`],
//! [`sealed`]): no log line, message, status, request to an API server or report to the bot contains a byte of it. The
//! Secret is written before the bot is sent the file, so the file survives a crash of either. A look that finds nothing
//! to do writes nothing, here or there.
//!
//! A file counts only if the status remembers its SHA-256: the right to write the Secret alone makes Capstan hand out
//! nothing.
//!
//! Where nothing of a folder is applied, because it is refused or suspended, owners who left are still kept out. The
//! keys of the others are renewed. Git says who they are, or, where it cannot be read, the status.
//!
//! *Caveat*: with the right to write the status, too, somebody can make Capstan hand out a file of their own.
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
