//! Secrets out of Vault: what a `VaultSecret` asks for, and who may have it.
//!
//! Owns how `VaultStore` and `VaultSecret` are read ([`VaultStoreSpec`], [`VaultSecretSpec`]), the words that are said of
//! them ([`ResolvedReason`]), and which store serves which namespace ([`VaultStoreSpec::serves`]).
//!
//! Deliberately absent: what comes next of a lease and of the login that it hangs on (`crates/reconciler-core`).

mod definition;
mod why;

pub use definition::{
    KvField, KvRead, LeaseMethod, LeaseRequest, SECRET_LABEL, StoreAuth, TargetSecret, VaultSecretSpec,
    VaultStoreSpec,
};
pub use why::ResolvedReason;
