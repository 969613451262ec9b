//! Use cases: gather facts, ask the domain, perform effects.
//!
//! Nothing is decided here that a pure function could decide, and nothing of GitHub's, Git's or the
//! database's own words gets past [`ports`].

pub use capstan_bot::{agents, intake, retention, setup, sync, visitors, wave_webhooks, worker};
pub use capstan_budget as budget;
pub use capstan_fleet::{components, generator, inventory, planner};
pub use capstan_ports as ports;
pub use capstan_reconciler::{gate, hosts, providers, reconcile};
