//! Use cases: gather facts, ask the domain, perform effects.
//!
//! Nothing is decided here that a pure function could decide, and nothing of GitHub's, Git's or the
//! database's own words gets past [`ports`].

pub mod agents;
pub mod budget;
pub mod components;
pub mod generator;
pub mod hosts;
pub mod intake;
pub mod inventory;
mod pki;
pub mod planner;
pub mod ports;
pub mod providers;
pub mod reconcile;
pub mod retention;
pub mod setup;
pub mod sync;
pub mod visitors;
pub mod wave_webhooks;
pub mod worker;
