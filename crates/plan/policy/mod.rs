//! Rules: one a file behind one trait, and their catalogue.
//!
//! Owns what is judged, how bad it is, and why. A rule sees [`PolicyFacts`], plain values of one cluster
//! before and after, and adds [`Finding`](capstan_model::finding::Finding)s; the settings then have their say on severity.
//!
//! Each rule has one page in `docs/rules`: what it finds and why, with an example that breaks it and one that does not.
//! People read the page there. It is also compiled in ([`About`]) for `capstan rules`, SARIF and the tests, which run
//! the examples as input. A rule without a page does not compile. (With texts in the catalogue and generated pages,
//! people who read the repository would not find the texts.)
//!
//! Deliberately absent: loading anything, and what a finding leads to (exit code, check, draft), which the caller
//! decides.
//!
//! # U11
//!
//! The overlay is the customer's and is never written, but for the names that `retarget` edits
//! ([U12](crate::templates#u12)), and its patches where its owner migrates them. It is rendered before and after; what the upgrade does to it is a finding with the
//! overlay's file and line:
//!
//! | rule | |
//! |---|---|
//! | `overlay-loses-target` (error) | a patch finds nothing to patch any more |
//! | `overlay-hides-change` (warning) | the overlay decides a field that the base changes |
//! | `overlay-names-template` (error; the upgrade blocks) | a patch names a template that gets a new name ([`crate::upgrade`]) |
//! | `api-version-leaves-field` | a patch names a field of an API version that the upgrade leaves ([U7a](crate::merge::converted#u7a)) |

mod alias_written_out;
mod ambiguous_match;
mod api_version_ends;
mod api_version_leaves_field;
mod api_version_not_served;
mod autoscaler_owns_replicas;
mod campaign_rules;
mod catalogue;
mod chart_stays;
mod clear_text;
mod cluster_api;
mod cluster_outside;
mod cluster_resource_set_stays;
mod compared_services;
mod component_downgrade;
mod contract_mismatch;
mod control_plane_replicas_even;
mod deletions;
mod duplicate_object;
mod edit_refused;
mod evidence;
mod facts;
mod file_not_listed;
mod filled;
mod fitting;
mod folders;
mod helm_chart_proxy;
mod immutable_field;
mod incomplete_upgrade;
mod inside;
mod invalid_definition;
mod invalid_layout;
mod invalid_name;
mod invalid_settings;
mod invalid_value;
mod invalid_yaml;
mod inventory_rules;
mod judge;
mod judged_elsewhere;
mod kind_changed;
mod kubeadm;
mod kubernetes;
mod kubernetes_api_removed;
mod kubernetes_downgrade;
mod kubernetes_minor_breaks;
mod kubernetes_minor_skip;
mod kubernetes_steps;
mod kubernetes_version_unsupported;
mod kubernetes_version_without_v;
mod kubernetes_workers_ahead;
mod kubernetes_workers_behind;
mod kubernetes_workers_cannot_grow;
mod kustomization_not_merged;
mod list_without_key;
mod minors;
mod missing_reference;
mod namespace_changed;
mod not_in_release;
mod other_version;
mod outside_boundary;
mod overlay_changes_providers;
mod overlay_hides_change;
mod overlay_loses_target;
mod overlay_names_template;
mod parts;
mod provider_address_differs;
mod provider_rules;
mod providers_beside_others;
mod reads_other_cluster;
mod reference_mismatch;
mod references;
mod refused_change;
mod release_breaks_requests;
mod release_deprecated;
mod release_goes_back_in_time;
mod release_reads_outside;
mod release_record_differs;
mod release_without_predecessor;
mod removed_apis;
mod removes_cluster;
mod removes_machines;
mod render_failed;
mod rendered_tombstone;
mod rollout_after_past;
mod rollout_without_change;
mod rule;
mod secret_in_clear_text;
mod secret_needs_reconciler;
mod secret_variable;
mod service_rules;
mod several_clusters;
mod split_rollout;
mod step_group_split;
mod template_edited_in_place;
#[cfg(test)]
mod tests;
mod too_large;
mod topology_switched;
mod topology_version;
mod unbound_variable;
mod unknown_field;
mod unknown_release;
mod unknown_template;
mod unmatched_fragment;
mod unreadable_file;
mod unsupported_substitution;
mod validate;
mod variable_contradiction;
mod variable_name;
mod variables;
mod wrong_type;

pub use catalogue::{catalogue, ids, rule};
pub use cluster_api::{CoreVersion, InstalledProviders, may_name_providers};
pub use compared_services::{ClusterState, ServiceDifference, compare_services};
pub use evidence::{ClusterEvidence, Evidence};
pub use facts::{Occasion, PolicyFacts, ReleaseStep, ValueGivers};
pub use folders::{folders_of, folders_of_service};
pub use inside::inside;
pub use judge::{judge, lost_patches, sort};
pub use rule::{About, PolicyRule};
pub use unknown_release::unknown_release;
pub use validate::{Snapshot, ValidationScope, validate};

pub use crate::merge::AppliedBy;
