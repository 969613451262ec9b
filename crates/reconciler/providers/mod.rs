//! Installing the providers of a management cluster: a pass over all provider objects there, whoever applied them.
//!
//! *Expected flow*: [`pass`] reads the provider objects, their ConfigMaps and config Secrets, fetches components that they lack
//! ([`downloading`]) and renders them ([`reading`]); then, again and again, it looks at the objects that are there ([`look`]), asks the heart for the next step
//! ([`capstan_live::installing::pass`]) and performs that one ([`perform`]), until there is none, or none can be done now. At
//! the end every provider object says how it stands.
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
