//! Objects that another controller carries out: Flux, Argo CD, Giant Swarm's Apps. Where, with whose rights and
//! from which source it does so is the base's to say.
//!
//! A HelmRelease without `kubeConfig` is installed on the management cluster itself, by a controller that may do
//! everything there; a service account of the folder's namespace may do more there than the folder. So an overlay
//! brings only what goes elsewhere, and what the base says of all this it does not change. Judged is the result:
//! a field that was taken away counts as changed, an empty one as absent.
//!
//! Sources: <https://fluxcd.io/flux/components/helm/helmreleases/>,
//! <https://fluxcd.io/flux/components/kustomize/kustomizations/>.

use serde_json::Value;

use super::origin::BoundaryOrigin;
use super::outside::Beyond;
use capstan_kustomize::render::RenderedObject;
use capstan_model::object::{FieldPath, ObjectId};

/// Fields that only the base sets, by group and kind.
const BASES_OWN: &[(&str, &str, &[&str])] = &[
    (
        "helm.toolkit.fluxcd.io",
        "HelmRelease",
        &[
            "/spec/kubeConfig",
            "/spec/serviceAccountName",
            "/spec/targetNamespace",
            "/spec/storageNamespace",
            "/spec/chart/spec/chart",
            "/spec/chart/spec/sourceRef",
            "/spec/chartRef",
        ],
    ),
    (
        "kustomize.toolkit.fluxcd.io",
        "Kustomization",
        &[
            "/spec/kubeConfig",
            "/spec/serviceAccountName",
            "/spec/targetNamespace",
            "/spec/sourceRef",
            "/spec/path",
        ],
    ),
    (
        "application.giantswarm.io",
        "App",
        &["/spec/kubeConfig", "/spec/namespace", "/spec/catalog", "/spec/name"],
    ),
];

fn bases_own(id: &ObjectId) -> Option<&'static [&'static str]> {
    let row = BASES_OWN.iter().find(|(group, kind, _)| id.group == *group && id.kind == *kind)?;
    Some(row.2)
}

/// Whether a field is one that only the base sets.
pub(super) fn is_bases_own(id: &ObjectId, field: &FieldPath) -> bool {
    let own = bases_own(id).unwrap_or_default().iter().filter_map(|pointer| FieldPath::parse(pointer));
    own.into_iter().any(|own| field.starts_with(&own))
}

/// Whether an overlay may change other fields of such an object.
pub(super) fn is_carried_out(id: &ObjectId) -> bool {
    bases_own(id).is_some()
}

/// Whether it is a chart that is installed in another cluster, or in another namespace of this one.
pub(super) fn is_installed_elsewhere(object: &RenderedObject) -> bool {
    let into = stated(&object.value, "/spec/targetNamespace").and_then(Value::as_str);
    object.id.group == "helm.toolkit.fluxcd.io"
        && object.id.kind == "HelmRelease"
        && (!acts_here(object) || into.is_some_and(|into| Some(into) != object.id.namespace.as_deref()))
}

/// What an overlay makes of such an object.
pub(super) fn carried_out(
    object: &RenderedObject,
    origin: BoundaryOrigin<'_>,
    outside: &mut impl FnMut(FieldPath, Beyond),
) {
    let base = match origin {
        BoundaryOrigin::Base => return,
        BoundaryOrigin::Added => {
            if acts_here(object) {
                outside(FieldPath::root(), Beyond::OtherRights);
            }
            return;
        }
        BoundaryOrigin::Changed(base) => base,
    };
    let mut told = false;
    for pointer in bases_own(&object.id).unwrap_or_default() {
        if stated(&base.value, pointer) != stated(&object.value, pointer)
            && let Some(field) = FieldPath::parse(pointer)
        {
            outside(field, Beyond::BasesOwnField);
            told = true;
        }
    }
    let spec = |object: &RenderedObject| object.value.get("spec").cloned();
    if !told && has_controllers_rights(object) && spec(base) != spec(object) {
        outside(FieldPath::root().key("spec"), Beyond::OtherRights);
    }
}

/// Whether it is carried out on the management cluster itself.
fn acts_here(object: &RenderedObject) -> bool {
    match object.id.group.as_str() {
        // With `configMapRef` Flux logs in as a service account that the ConfigMap names, or as itself.
        "helm.toolkit.fluxcd.io" | "kustomize.toolkit.fluxcd.io" => {
            stated(&object.value, "/spec/kubeConfig/secretRef/name").is_none()
        }
        _ => has_controllers_rights(object),
    }
}

/// Whether it is carried out there with the rights of the controller, which are more than anybody's folder has.
fn has_controllers_rights(object: &RenderedObject) -> bool {
    let value = &object.value;
    match (object.id.group.as_str(), object.id.kind.as_str()) {
        ("helm.toolkit.fluxcd.io", "HelmRelease") | ("kustomize.toolkit.fluxcd.io", "Kustomization") => {
            stated(value, "/spec/kubeConfig/secretRef/name").is_none()
                && stated(value, "/spec/serviceAccountName").is_none()
        }
        ("argoproj.io", "Application" | "ApplicationSet" | "AppProject") => true,
        ("application.giantswarm.io", "App") => {
            value.pointer("/spec/kubeConfig/inCluster") == Some(&Value::Bool(true))
        }
        _ => false,
    }
}

/// What a field says; nothing where it is empty.
fn stated<'v>(value: &'v Value, pointer: &str) -> Option<&'v Value> {
    value.pointer(pointer).filter(|value| match value {
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    })
}
