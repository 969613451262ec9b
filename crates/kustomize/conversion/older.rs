//! Cluster API's alpha versions, to v1beta1.
//!
//! v1alpha3 and v1alpha4 are v1beta1 with fewer fields, but for the few that are listed here
//! (<https://cluster-api.sigs.k8s.io/developer/providers/migrations/v1alpha3-to-v1alpha4>,
//! <https://cluster-api.sigs.k8s.io/developer/providers/migrations/v1alpha4-to-v1beta1>). No Cluster API
//! that still converts them is at hand to compare with, so whatever v1beta1 does not know is refused by
//! name.

use super::refusal::{ConversionRefusal, Refusals};
use super::step::ConversionStep::{self, Add, Move, Remove};
use crate::schema::{FieldContent, TypeFields};
use capstan_model::object::FieldPath;
use capstan_yaml::{Node, NodeKind};

/// Fields that v1alpha3 has elsewhere: kind, from, to.
const MOVED: &[(&str, &str, &str)] = &[
    ("KubeadmControlPlane", "/spec/infrastructureTemplate", "/spec/machineTemplate/infrastructureRef"),
    ("KubeadmControlPlane", "/spec/nodeDrainTimeout", "/spec/machineTemplate/nodeDrainTimeout"),
    ("KubeadmControlPlane", "/spec/upgradeAfter", "/spec/rolloutAfter"),
];

/// The only alpha version of the kinds for IP addresses.
pub(super) const IPAM: &str = "ipam.cluster.x-k8s.io/v1alpha1";

/// The places of a KubeadmConfigSpec.
const CONFIGS: &[(&str, &str)] = &[
    ("KubeadmConfig", "/spec"),
    ("KubeadmConfigTemplate", "/spec/template/spec"),
    ("KubeadmControlPlane", "/spec/kubeadmConfigSpec"),
];

/// The steps to v1beta1, but for `apiVersion`.
pub(super) fn steps(object: &Node, kind: &str) -> Vec<ConversionStep> {
    let mut steps = Vec::new();
    let path = |text: &str| FieldPath::parse(text).unwrap_or_default();
    for (of, from, to) in MOVED {
        let (from, to) = (path(from), path(to));
        if *of == kind && object.at(&from).is_some() && object.at(&to).is_none() {
            steps.push(Move { from, to });
        }
    }
    // A claim's label says which cluster it is of, and v1beta1 has a field for that besides.
    let label = FieldPath::of_keys(["metadata", "labels", "cluster.x-k8s.io/cluster-name"]);
    let name = path("/spec/clusterName");
    if kind == "IPAddressClaim"
        && object.at(&name).is_none()
        && let Some(cluster) = object.at(&label).and_then(Node::as_str)
    {
        steps.push(Add { at: name, value: Node::string(cluster) });
    }
    for (of, config) in CONFIGS {
        // CoreDNS is the only one that is left.
        let dns = path(&format!("{config}/clusterConfiguration/dns/type"));
        if *of == kind && object.at(&dns).and_then(Node::as_str) == Some("CoreDNS") {
            steps.push(Remove { at: dns });
        }
    }
    steps
}

/// Refuses what v1beta1 does not know.
pub(super) fn known(object: &Node, kind: &'static str, fields: &'static TypeFields) -> Result<(), Refusals> {
    let mut refused = Vec::new();
    if let (Some(spec), Some(field)) = (object.get("spec"), fields.field(kind, "spec")) {
        below(fields, &FieldPath::root().key("spec"), spec, &field.of, &mut refused);
    }
    Refusals::none(refused)
}

fn below(
    fields: &'static TypeFields,
    path: &FieldPath,
    node: &Node,
    of: &FieldContent,
    refused: &mut Vec<ConversionRefusal>,
) {
    match (of, &node.kind) {
        (FieldContent::Struct(name), NodeKind::Mapping(entries)) => {
            for entry in entries {
                let at = path.key(&entry.key);
                match fields.field(name, &entry.key) {
                    Some(field) => below(fields, &at, &entry.value, &field.of, refused),
                    None if entry.value.is_null() => {}
                    None => refused.push(*ConversionRefusal::new(
                        at,
                        &entry.value,
                        "v1beta1 has no such field",
                        "remove the field, or convert the object to the newer version by hand",
                    )),
                }
            }
        }
        (FieldContent::Map(of), NodeKind::Mapping(entries)) => {
            entries.iter().for_each(|entry| below(fields, &path.key(&entry.key), &entry.value, of, refused));
        }
        (FieldContent::List(of), NodeKind::Sequence(items)) => {
            let items = items.iter().enumerate();
            items.for_each(|(at, item)| below(fields, &path.index(at), item, of, refused));
        }
        _ => {}
    }
}
