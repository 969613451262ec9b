//! Kinds of which `apiVersion` changes, and no field.

use super::rule::Rule::{Choices, Each, Say};
use super::rule::{Part, Table};

pub(super) const KAMAJI: Table = Table {
    group: "controlplane.cluster.x-k8s.io",
    versions: ("v1alpha1", "v1alpha2"),
    parts: &[Part {
        at: &[("KamajiControlPlane", "spec"), ("KamajiControlPlaneTemplate", "spec.template.spec")],
        rules: &[Say(
            "the provider converts nothing, and a release of it serves one of the two versions alone: change this together \
             with the provider",
        )],
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

pub(super) const HARVESTER: Table = Table {
    group: "infrastructure.cluster.x-k8s.io",
    versions: ("v1alpha1", "v1beta1"),
    parts: &[
        Part {
            at: &[("HarvesterMachine", "spec"), ("HarvesterMachineTemplate", "spec.template.spec")],
            rules: &[Each("volumes", &[Choices("volumeType", &["storageClass", "image"])])],
        },
        Part {
            at: &[("HarvesterCluster", "spec"), ("HarvesterClusterTemplate", "spec.template.spec")],
            rules: &[],
        },
    ],
};

/// OpenShift's agent.
pub(super) const AGENT: Table = Table {
    group: "capi-provider.agent-install.openshift.io",
    versions: ("v1alpha1", "v1beta1"),
    parts: &[Part {
        at: &[
            ("AgentCluster", "spec"),
            ("AgentMachine", "spec"),
            ("AgentMachineTemplate", "spec.template.spec"),
        ],
        rules: &[],
    }],
};

/// Runtime extensions of Cluster API itself.
pub(super) const EXTENSIONS: Table = Table {
    group: "runtime.cluster.x-k8s.io",
    versions: ("v1alpha1", "v1beta2"),
    parts: &[Part { at: &[("ExtensionConfig", "spec")], rules: &[] }],
};
