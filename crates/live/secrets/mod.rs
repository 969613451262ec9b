//! Secrets out of Vault: what a `VaultSecret` asks for, who may have it, and what comes next of a lease.
//!
//! Owns how `VaultStore` and `VaultSecret` are read ([`VaultStoreSpec`], [`VaultSecretSpec`]), the words that are said of
//! them ([`Why`]), which store serves which namespace ([`VaultStoreSpec::serves`]), and the steps of a lease and of the
//! login that it hangs on ([`next_lease_step`], [`next_login_step`]). Sees no value of a secret: who performs a step asks Vault and
//! writes the Secret, and may die in between.
//!
//! *Guarantees*, however often whoever performs steps dies: a lease that nobody knows is never left to live longer than
//! the login that it was asked with, and that login is ended as soon as nobody needs it; a lease that is known is kept
//! while it can be.
//!
//! Facts: a lease of Vault lives no longer than the token that asked for it. Its holder may renew it; to revoke it a policy
//! must allow `sys/leases/revoke`, while every token may revoke itself, and takes all its leases along.

mod definition;
mod lease;
mod login;
mod why;

pub use definition::{
    KvField, KvRead, LeaseMethod, LeaseRequest, SECRET_LABEL, StoreAuth, TargetSecret, VaultSecretSpec,
    VaultStoreSpec,
};
pub use lease::{Content, Lease, LeaseFacts, LeaseStep, Superseded, next_lease_step};
pub use login::{LoginStep, LoginTimes, next_login_step};
pub use why::Why;
