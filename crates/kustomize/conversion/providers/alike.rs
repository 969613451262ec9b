//! Kinds of which `apiVersion` alone changes.

use super::rule::{Part, Table};

pub(super) const KAMAJI: Table = Table {
    group: "controlplane.cluster.x-k8s.io",
    versions: ("v1alpha1", "v1alpha2"),
    parts: &[Part {
        at: &[("KamajiControlPlane", "spec"), ("KamajiControlPlaneTemplate", "spec.template.spec")],
        rules: &[],
    }],
};

pub(super) const AZURE: Table = Table {
    group: "infrastructure.cluster.x-k8s.io",
    versions: ("v1alpha1", "v1beta1"),
    parts: &[Part {
        at: &[
            ("AzureASOManagedCluster", "spec"),
            ("AzureASOManagedClusterTemplate", "spec"),
            ("AzureASOManagedControlPlane", "spec"),
            ("AzureASOManagedControlPlaneTemplate", "spec"),
            ("AzureASOManagedMachinePool", "spec"),
            ("AzureASOManagedMachinePoolTemplate", "spec"),
        ],
        rules: &[],
    }],
};

pub(super) const TALOS: Table = Table {
    group: "bootstrap.cluster.x-k8s.io",
    versions: ("v1alpha3", "v1beta1"),
    parts: &[Part {
        at: &[("TalosConfig", "spec"), ("TalosConfigTemplate", "spec.template.spec")],
        rules: &[],
    }],
};
