//! Secrets out of Vault: the reconciler's side against a strict stand-in of HashiCorp's server, over HTTP.
//!
//! | file | holds |
//! |---|---|
//! | `vault` | the stand-in: it answers as HashiCorp's server was seen to, status codes included, and nothing else |
//! | `town` | namespaces, stores and VaultSecrets on a management cluster in memory, and processes that come and go |
//! | `fields` | secrets of the key-value engine |
//! | `leases` | leases, over deaths too |
//! | `edits` | what becomes of what was asked for before |
//! | `accounts` | several Fleets, each with an account of its own |
//! | `going` | a namespace that is deleted |
//! | `patience` | a Vault that does not answer, beside one that does |
//! | `watching` | what is news, and what is an echo |
//! | `folders` | a cluster's folder: what names a Secret waits for it, before a merge it is looked for |
//! | `rusty` | RustyVault itself, as far as it speaks Vault's API |
//! | `wire` | what the client refuses: addresses, redirects, floods |

#![expect(
    clippy::panic,
    clippy::print_stdout,
    reason = "a panic is how a test fails, and tests say their seed"
)]

mod accounts;
mod edits;
mod fields;
mod folders;
mod going;
mod leases;
mod patience;
mod rusty;
mod town;
pub(crate) mod vault;
mod watching;
mod wire;
