//! The reconciler: its use case on a management cluster in memory (what is there in the end, and what it cost), and
//! in `real` the program on a real API server. `rows` is played on both.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod adopting;
mod applying;
mod cloud_objects;
mod credential_lives;
mod credential_town;
mod credentials;
mod credentials_inside;
mod doubting;
mod dying;
mod fake;
mod fencing;
mod hosts;
mod hosts_issuers;
mod hosts_preflight;
mod judging;
mod keystone;
mod live_inventory;
mod looping;
mod machines;
mod moving;
mod other_cloud;
mod owners;
mod owners_guarded;
mod owners_town;
mod owning;
mod passes;
mod preflight;
mod provider_adoption;
mod provider_downloads;
mod provider_sets;
mod providers;
mod pruning;
pub(crate) mod real;
mod removing_providers;
mod rows;
pub(crate) mod secrets;
mod services;
mod services_cleanup;
mod services_kubernetes;
mod services_network;
mod services_removal;
mod services_wrong;
mod set_preflight;
mod status_store;
mod trials;
pub(crate) mod world;
