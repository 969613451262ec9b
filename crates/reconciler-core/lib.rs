//! What the reconciler does next, decided from facts alone: no clock, environment, file, network or chance, and nothing that
//! waits.
//!
//! Facts come in as values, decisions and what is said of them go out as values. Who gathers facts and performs what is
//! decided is `capstan_reconciler`; every life (a lease, a credential, a key, a service) has one form ([`next`]).
//!
//! A room may import the rooms of this package that its line names; `tests/cli/house` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`next`] | the form of every life: facts, and the step that follows | nothing |
//! | [`term`] | when what lives for a time is renewed | nothing |
//! | [`names`] | what a ManagedCluster is called | nothing |
//! | [`resources`] | specs and statuses of Capstan's own kinds | nothing |
//! | [`says`] | conditions, as they are said | `resources` |
//! | [`reason`] | why something is not done | `resources` |
//! | [`outcome`] | how a reconciliation ends | `reason` |
//! | [`unwanted`] | why what a folder asks for cannot be applied | `reason` |
//! | [`cloud_kinds`] | kinds of a cloud's controller that are not there | `reason` |
//! | [`records`] | Capstan's own kinds as the API server has them, and events on them | `resources` |
//! | [`reports`] | what the bot asks, and what it hears | `reason`, `resources` |
//! | [`preflight`] | verdicts before a merge | `reason`, `reports` |
//! | [`hosts`] | what is known of hosts, and whether the racks can give what a head asks for | `reason` |
//! | [`requeue`] | how soon a cluster is reconciled again | `cloud_kinds`, `outcome`, `reason`, `resources` |
//! | [`schedule`] | when which cluster is reconciled | `requeue` |
//! | [`rolling`] | whether a cluster replaces machines | `outcome`, `reason`, `resources` |
//! | [`leases`] | leases of Vault, and the logins that they hang on | `next`, `records`, `resources`, `term` |
//! | [`credentials`] | clusters' own credentials of their clouds | `next`, `reason`, `resources`, `term` |
//! | [`services`] | services inside a cluster | `next`, `reason`, `records`, `resources`, `says` |
//! | [`owners`] | the keys that clusters' owners are given | `next`, `reason`, `reports`, `resources`, `services`, `term` |
//! | [`providers`] | what a pass knows of the providers of a management cluster | nothing |
//! | [`conclude`] | what is said of a reconciliation | `outcome`, `reason`, `records`, `reports`, `resources`, `says`, `services` |

pub mod cloud_kinds;
pub mod conclude;
pub mod credentials;
pub mod hosts;
pub mod leases;
pub mod names;
pub mod next;
pub mod outcome;
pub mod owners;
pub mod preflight;
pub mod providers;
pub mod reason;
#[cfg(test)]
mod reason_tests;
pub mod records;
pub mod reports;
pub mod requeue;
pub mod resources;
pub mod rolling;
pub mod says;
pub mod schedule;
pub mod services;
mod term;
pub mod unwanted;
