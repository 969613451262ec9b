//! One cluster, from one source state to another: cluster + source + settings -> [`Upgrade`].
//!
//! ```text
//! ChangeSource (read once)  ─┐
//! ClusterFacts (facts)      ─┴─> plan ─> Planned ─> render before and after, rules ─> finish ─> Upgrade
//! ```
//!
//! [`plan()`] is pure and needs no rendering. What only the rendered objects can tell (rollouts, U15;
//! the overlay's findings, [U11]; skew) is computed by `capstan_live::rollout` and [`crate::policy`] from the
//! tree before and the tree with [`PlannedUpgrade::intended`] on it, and joins in [`PlannedUpgrade::finish`].
//!
//! # U5a
//!
//! A difference between the new release and the result is explained by:
//!
//! | | |
//! |---|---|
//! | a conflict | listed of that field, or of what holds it |
//! | an owner rule `cluster` or `live` | |
//! | an edit of the cluster | the release did not change the field, or the cluster removed the object |
//! | a finding that names the field | `api-version-leaves-field`, `unbound-variable`, `step-group-split` |
//! | a fragment without a target | `unmatched-fragment` |
//! | a template that stays for one upgrade | machine sets may name it still ([U12]) |
//!
//! Anything else is `incomplete-upgrade` (cannot be off), and the upgrade blocks.
//!
//! # U10
//!
//! | | |
//! |---|---|
//! | bytes | only what the edits name changes: comments, quotes, indentation, order, line ends and the final newline or its absence stay |
//! | a new string that YAML 1.1 would read as something else | is quoted |
//! | every edited file | is read again strictly, and every document compared with the intended one |
//! | a document with `sops:`, one with duplicate keys, what a merge key brings and should lose, a result that differs, a line that changes without an edit | the file is refused |
//!
//! How the edits are made and checked is [`capstan_yaml`]'s. A file that is refused is `edit-refused` (cannot be off),
//! and the upgrade blocks as a whole: nothing is done by halves.
//!
//! # U13
//!
//! | the release drops, and nobody edited | comes to |
//! |---|---|
//! | a `Cluster`, what it names as infrastructure or control plane, a control plane, an App or HelmRelease that deploys a cluster | stays; `removes-cluster` (cannot be off), and the upgrade blocks |
//! | templates, bootstrap configs, health checks, resource sets; a ConfigMap that nothing names | removed; the live object is pruned by itself |
//! | anything else: worker pools, classes, Apps, … | removed, with a tombstone in the cluster's `capstan.yaml` |
//! | a template whose owners stay, in a cluster that others apply | stays for this upgrade ([U12]) |
//!
//! What is lost with a kind is its row in the table of kinds ([`Loss`](capstan_model::kinds::Loss)). Another
//! infrastructure, another control plane, or a class of other kinds of them is another cluster, however a reference
//! came to name it: `removes-cluster` ([`foundation`]). Machines that are lost are `removes-machines` (error,
//! [`crate::policy`]), and a rollout whose `because` is `[""]`.
//!
//! # U16
//!
//! | | |
//! |---|---|
//! | a release | has a `release.yaml` with `spec.apps[]` and `spec.components[]` |
//! | a cluster names it | in the scalars that [`crate::giant_swarm`] lists; those of the cluster's own App or HelmRelease count |
//! | edited | every one that counts, with or without `v` as it was written, and no other byte |
//! | they disagree | `ambiguous-match`, and the upgrade blocks |
//! | one is a variable, or there is none | the upgrade blocks |
//! | listed | apps and components that come, move and go |
//! | rollout | where the machines' image moves (`flatcar`, `kubernetes`, `os-tooling`), or the old release is unknown; `certainty: unknown` |
//! | a chart whose version is pinned | a field like any other ([U5]); one that stays is `chart-stays` ([`charts`]) |
//!
//! Path and downgrades go by the same rules ([U14]).
//!
//! [U5]: crate::merge::fields#u5
//! [U11]: crate::policy#u11
//! [U12]: crate::templates#u12
//! [U14]: crate::path#u14

mod bystanders;
mod change_source;
mod charts;
mod class_patch_edits;
mod class_patches;
mod class_variables;
mod comments;
mod complete;
mod component;
mod components;
mod context;
mod conversions;
mod draft;
mod explain;
mod explain_json;
mod fields;
mod findings;
mod follow;
mod foundation;
mod generations;
mod giantswarm;
mod inputs;
mod instance;
mod json;
mod leftover;
mod machines;
mod merge_facts;
mod model;
mod moved_fields;
mod named_fields;
mod namespaces;
mod object_text;
mod owners;
mod patch_follow;
mod patch_rewriting;
mod patches;
mod plan;
mod planned;
mod provenance;
mod record;
mod redact;
mod removal;
mod request;
mod retarget;
mod rotation;
mod said;
mod said_by_patches;
mod service_change;
mod settle;
mod stale_patches;
mod staying;
mod unknown_templates;
mod variables;
mod whole;

pub use change_source::{ChangeSource, OwnFields, ReleaseRecord};
pub use component::{ComponentChange, ComponentVersion, ReleaseList};
pub use components::link_changelogs;
pub use explain::{ChangeOrigin, Explanation, explain};
pub use explain_json::explanation_to_json;
pub use giantswarm::GiantSwarmRelease;
pub use json::{element_to_json, finding_to_json, to_json};
pub use leftover::FilesSettled;
pub use machines::MachineCount;
pub use model::{
    Basis, Certainty, Change, ChangeReason, Conflict, Course, Rollout, RolloutEffect, RolloutPart,
    SettledConflict, Settlement, Side, Upgrade, ValueOrigin, ValuesCourse, ValuesStep, whole_of,
};
pub use plan::plan;
pub use planned::PlannedUpgrade;
pub use provenance::{ListMerged, Provenance, ValueCompared};
pub use redact::{Shown, hide_beside, is_hidden, name_beside, redact};
pub use request::{MergeSettings, OldSource, Overwrite, Retarget, UpgradeRequest, Versions};
pub use service_change::{KeptEdit, ServiceChange, ServiceCourse};

pub use crate::merge::decision::{Decider, HowMerged, MergeRule};
