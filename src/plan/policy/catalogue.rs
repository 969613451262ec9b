//! The catalogue: every rule there is.

use super::rule::Rule;
use super::{
    ambiguous_match, api_version_leaves_field, api_version_not_served, autoscaler_owns_replicas, chart_stays,
    cluster_outside, component_downgrade, contract_mismatch, control_plane_replicas_even, duplicate_object,
    edit_refused, file_not_listed, immutable_field, incomplete_upgrade, invalid_definition, invalid_layout,
    invalid_settings, invalid_yaml, kind_changed, kubernetes_api_removed, kubernetes_downgrade,
    kubernetes_minor_skip, kubernetes_version_unsupported, kubernetes_version_without_v,
    kubernetes_workers_ahead, kubernetes_workers_behind, kustomization_not_merged, list_without_key,
    missing_reference, namespace_changed, not_in_release, outside_boundary, overlay_changes_providers,
    overlay_hides_change, overlay_loses_target, overlay_names_template, providers_beside_others,
    reads_other_cluster, reference_mismatch, refused_change, release_breaks_requests, release_deprecated,
    release_goes_back_in_time, release_reads_outside, release_record_differs, release_without_predecessor,
    removes_cluster, removes_machines, render_failed, rendered_tombstone, rollout_after_past,
    rollout_without_change, secret_in_clear_text, secret_variable, split_rollout, step_group_split,
    template_edited_in_place, too_large, topology_switched, topology_version, unbound_variable,
    unknown_field, unknown_release, unknown_template, unmatched_fragment, unreadable_file,
    unsupported_substitution, variable_contradiction, wrong_type,
};

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
        &outside_boundary::OutsideBoundary,
        &overlay_changes_providers::OverlayChangesProviders,
        &overlay_hides_change::OverlayHidesChange,
        &overlay_loses_target::OverlayLosesTarget,
        &overlay_names_template::OverlayNamesTemplate,
        &providers_beside_others::ProvidersBesideOthers,
        &reads_other_cluster::ReadsOtherCluster,
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
        &too_large::TooLarge,
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
