//! What the table says, spot by spot.

mod real;

use super::schema;
use crate::schema::{ListType, MapKey, Schema, ValueKind};

/// The schema at a path as the table writes them.
fn at(kind: &str, version: &str, path: &str) -> Option<&'static Schema> {
    path.split('.').try_fold(schema(kind, version).0, |schema, part| {
        let field = part.trim_end_matches("[]");
        let items = (part.len() - field.len()) / 2;
        (0..items).try_fold(schema.field(field)?, |schema, _| schema.item())
    })
}

fn keys(names: &[(&str, Option<&str>)]) -> Option<ListType> {
    let key = |(name, default): &(&str, Option<&str>)| MapKey {
        name: (*name).into(),
        default: default.map(Into::into),
    };
    Some(ListType::Map(names.iter().map(key).collect()))
}

#[test]
fn lists_of_well_known_kinds_are_known() {
    let name = || keys(&[("name", None)]);
    let taints = || keys(&[("key", None), ("effect", None)]);
    let ports = keys(&[("port", None), ("protocol", Some("TCP"))]);
    let cases = [
        ("Cluster", "cluster.x-k8s.io/v1beta1", "spec.topology.workers.machineDeployments", name()),
        ("Cluster", "cluster.x-k8s.io/v1beta2", "spec.topology.workers.machinePools[].taints", taints()),
        (
            "ClusterClass",
            "cluster.x-k8s.io/v1beta1",
            "spec.workers.machineDeployments",
            keys(&[("class", None)]),
        ),
        ("MachineDeployment", "cluster.x-k8s.io/v1alpha4", "spec.template.spec.taints", taints()),
        (
            "KubeadmControlPlane",
            "controlplane.cluster.x-k8s.io/v1beta2",
            "spec.kubeadmConfigSpec.files",
            Some(ListType::Atomic),
        ),
        ("Service", "v1", "spec.ports", ports),
        (
            "Deployment",
            "apps/v1",
            "spec.template.spec.containers[].volumeMounts",
            keys(&[("mountPath", None)]),
        ),
        ("CronJob", "batch/v1", "spec.jobTemplate.spec.template.spec.containers", name()),
        ("Anything", "example.org/v7", "metadata.finalizers", Some(ListType::Set)),
    ];
    for (kind, version, path, expected) in cases {
        assert_eq!(at(kind, version, path).and_then(|schema| schema.list.clone()), expected, "{kind} {path}");
    }
    // A group makes a kind.
    assert!(at("Deployment", "example.org/v1", "spec.template").is_none());
}

#[test]
fn values_of_well_known_kinds_are_known() {
    use ValueKind::{Duration, Quantity, Version};
    let cases = [
        ("MachineSet", "cluster.x-k8s.io/v1beta1", "spec.template.spec.nodeDrainTimeout", Some(Duration)),
        ("Machine", "cluster.x-k8s.io/v1beta2", "spec.version", Some(Version)),
        ("RKE2ControlPlane", "controlplane.cluster.x-k8s.io/v1beta1", "spec.version", Some(Version)),
        ("Pod", "v1", "spec.initContainers[].resources.limits.cpu", Some(Quantity)),
        ("ResourceQuota", "v1", "spec.hard.pods", Some(Quantity)),
        ("ConfigMap", "v1", "data.memory", None),
    ];
    for (kind, version, path, expected) in cases {
        assert_eq!(at(kind, version, path).and_then(|schema| schema.value), expected, "{kind} {path}");
    }
}
