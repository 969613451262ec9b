//! One pass over the providers of a management cluster: what is done next.
//!
//! *Expected flow*: the caller gathers the facts ([`ProviderFacts`]), asks for the [`next`] step, performs it, and
//! gathers the facts again. What has to outlive a step is in a [`ProviderRecord`], which is written before the step is
//! performed.
//!
//! A provider goes through these phases, one provider at a time, in clusterctl's order; the next one begins after the
//! present one has finished:
//!
//! | phase | what is done |
//! |---|---|
//! | `Preparing` | upgrades alone: stored versions and managed fields are migrated where a version goes; the old Deployments are stopped, until their pods are gone |
//! | `Applying` | definitions, until they are established; rights; certificates; the rest; webhooks; workloads, until they are available; a dry-run write through each webhook |
//! | `Pruning` | what was applied once and is not rendered any more is deleted; never definitions, never Namespaces |
//! | `Settled` | nothing, but that drift is repaired |
//! | `Removing` | of a provider that goes: everything but definitions and Namespaces is deleted |
//!
//! *Guarantees*: the same facts give the same step. A process that is killed after any step, or within one, comes to
//! the same end. If nothing is to be done there is no step. No provider is begun while an object of it would be
//! refused; the others are begun, unless they need it (`others`). Until the first definition has changed, the old
//! Deployments come back if the new ones cannot start, or do not start in time. From then on there is only the way
//! forward, to that version or a later one. What was given up is not begun again before something else is asked for.
//!
//! Deliberately absent: requests; who installs at all, and what the operator's own checks say (`ownership`, `checks`).

mod downloads;
mod facts;
mod manifest;
mod next;
mod others;
mod record;
mod sample;
mod stage;
mod step;
#[cfg(test)]
mod tests;
mod under_way;

pub use downloads::superseded;
pub use facts::{
    DesiredProvider, ObjectFit, ObjectsLook, ProviderFacts, ProviderObject, RenderedProvider, SeenObject,
};
pub use manifest::{
    applied, gone_versions, installers, is_established, is_own, storage_version, tried_definition,
};
pub use next::next;
pub use record::{GivenUp, InstallPhase, ProviderRecord, Revision, Stopped};
pub use sample::sample;
pub use stage::{InstallStage, is_definition, is_kept};
pub use step::{InstallDecision, InstallPatience, ProviderStep, Wait};
pub use under_way::wait;
