//! Vault over HTTP: logs in, reads secrets of the key-value engine, takes, renews and ends leases.
//!
//! *Guarantees*: certificates are always verified, against the store's own authority if it has one. Without
//! TLS only this machine and the cluster's own Services are asked. Nothing is taken from the environment.
//! Every call is bounded in time and size, and follows no redirect. Errors contain no text of an answer, and
//! no byte of a token or a secret.
//!
//! The product (HashiCorp's, OpenBao, another) does not matter here: only status and JSON are read.
//!
//! Deliberately absent: which cluster gets what, and when ([`capstan_live::secrets`],
//! `crates/reconciler/reconcile/secrets`).
//!
//! | file | |
//! |---|---|
//! | `http` | one bounded way to ask, and what a status means |
//! | `server` | the calls |

mod http;
mod server;

pub use server::VaultServers;
