//! Services of clusters from release to release: the folders beside base, merged as base is, and what the release's
//! `capstan.yaml` says of them, merged into the cluster's.
//!
//! A service's objects are in another API server than those of base, so the same object may be in both. Each service is
//! merged for itself, folder by folder, with the merge of base ([`crate::upgrade::plan()`]), and the result joins the
//! upgrade. It needs no tombstone: the inventory of the service removes what is gone from Git.
//!
//! | file | |
//! |---|---|
//! | `release` | what a release brings |
//! | `step` | what a step is planned from |
//! | `declared` | the lists of `capstan.yaml`, three ways |
//! | `folder` | one folder, three ways |
//! | `edits` | what somebody edited by hand, and what of it stays |
//! | `checks` | `checks` of settings, evaluated within bounds |
//! | `network` | which network of pods a service is, and whether another one takes its place |
//! | `version` | which version of a service its objects are |
//! | `plan` | all of them together |
//!
//! Deliberately absent: rendering, and what the reconciler does with any of it.

mod checks;
mod declared;
mod edits;
mod folder;
mod network;
mod plan;
mod release;
mod step;
#[cfg(test)]
mod tests;
mod version;

pub use checks::{CheckFacts, CheckFailed, CheckFailure, NotAllowed, evaluate_checks, not_allowing};
pub use network::{NetworkSwitch, PodNetwork, network_among, network_switch};
pub use plan::{bring_services, judge_coming_kubernetes, plan_services, refuse_kubernetes};
pub use release::ReleaseServices;
pub use step::{ServiceFacts, ServicesStep};
pub use version::version_of_values;
