//! What machines are made from, as their owners name it.

use super::pair::FieldPair;
use super::pointer::PointerTarget;
use capstan_model::object::api_group;
use capstan_yaml::Value;

/// Where control planes and workers name what machines are made from.
pub(super) const REFERENCES: &[&str] = &[
    "/spec/machineTemplate/infrastructureRef",
    "/spec/machineTemplate/spec/infrastructureRef",
    "/spec/machineTemplate/infrastructureTemplate",
    "/spec/infrastructureTemplate",
    "/spec/infrastructureRef",
    "/spec/template/spec/bootstrap/configRef",
    "/spec/template/spec/infrastructureRef",
];

/// Whether a reference is one of control planes.
pub(super) fn is_control_plane_path(path: &str) -> bool {
    !path.starts_with("/spec/template")
}

/// The class that a topology Cluster names.
pub(super) fn class_name(cluster: &Value) -> Option<&str> {
    let name = cluster.at("/spec/topology/class").or_else(|| cluster.at("/spec/topology/classRef/name"));
    name.and_then(Value::as_str)
}

pub(super) fn text<'v>(node: &'v Value, key: &str) -> Option<&'v str> {
    node.get(key).and_then(Value::as_str)
}

/// Group, kind and name of what a reference names; the API version is not part of it.
pub(super) fn target(reference: Option<&Value>) -> Option<(Option<&str>, &str, &str)> {
    let reference = reference?;
    let group = text(reference, "apiGroup").or_else(|| text(reference, "apiVersion").map(api_group));
    Some((group, text(reference, "kind")?, text(reference, "name")?))
}

pub(super) fn renamed(pair: FieldPair<'_>, reference: &str) -> bool {
    match (target(pair.before.at(reference)), target(pair.after.at(reference))) {
        (Some((one_group, one_kind, one)), Some((group, kind, other))) => {
            let same_group = one_group.is_none() || group.is_none() || one_group == group;
            !same_group || one_kind != kind || one != other
        }
        (before, after) => before != after,
    }
}
