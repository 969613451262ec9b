//! Which kinds a folder may bring.

use capstan_model::kinds::{KindRole, is_cluster_api, role_of};
use capstan_model::object::ObjectId;

use super::controllers::is_carried_out;
use super::hosts;
use super::origin::BoundaryOrigin;
use crate::settings::OverlayKinds;

/// Who may bring objects of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// Nobody.
    Never(&'static str),
    /// The base, and no overlay may change them.
    BaseOnly(&'static str),
    /// Base and overlay, as far as [`may_come_from_overlay`] goes.
    Anyone,
}

/// Who may bring objects of a kind. Those for the base alone decide who may do what in the management
/// cluster; most of them belong to all of it, and are outside for that reason already.
pub(super) fn family(id: &ObjectId) -> Family {
    let capstan = id.group == "capstan.dev" || id.group.ends_with(".capstan.dev");
    let role = role_of(id);
    match id.group.as_str() {
        _ if capstan && role == Some(KindRole::Secret) => Family::BaseOnly("references to Vault"),
        _ if capstan => Family::Never("Capstan's own objects"),
        "operator.cluster.x-k8s.io" | "clusterctl.cluster.x-k8s.io" => {
            Family::Never("providers of Cluster API")
        }
        _ if role == Some(KindRole::Namespace) => Family::BaseOnly("namespaces"),
        _ if role == Some(KindRole::ServiceAccount) => Family::BaseOnly("service accounts"),
        "rbac.authorization.k8s.io" => Family::BaseOnly("rights (RBAC)"),
        "admissionregistration.k8s.io" => Family::BaseOnly("admission webhooks and policies"),
        "apiextensions.k8s.io" | "apiregistration.k8s.io" => Family::BaseOnly("definitions of kinds"),
        "runtime.cluster.x-k8s.io" => Family::BaseOnly("runtime extensions"),
        hosts::SIP_GROUP | hosts::METAL3_GROUP => Family::BaseOnly(hosts::WHAT),
        _ => Family::Anyone,
    }
}

/// Whether an overlay may have a part in objects of a kind: Cluster API's, ConfigMaps, Secrets, and what the
/// settings add. What other controllers carry out it may change where the base brings it; which fields not,
/// [`super::controllers`] says.
pub(super) fn may_come_from_overlay(
    id: &ObjectId,
    origin: BoundaryOrigin<'_>,
    added: &[OverlayKinds],
) -> bool {
    is_cluster_api(&id.group)
        || matches!(role_of(id), Some(KindRole::ConfigMap | KindRole::Secret))
        || added.iter().any(|kinds| kinds.holds(id))
        || matches!(origin, BoundaryOrigin::Changed(_)) && is_carried_out(id)
}

/// Credentials of infrastructure providers: of kinds without a namespace the only ones that belong to a
/// folder, as `AWSClusterStaticIdentity` does.
pub(super) fn is_identity(id: &ObjectId) -> bool {
    role_of(id) == Some(KindRole::Identity)
}
