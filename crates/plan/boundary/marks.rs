//! Marks on objects that a folder may not set, and the cluster that an object says it belongs to.

use serde_json::Value;

use super::fields::text;
use super::home::FolderHome;
use super::origin::BoundaryOrigin;
use super::outside::Beyond;
use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::names::CLUSTER_NAME_LABEL;
use capstan_model::object::FieldPath;

/// The one mark that a base may hold: which release it is at (DESIGN 5.1).
const RELEASE: &str = "capstan.dev/release";

/// Where an object names the cluster that it belongs to.
const CLUSTER_NAMES: &[&str] =
    &["/spec/clusterName", "/spec/template/spec/clusterName", "/spec/clusterRef/name"];

/// What a ClusterResourceSet brought to the Cluster of its name.
const BINDING: (&str, &str) = ("addons.cluster.x-k8s.io", "ClusterResourceSetBinding");

fn is_mark(key: &str) -> bool {
    let domain = key.split('/').next().unwrap_or_default();
    key.contains('/') && (domain == "capstan.dev" || domain.ends_with(".capstan.dev"))
}

/// Owner marks, finalizers and tokens.
pub(super) fn marks(
    object: &RenderedObject,
    origin: BoundaryOrigin<'_>,
    outside: &mut impl FnMut(FieldPath, Beyond),
) {
    let metadata = FieldPath::root().key("metadata");
    let by_overlay = |pointer: &str| match origin {
        BoundaryOrigin::Base => false,
        BoundaryOrigin::Added => true,
        BoundaryOrigin::Changed(base) => base.value.pointer(pointer) != object.value.pointer(pointer),
    };
    for field in ["labels", "annotations"] {
        let marks = object.value.pointer(&format!("/metadata/{field}")).and_then(Value::as_object);
        for key in marks.into_iter().flat_map(|marks| marks.keys()).filter(|key| is_mark(key)) {
            let path = metadata.key(field).key(key);
            let release = field == "annotations" && key == RELEASE;
            if !release || by_overlay(&path.to_string()) {
                outside(path, Beyond::OwnerMark { key: key.clone() });
            }
        }
    }
    let holds = |key: &str| {
        let value = object.value.pointer(&format!("/metadata/{key}"));
        value.and_then(Value::as_array).is_some_and(|items| !items.is_empty())
    };
    if holds("ownerReferences") {
        outside(metadata.key("ownerReferences"), Beyond::OwnerReferences);
    }
    if holds("finalizers") && by_overlay("/metadata/finalizers") {
        outside(metadata.key("finalizers"), Beyond::Finalizers);
    }
    let token = object.id.group.is_empty()
        && object.id.kind == "Secret"
        && text(&object.value, "/type") == Some("kubernetes.io/service-account-token");
    if token && !matches!(origin, BoundaryOrigin::Base) {
        outside(FieldPath::root().key("type"), Beyond::ServiceAccountToken);
    }
}

/// Machines, and secrets of Cluster API's own, that an object brings to another folder's cluster.
pub(super) fn belongs(
    object: &RenderedObject,
    home: &FolderHome,
    outside: &mut impl FnMut(FieldPath, Beyond),
) {
    // Clusters that a chart creates are not in the base, so their names are unknown here.
    if home.clusters.is_empty() {
        return;
    }
    let foreign = |name: &str| (!home.clusters.contains(name)).then(|| name.to_owned());
    let names = CLUSTER_NAMES.iter().filter(|_| object.id.group.ends_with("cluster.x-k8s.io"));
    for pointer in names {
        let Some(cluster) = text(&object.value, pointer).and_then(foreign) else { continue };
        if let Some(field) = FieldPath::parse(pointer) {
            outside(field, Beyond::OtherCluster { cluster });
        }
    }
    let is_binding = (object.id.group.as_str(), object.id.kind.as_str()) == BINDING;
    if let Some(cluster) = Some(object.id.name.as_str()).filter(|_| is_binding).and_then(foreign) {
        outside(FieldPath::root().key("metadata").key("name"), Beyond::OtherCluster { cluster });
    }
    let label = FieldPath::root().key("metadata").key("labels").key(CLUSTER_NAME_LABEL);
    if let Some(cluster) = text(&object.value, &label.to_string()).and_then(foreign) {
        outside(label, Beyond::OtherCluster { cluster });
    }
}
