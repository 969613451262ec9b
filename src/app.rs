//! The packages of the use cases under one name.

pub use capstan_bot::{agents, intake, retention, setup, sync, visitors, wave_webhooks, worker};
pub use capstan_budget as budget;
pub use capstan_fleet::{components, generator, inventory, planner};
pub use capstan_ports as ports;
pub use capstan_reconciler::{gate, hosts, providers, reconcile};
