//! Rules: one a file behind one trait, and their catalogue.
//!
//! Owns what is judged, how bad it is, and why. A rule sees [`Facts`], plain values of one cluster
//! before and after, and adds [`Finding`]s; the settings then have their say on severity.
//!
//! Deliberately absent: loading anything, and the decision what a finding leads to (exit code,
//! check, draft): that is for whoever asked.
//!
//! # U11
//!
//! The overlay is the customer's and is never written, but for the names that `retarget` edits
//! ([U12](crate::templates#u12)). It is rendered before and after; what the upgrade does to it is a finding with the
//! overlay's file and line:
//!
//! | rule | |
//! |---|---|
//! | `overlay-loses-target` (error) | a patch finds nothing to patch any more |
//! | `overlay-hides-change` (warning) | the overlay decides a field that the base changes |
//! | `overlay-names-template` (error; the upgrade blocks) | a patch names a template that gets a new name ([`crate::upgrade`]) |
//! | `api-version-leaves-field` | a patch names a field of an API version that the upgrade leaves ([U7a](crate::merge::converted#u7a)) |

mod ambiguous_match;
mod api_version_leaves_field;
mod api_version_not_served;
mod autoscaler_owns_replicas;
mod chart_stays;
mod clear_text;
mod cluster_api;
mod cluster_outside;
mod component_downgrade;
mod contract_mismatch;
mod control_plane_replicas_even;
mod deletions;
mod duplicate_object;
mod edit_refused;
mod evidence;
mod facts;
mod file_not_listed;
mod fitting;
mod immutable_field;
mod incomplete_upgrade;
mod inside;
mod invalid_definition;
mod invalid_layout;
mod invalid_settings;
mod invalid_yaml;
mod kind_changed;
mod kubernetes;
mod kubernetes_api_removed;
mod kubernetes_downgrade;
mod kubernetes_minor_skip;
mod kubernetes_steps;
mod kubernetes_version_unsupported;
mod kubernetes_version_without_v;
mod kubernetes_workers_ahead;
mod kubernetes_workers_behind;
mod kustomization_not_merged;
mod list_without_key;
mod missing_reference;
mod namespace_changed;
mod not_in_release;
mod other_version;
mod overlay_hides_change;
mod overlay_loses_target;
mod overlay_names_template;
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
mod secret_variable;
mod split_rollout;
mod step_group_split;
mod template_edited_in_place;
#[cfg(test)]
mod tests;
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
mod variables;
mod wrong_type;

pub use cluster_api::{CoreVersion, core_version, may_name_core};
pub use evidence::{Evidence, Survey};
pub use facts::{Facts, Occasion, ReleaseStep};
pub use inside::inside;
pub use rule::{About, Example, Files, Rule};
pub use unknown_release::unknown_release;
pub use validate::{Scope, Snapshot, folders_of, validate};

pub use crate::merge::AppliedBy;

use capstan_kustomize::render::Rendered;
use capstan_model::finding::{Finding, Severities};

/// Every rule, ordered by id.
pub fn catalogue() -> &'static [&'static dyn Rule] {
    static RULES: &[&dyn Rule] = &[
        &ambiguous_match::AmbiguousMatch,
        &api_version_leaves_field::ApiVersionLeavesField,
        &api_version_not_served::ApiVersionNotServed,
        &autoscaler_owns_replicas::AutoscalerOwnsReplicas,
        &chart_stays::ChartStays,
        &cluster_outside::ClusterOutside,
        &component_downgrade::ComponentDowngrade,
        &contract_mismatch::ContractMismatch,
        &control_plane_replicas_even::ControlPlaneReplicasEven,
        &duplicate_object::DuplicateObject,
        &edit_refused::EditRefused,
        &file_not_listed::FileNotListed,
        &immutable_field::ImmutableField,
        &incomplete_upgrade::IncompleteUpgrade,
        &invalid_definition::InvalidDefinition,
        &invalid_layout::InvalidLayout,
        &invalid_settings::InvalidSettings,
        &invalid_yaml::InvalidYaml,
        &kind_changed::KindChanged,
        &kubernetes_api_removed::KubernetesApiRemoved,
        &kubernetes_downgrade::KubernetesDowngrade,
        &kubernetes_minor_skip::KubernetesMinorSkip,
        &kubernetes_version_unsupported::KubernetesVersionUnsupported,
        &kubernetes_version_without_v::KubernetesVersionWithoutV,
        &kubernetes_workers_ahead::KubernetesWorkersAhead,
        &kubernetes_workers_behind::KubernetesWorkersBehind,
        &kustomization_not_merged::KustomizationNotMerged,
        &list_without_key::ListWithoutKey,
        &missing_reference::MissingReference,
        &namespace_changed::NamespaceChanged,
        &not_in_release::NotInRelease,
        &overlay_hides_change::OverlayHidesChange,
        &overlay_loses_target::OverlayLosesTarget,
        &overlay_names_template::OverlayNamesTemplate,
        &reference_mismatch::ReferenceMismatch,
        &refused_change::RefusedChange,
        &release_breaks_requests::ReleaseBreaksRequests,
        &release_deprecated::ReleaseDeprecated,
        &release_goes_back_in_time::ReleaseGoesBackInTime,
        &release_reads_outside::ReleaseReadsOutside,
        &release_record_differs::ReleaseRecordDiffers,
        &release_without_predecessor::ReleaseWithoutPredecessor,
        &removes_cluster::RemovesCluster,
        &removes_machines::RemovesMachines,
        &render_failed::RenderFailed,
        &rendered_tombstone::RenderedTombstone,
        &rollout_after_past::RolloutAfterPast,
        &rollout_without_change::RolloutWithoutChange,
        &secret_in_clear_text::SecretInClearText,
        &secret_variable::SecretVariable,
        &split_rollout::SplitRollout,
        &step_group_split::StepGroupSplit,
        &template_edited_in_place::TemplateEditedInPlace,
        &topology_switched::TopologySwitched,
        &topology_version::TopologyVersion,
        &unbound_variable::UnboundVariable,
        &unknown_field::UnknownField,
        &unknown_release::UnknownRelease,
        &unknown_template::UnknownTemplate,
        &unmatched_fragment::UnmatchedFragment,
        &unreadable_file::UnreadableFile,
        &unsupported_substitution::UnsupportedSubstitution,
        &variable_contradiction::VariableContradiction,
        &wrong_type::WrongType,
    ];
    RULES
}

/// The rule of that id.
pub fn rule(id: &str) -> Option<&'static dyn Rule> {
    catalogue().iter().copied().find(|rule| rule.about().entry.id() == id)
}

/// Every rule's id, ordered.
pub fn ids() -> impl Iterator<Item = &'static str> {
    catalogue().iter().map(|rule| rule.about().entry.id())
}

/// What the rules say of one cluster before and after, ordered by file, line (none last) and path.
/// Findings of the merge are not among them.
pub fn judge(facts: &Facts<'_>, severities: &Severities) -> Vec<Finding> {
    let evidence = Evidence::of(facts);
    let mut verdicts = Vec::new();
    for rule in catalogue().iter().filter(|rule| severities.of(rule.about().entry).is_some()) {
        rule.compare(&evidence, &mut verdicts);
        let mut found = Vec::new();
        rule.inspect(&evidence.after, &mut found);
        if facts.occasion == Occasion::Upgrade && !found.is_empty() {
            let mut already = Vec::new();
            rule.inspect(&evidence.before, &mut already);
            found.retain(|new| !already.iter().any(|old| evidence.is_same(old, new)));
        }
        verdicts.extend(found.into_iter().map(|verdict| evidence.in_words_of_the_occasion(verdict)));
    }
    let mut findings: Vec<Finding> =
        verdicts.into_iter().filter_map(|verdict| severities.judged(verdict)).collect();
    sort(&mut findings);
    findings
}

/// The patches of a render that were applied to nothing, where nobody wants to know more.
pub fn lost_patches(rendered: &Rendered, severities: &Severities) -> Vec<Finding> {
    let verdicts = overlay_loses_target::lost(&rendered.patches, &rendered.patches);
    let mut findings: Vec<Finding> =
        verdicts.into_iter().filter_map(|verdict| severities.judged(verdict)).collect();
    sort(&mut findings);
    findings
}

/// Orders findings by file, line (none last) and path, as reports show them.
pub fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        let key =
            |f: &Finding| (f.file().is_none(), f.file().cloned(), f.line().is_none(), f.line(), f.column());
        key(a).cmp(&key(b)).then_with(|| a.path.cmp(&b.path)).then_with(|| a.rule.cmp(b.rule))
    });
}
