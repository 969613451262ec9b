//! Secrets out of Vault, for the VaultSecrets that name them: read with a login of their own namespace, written, kept
//! current, ended.
//!
//! *Expected flow*: [`VaultSecrets::look`] lists the VaultSecrets, and [`VaultSecrets::work`] gives those of a store
//! that are due their turn. Those of one namespace share a login and follow each other; stores do not wait for each
//! other. A cluster's reconciliation gives those of its folder their turn as soon as they are applied (`folder`),
//! before what names them. *Guarantees*: what cannot be read leaves the Secret as it is, and the condition and an event
//! say why. A value goes into the Secret and nowhere else. A look without news writes nothing. A lease is written down
//! before anything uses it, and one that was not written down ends with its login. What is done in a namespace is done
//! with the rights of that namespace's service account.
//!
//! Decisions are [`capstan_reconciler_core::leases`]'. Vault is asked through [`Vaults`](capstan_ports::Vaults). Deliberately
//! absent: when a pass is made (`controllers/secrets.rs`).

mod appliers;
mod asking;
mod earlier;
mod ending;
mod folder;
mod group;
mod kept_logins;
mod lease;
mod logins;
mod memory;
mod outcome;
mod pass;
mod patience;
mod preflight;
mod removal;
mod standing;
mod store;
mod subject;
mod target;
mod turn;

pub(in crate::reconcile) use folder::missing_secrets;
pub use memory::VaultSecrets;
pub use pass::{Passed, SecretsReport, StoreWork};
pub(in crate::reconcile) use preflight::look;
