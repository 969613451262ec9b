//! Services inside a cluster: brought there, judged, taken away; and which problems of the cloud hold them up.
//!
//! *Expected flow*, once what Git says is applied to the management cluster: the cluster's API is asked whether it
//! answers ([`workloads`]). Each service in its order is rendered ([`declared`]), read, tried, applied and judged
//! ([`pass`], [`life`], [`folder`], [`facts`]). What was switched off is taken away ([`removal`]). All of it is put
//! into words ([`capstan_reconciler_core::services`]). [`cloud`] reads infrastructure and Events of the management
//! cluster.
//!
//! *Guarantees*: a cluster whose API does not answer, or refuses, affects its own services alone, and is not asked
//! again in the same look. The inventory has an object before it is applied. A look that finds nothing to do writes
//! nothing, here or there. Every write first checks that this process leads.
//!
//! Objects of base that bring a service wait for its turn before they are applied. A control plane waits for the
//! services that come before it ([`held`]), and for those that do not allow its new version ([`kubernetes`]). What a
//! head would do to them is reported before its merge ([`preflight`]). Before a cluster is deleted, [`cleanup`] looks
//! for what outlives it in its cloud.

mod cleanup;
mod cloud;
mod declared;
mod facts;
mod folder;
mod held;
mod kubernetes;
mod life;
mod network;
mod pass;
mod pass_state;
mod preflight;
mod removal;
mod workloads;

pub(super) use cleanup::clean_up;
pub(super) use preflight::look;
pub use workloads::Workloads;
pub(super) use workloads::kubeconfig_of;
