//! Installs the providers of a management cluster: a pass over all provider objects there, whichever tool applied them.
//!
//! *Expected flow*: [`pass`] reads the provider objects, their ConfigMaps and config Secrets, fetches components that
//! they lack ([`downloading`]) and renders them ([`reading`]). Then it repeats three things: it reads the objects that
//! exist ([`look`]), asks [`capstan_live::installing::pass`] for the next step, and performs it ([`perform`]). It ends
//! when no step is left, or none can be done now. At the end it writes the status of every provider object.
//!
//! *Guarantees*: what an inventory has to hold is written before anything is applied. A pass with nothing to do writes
//! nothing. Everything is read and written with the rights of one service account, and behind the fence of the leader. A
//! provider's `spec` is never written; a Secret of another namespace is never read.
//!
//! Deliberately absent: decisions (the heart's), and when a pass begins (`controllers`).

mod adopting;
mod deleting;
mod downloading;
mod look;
mod memory;
mod migrate;
mod pass;
mod perform;
mod ports;
mod reading;
mod records;
mod saying;
mod sources;
mod waiting;
mod webhooks;

pub use memory::ProviderMemory;
pub use pass::{ProviderPassOutcome, pass, preview};
pub use ports::ProviderPorts;
pub use waiting::say_waiting;
