//! Secrets out of Vault: what a `VaultSecret` asks for, and who may have it.
//!
//! Owns how `VaultStore` and `VaultSecret` are read ([`VaultStoreSpec`], [`VaultSecretSpec`]), the reasons of their
//! conditions ([`ResolvedReason`]), and which store serves which namespace ([`VaultStoreSpec::serves`]).
//!
//! Deliberately absent: the next step of a lease and of its login (`crates/reconciler-core`).

mod definition;
mod why;

pub use definition::{
    KvField, KvRead, LeaseMethod, LeaseRequest, SECRET_LABEL, StoreAuth, TargetSecret, VaultSecretSpec,
    VaultStoreSpec,
};
pub use why::ResolvedReason;
