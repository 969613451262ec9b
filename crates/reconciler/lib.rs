//! The reconciler's use cases: facts of Git and the management cluster are gathered, the heart is asked, effects are performed.
//!
//! Nothing is decided here that a pure function could decide (`capstan_reconciler_core`). When which object gets its turn is said by the loops of the
//! program (`crates/controllers`), and the Kubernetes API is behind a port. Nothing is known of GitHub.
//!
//! A room may import the rooms of this package that its line names; `tests/cli/house` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`gate`] | what goes to a management cluster: so many requests at a time, and no write by who leads no more | nothing |
//! | [`life`] | one performer of every life that facts decide on | nothing |
//! | [`pki`] | private keys that are made in memory, and what is read of certificates | nothing |
//! | [`hosts`] | hosts of tenant clusters: a turn over the SIPClusters | `gate`, `pki` |
//! | [`reconcile`] | clusters and sets of providers: tried before the merge; applied, judged and told after it | `gate`, `hosts`, `life`, `pki` |
//! | [`providers`] | provider objects: what they render to is installed, upgraded and taken away | `gate`, `reconcile` |

pub mod gate;
pub mod hosts;
mod life;
mod pki;
pub mod providers;
pub mod reconcile;
