//! The catalogue's entries: every rule by its constant.
//!
//! They are in this package because most findings are made where files are read, merged and edited, and not
//! where rules judge. What a rule means, why, and what breaks it is in `policy`, one file a rule; a test
//! compares the two.

use super::Severity::{Error, Warning};
use super::rule::RuleEntry;
use super::rule::SeverityChange::{Free, Never};

/// Makes the constants and the list of them from one table, so that no entry is in one alone.
macro_rules! entries {
    ($($name:ident: $id:literal, $severity:ident, $change:ident;)*) => {
        $(
            #[doc = concat!("`", $id, "`")]
            pub const $name: &RuleEntry = &RuleEntry::new($id, $severity, $change);
        )*

        /// Every rule of the catalogue, ordered by id.
        pub const ALL: &[&RuleEntry] = &[$($name),*];
    };
}

entries! {
    ALIAS_WRITTEN_OUT: "alias-written-out", Warning, Free;
    AMBIGUOUS_MATCH: "ambiguous-match", Error, Free;
    API_VERSION_ENDS: "api-version-ends", Warning, Free;
    API_VERSION_LEAVES_FIELD: "api-version-leaves-field", Warning, Free;
    API_VERSION_NOT_SERVED: "api-version-not-served", Warning, Free;
    AUTOSCALER_OWNS_REPLICAS: "autoscaler-owns-replicas", Warning, Free;
    CAMPAIGN_WAITS_FOR_EVER: "campaign-waits-for-ever", Error, Free;
    CAMPAIGN_WAVES: "campaign-waves", Warning, Free;
    CHART_STAYS: "chart-stays", Warning, Free;
    CLUSTER_OUTSIDE: "cluster-outside", Warning, Free;
    CLUSTER_RESOURCE_SET_STAYS: "cluster-resource-set-stays", Warning, Free;
    CNI_SWITCH: "cni-switch", Error, Never;
    COMPONENT_DOWNGRADE: "component-downgrade", Error, Free;
    CONTRACT_MISMATCH: "contract-mismatch", Warning, Free;
    CONTROL_PLANE_REPLICAS_EVEN: "control-plane-replicas-even", Error, Free;
    DEFINITION_REMOVED: "definition-removed", Error, Never;
    DUPLICATE_OBJECT: "duplicate-object", Error, Free;
    EDIT_REFUSED: "edit-refused", Error, Never;
    FILE_NOT_LISTED: "file-not-listed", Warning, Free;
    HELM_CHART_PROXY: "helm-chart-proxy", Warning, Free;
    IMMUTABLE_FIELD: "immutable-field", Error, Free;
    INCOMPLETE_UPGRADE: "incomplete-upgrade", Error, Never;
    INVALID_DEFINITION: "invalid-definition", Warning, Free;
    INVALID_LAYOUT: "invalid-layout", Error, Free;
    INVALID_NAME: "invalid-name", Error, Free;
    INVALID_OWNERS: "invalid-owners", Error, Never;
    INVALID_SERVICES: "invalid-services", Error, Never;
    INVALID_SETTINGS: "invalid-settings", Error, Never;
    INVALID_VALUE: "invalid-value", Error, Free;
    INVALID_YAML: "invalid-yaml", Error, Free;
    INVENTORY_CYCLE: "inventory-cycle", Error, Free;
    INVENTORY_FINAL: "inventory-final", Error, Never;
    INVENTORY_FOLDER_CLASH: "inventory-folder-clash", Error, Free;
    INVENTORY_FOLDER_DIFFERS: "inventory-folder-differs", Warning, Free;
    INVENTORY_LEVEL: "inventory-level", Error, Free;
    INVENTORY_REACH: "inventory-reach", Error, Free;
    INVENTORY_REFERENCE: "inventory-reference", Error, Free;
    INVENTORY_REQUIRED: "inventory-required", Error, Free;
    INVENTORY_TYPE: "inventory-type", Error, Free;
    INVENTORY_UNKNOWN_KIND: "inventory-unknown-kind", Error, Free;
    INVENTORY_UNKNOWN_VALUE: "inventory-unknown-value", Error, Free;
    INVENTORY_UNUSED_VALUE: "inventory-unused-value", Warning, Free;
    KIND_CHANGED: "kind-changed", Warning, Free;
    KUBERNETES_API_REMOVED: "kubernetes-api-removed", Error, Free;
    KUBERNETES_DOWNGRADE: "kubernetes-downgrade", Error, Never;
    KUBERNETES_MINOR_BREAKS: "kubernetes-minor-breaks", Error, Free;
    KUBERNETES_MINOR_SKIP: "kubernetes-minor-skip", Error, Free;
    KUBERNETES_VERSION_UNSUPPORTED: "kubernetes-version-unsupported", Warning, Free;
    KUBERNETES_VERSION_WITHOUT_V: "kubernetes-version-without-v", Warning, Free;
    KUBERNETES_WORKERS_AHEAD: "kubernetes-workers-ahead", Error, Free;
    KUBERNETES_WORKERS_BEHIND: "kubernetes-workers-behind", Error, Free;
    KUBERNETES_WORKERS_CANNOT_GROW: "kubernetes-workers-cannot-grow", Warning, Free;
    KUSTOMIZATION_NOT_MERGED: "kustomization-not-merged", Error, Free;
    LIST_WITHOUT_KEY: "list-without-key", Warning, Free;
    MISSING_REFERENCE: "missing-reference", Warning, Free;
    NAMESPACE_CHANGED: "namespace-changed", Error, Never;
    NOT_IN_RELEASE: "not-in-release", Warning, Free;
    OUTSIDE_BOUNDARY: "outside-boundary", Error, Never;
    OVERLAY_CHANGES_PROVIDERS: "overlay-changes-providers", Error, Never;
    OVERLAY_HIDES_CHANGE: "overlay-hides-change", Warning, Free;
    OVERLAY_LOSES_TARGET: "overlay-loses-target", Error, Free;
    OVERLAY_NAMES_TEMPLATE: "overlay-names-template", Error, Free;
    OWNERS_ADMIN: "owners-admin", Warning, Free;
    OWNERS_CHANGED: "owners-changed", Warning, Free;
    PROVIDER_ADDRESS_DIFFERS: "provider-address-differs", Warning, Free;
    PROVIDER_API_IN_USE: "provider-api-in-use", Error, Free;
    PROVIDER_CONTRACT: "provider-contract", Error, Never;
    PROVIDER_DIGEST_DIFFERS: "provider-digest-differs", Error, Never;
    PROVIDER_DOWNGRADE: "provider-downgrade", Error, Never;
    PROVIDER_FEATURE_GATE_UNKNOWN: "provider-feature-gate-unknown", Error, Free;
    PROVIDER_GAINS_RIGHTS: "provider-gains-rights", Error, Free;
    PROVIDER_KUBERNETES: "provider-kubernetes", Error, Free;
    PROVIDER_MINOR_SKIP: "provider-minor-skip", Error, Free;
    PROVIDER_ROLLS_MACHINES: "provider-rolls-machines", Warning, Free;
    PROVIDER_VARIABLE_UNBOUND: "provider-variable-unbound", Error, Free;
    PROVIDER_VERSION_UNSET: "provider-version-unset", Warning, Free;
    PROVIDER_VERSIONS_APART: "provider-versions-apart", Warning, Free;
    PROVIDERS_BESIDE_OTHERS: "providers-beside-others", Error, Never;
    READS_OTHER_CLUSTER: "reads-other-cluster", Error, Never;
    REFERENCE_MISMATCH: "reference-mismatch", Error, Free;
    REFUSED_CHANGE: "refused-change", Error, Free;
    RELEASE_BREAKS_REQUESTS: "release-breaks-requests", Warning, Free;
    RELEASE_DEPRECATED: "release-deprecated", Warning, Free;
    RELEASE_GOES_BACK_IN_TIME: "release-goes-back-in-time", Warning, Free;
    RELEASE_READS_OUTSIDE: "release-reads-outside", Warning, Free;
    RELEASE_RECORD_DIFFERS: "release-record-differs", Warning, Free;
    RELEASE_WITHOUT_PREDECESSOR: "release-without-predecessor", Warning, Free;
    REMOVES_CLUSTER: "removes-cluster", Error, Never;
    REMOVES_MACHINES: "removes-machines", Error, Free;
    RENDER_FAILED: "render-failed", Error, Free;
    RENDERED_TOMBSTONE: "rendered-tombstone", Error, Free;
    ROLLOUT_AFTER_PAST: "rollout-after-past", Warning, Free;
    ROLLOUT_WITHOUT_CHANGE: "rollout-without-change", Warning, Free;
    SECRET_IN_CLEAR_TEXT: "secret-in-clear-text", Error, Free;
    SECRET_NEEDS_RECONCILER: "secret-needs-reconciler", Error, Never;
    SECRET_VARIABLE: "secret-variable", Warning, Free;
    SERVICE_KUBERNETES: "service-kubernetes", Error, Free;
    SERVICES_NOT_CLAIMED: "services-not-claimed", Warning, Free;
    SEVERAL_CLUSTERS: "several-clusters", Warning, Free;
    SPLIT_ROLLOUT: "split-rollout", Warning, Free;
    STEP_GROUP_SPLIT: "step-group-split", Error, Never;
    TEMPLATE_EDITED_IN_PLACE: "template-edited-in-place", Error, Free;
    TEMPLATE_ERROR: "template-error", Error, Free;
    TEMPLATE_LIMIT: "template-limit", Error, Never;
    TOO_LARGE: "too-large", Error, Never;
    TOPOLOGY_SWITCHED: "topology-switched", Error, Free;
    TOPOLOGY_VERSION: "topology-version", Error, Free;
    UNBOUND_VARIABLE: "unbound-variable", Error, Free;
    UNKNOWN_FIELD: "unknown-field", Error, Free;
    UNKNOWN_RELEASE: "unknown-release", Error, Free;
    UNKNOWN_TEMPLATE: "unknown-template", Warning, Free;
    UNMATCHED_FRAGMENT: "unmatched-fragment", Warning, Free;
    UNREADABLE_FILE: "unreadable-file", Error, Never;
    UNSUPPORTED_SUBSTITUTION: "unsupported-substitution", Error, Free;
    VALUES_EDITED: "values-edited", Error, Never;
    VARIABLE_CONTRADICTION: "variable-contradiction", Warning, Free;
    VARIABLE_NAME: "variable-name", Error, Free;
    WRONG_TYPE: "wrong-type", Error, Free;
}

/// What a live cluster answers to a preflight. It is not in [`ALL`]: an API server decides it, no rule of
/// Capstan's, and settings have no say in it.
pub const PREFLIGHT: &RuleEntry = &RuleEntry::new("preflight", Error, Never);

/// The rule that findings of this id are of, [`PREFLIGHT`] included.
pub(super) fn any_named(id: &str) -> Option<&'static RuleEntry> {
    named(id).or_else(|| (id == PREFLIGHT.id()).then_some(PREFLIGHT))
}

/// The rule of the catalogue that is called so.
pub fn named(id: &str) -> Option<&'static RuleEntry> {
    ALL.iter().copied().find(|rule| rule.id() == id)
}
