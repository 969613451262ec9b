//! Vault over HTTP: logs in, reads secrets of the key-value engine, takes, renews and ends leases.
//!
//! *Guarantees*: certificates are always verified, against the store's own authority where it has one; without TLS only this
//! machine and the cluster's own Services are asked; nothing is taken from the environment; every call is bounded in time and
//! size, and nothing leads elsewhere; no answer's words, and no byte of a token or a secret, stand in an error.
//!
//! Which program answers (HashiCorp's, OpenBao, another) is nobody's concern here: what is read is status and JSON.
//!
//! Deliberately absent: what is asked for whom and when ([`capstan_live::secrets`], `crates/reconciler/reconcile/secrets`).
//!
//! | file | |
//! |---|---|
//! | `http` | one bounded way to ask, and what a status means |
//! | `server` | the calls |

mod http;
mod server;

pub use server::VaultServers;
