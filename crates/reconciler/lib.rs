//! The reconciler's use cases: they gather facts of Git and the management cluster, ask the core, and perform its
//! effects.
//!
//! A pure function decides whatever it can (`capstan_reconciler_core`). The loops of the program (`crates/controllers`)
//! choose when which object gets its turn, and the Kubernetes API is behind a port. This package does not know GitHub.
//!
//! A room may import the rooms of this package that its line names; `tests/cli/house` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`gate`] | what goes to a management cluster: a bounded number of requests at a time, and no write by a process that no longer leads | nothing |
//! | [`life`] | one performer of every life that facts decide on | nothing |
//! | [`pki`] | private keys that are made in memory, and what is read of certificates | nothing |
//! | [`hosts`] | hosts of tenant clusters: a turn over the SIPClusters | `gate`, `pki` |
//! | [`reconcile`] | clusters and sets of providers: tried before the merge; applied, judged and reported after it | `gate`, `hosts`, `life`, `pki` |
//! | [`providers`] | provider objects: what they render to is installed, upgraded and taken away | `gate`, `reconcile` |

pub mod gate;
pub mod hosts;
mod life;
mod pki;
pub mod providers;
pub mod reconcile;
