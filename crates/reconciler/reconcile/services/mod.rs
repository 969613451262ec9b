//! Services inside a cluster: brought there, judged, taken away; and what of the cloud stands in the way.
//!
//! *Expected flow*, once what Git says is applied to the management cluster: the cluster's API is asked whether it answers
//! ([`workloads`]); each service in its order is rendered ([`declared`]), looked at, tried, applied and judged
//! ([`pass`], [`life`], [`folder`], [`facts`]); what was switched off is taken away ([`removal`]); all of it is put into words
//! ([`capstan_reconciler_core::services`]). [`cloud`] looks at infrastructure and Events of the management cluster.
//!
//! *Guarantees*: a cluster whose API does not answer, or refuses, costs its own services alone, and is not asked again in
//! the same look; what is applied stands in the inventory before. A look that finds nothing to do writes nothing, there
//! nor here. Every write asks first whether this process leads.
//!
//! Objects of base that bring a service wait for its turn before they are applied, and a control plane for the services
//! that come before it ([`held`]), and for those that do not allow the version that it is to have ([`kubernetes`]). What a
//! head would do to them is told before its merge ([`preflight`]). Before a cluster is deleted, [`cleanup`] looks for what outlives it in its cloud.

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
