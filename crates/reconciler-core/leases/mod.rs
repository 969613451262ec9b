//! Leases of Vault, and the logins that they depend on: what comes next of each.
//!
//! Sees no value of a secret: the process that performs a step asks Vault and writes the Secret, and may die in
//! between.
//!
//! *Guarantees*, wherever the process dies. A lease without a record lives no longer than the login that it was asked
//! with, and that login is ended as soon as nothing needs it. A lease with a record is kept while it can be.
//!
//! Facts: a lease of Vault lives no longer than the token that asked for it. Its holder may renew it; to revoke it a policy
//! must allow `sys/leases/revoke`, while every token may revoke itself, and takes all its leases along.
//!
//! | file | owns |
//! |---|---|
//! | `lease` | what comes next of a lease |
//! | `login` | what comes next of a login |
//! | `key` | what VaultSecrets are known by |
//! | `accounts` | with whose rights a VaultSecret is read and written |

mod accounts;
mod key;
mod lease;
mod login;

pub use accounts::{Accounts, Appliers};
pub use key::{API_VERSION, GroupKey, KIND, SeenVaultSecret, VaultSecretKey, kind};
pub use lease::{
    LeaseDecisionFacts, LeaseFacts, LeaseLook, LeaseRest, LeaseSecret, LeaseStep, PendingLease,
    RememberedLease, Superseded,
};
pub use login::{LoginFacts, LoginStep, LoginTimes};
