//! Which kinds a folder may bring.

use serde_json::Value;

use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::{KindRole, role_of};
use capstan_model::object::ObjectId;

/// Who may bring objects of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// Nobody.
    Never(&'static str),
    /// The base, and no overlay may change them.
    BaseOnly(&'static str),
    /// Base and overlay.
    Anyone,
}

/// Who may bring objects of a kind. Those for the base alone decide who may do what in the management
/// cluster; most of them belong to all of it, and are outside for that reason already.
pub(super) fn family(id: &ObjectId) -> Family {
    let capstan = id.group == "capstan.dev" || id.group.ends_with(".capstan.dev");
    let role = role_of(id);
    match id.group.as_str() {
        _ if capstan => Family::Never("objects of Capstan's own"),
        "operator.cluster.x-k8s.io" | "clusterctl.cluster.x-k8s.io" => {
            Family::Never("providers of Cluster API")
        }
        _ if role == Some(KindRole::Namespace) => Family::BaseOnly("namespaces"),
        _ if role == Some(KindRole::ServiceAccount) => Family::BaseOnly("service accounts"),
        "rbac.authorization.k8s.io" => Family::BaseOnly("rights (RBAC)"),
        "admissionregistration.k8s.io" => Family::BaseOnly("admission webhooks and policies"),
        "apiextensions.k8s.io" | "apiregistration.k8s.io" => Family::BaseOnly("definitions of kinds"),
        "runtime.cluster.x-k8s.io" => Family::BaseOnly("runtime extensions"),
        _ => Family::Anyone,
    }
}

/// Credentials of infrastructure providers: of kinds without a namespace the only ones that belong to a
/// folder, as `AWSClusterStaticIdentity` does.
pub(super) fn is_identity(id: &ObjectId) -> bool {
    role_of(id) == Some(KindRole::Identity)
}

/// Whether another controller would carry the object out on the management cluster with its own rights,
/// which are more than the folder's: Flux without a `kubeConfig` or a service account, Argo CD, and Giant
/// Swarm's Apps with `inCluster`.
pub(super) fn acts_with_other_rights(object: &RenderedObject) -> bool {
    let value = &object.value;
    let has = |pointer: &str| value.pointer(pointer).is_some_and(|value| !value.is_null());
    match (object.id.group.as_str(), object.id.kind.as_str()) {
        ("helm.toolkit.fluxcd.io", "HelmRelease") | ("kustomize.toolkit.fluxcd.io", "Kustomization") => {
            !has("/spec/kubeConfig") && !has("/spec/serviceAccountName")
        }
        ("argoproj.io", "Application" | "ApplicationSet" | "AppProject") => true,
        ("application.giantswarm.io", "App") => {
            value.pointer("/spec/kubeConfig/inCluster") == Some(&Value::Bool(true))
        }
        _ => false,
    }
}
