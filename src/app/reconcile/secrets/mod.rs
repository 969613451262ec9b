//! Secrets out of Vault, for whoever names them: read with a login of their own namespace, written, kept current, ended.
//!
//! *Expected flow*: [`VaultSecrets::pass`] lists the VaultSecrets, and gives each that is due its turn, those of one
//! namespace and store one after the other with one login. A cluster's reconciliation gives those of its folder their turn as soon as
//! they are applied (`folder`), before what names them. *Guarantees*: what cannot be read leaves the Secret as it is, and
//! the condition and an event say why; a value goes into the Secret and nowhere else; a look without news writes nothing;
//! a lease is written down before anybody knows it, and one that nobody knows ends with its login. Who reads and writes in a namespace
//! does it with the rights of that namespace's service account.
//!
//! Decisions are [`capstan_live::secrets`]'. Vault is asked through [`Vaults`](crate::app::ports::Vaults). Deliberately
//! absent: when a pass is made (`controllers/secrets.rs`).

mod asking;
mod folder;
mod group;
mod kept_logins;
mod lease;
mod logins;
mod memory;
mod outcome;
mod pass;
mod preflight;
mod removal;
mod store;
mod subject;
mod target;
mod trouble;
mod turn;

pub use memory::VaultSecrets;
pub use pass::Passed;
pub(in crate::app::reconcile) use preflight::look;
