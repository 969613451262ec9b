//! Kinds of which `apiVersion` changes, and no field; of some the newer version takes fewer values.

use super::rule::TableRule::{Choices, Each, Say};
use super::rule::{ConversionTable, ServedSince, TablePart};

pub(super) const KAMAJI: ConversionTable = ConversionTable {
    group: "controlplane.cluster.x-k8s.io",
    versions: ("v1alpha1", "v1alpha2"),
    since: ServedSince::release("control-plane-kamaji", "v0.20.0"),
    parts: &[TablePart {
        at: &[("KamajiControlPlane", "spec"), ("KamajiControlPlaneTemplate", "spec.template.spec")],
        rules: &[Say(
            "the provider converts nothing, and a release of it serves one of the two versions alone: change this together \
             with the provider",
        )],
    }],
};

pub(super) const AZURE: ConversionTable = ConversionTable {
    group: "infrastructure.cluster.x-k8s.io",
    versions: ("v1alpha1", "v1beta1"),
    since: ServedSince::release("infrastructure-azure", "v1.20.0"),
    parts: &[TablePart {
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

pub(super) const TALOS: ConversionTable = ConversionTable {
    group: "bootstrap.cluster.x-k8s.io",
    versions: ("v1alpha3", "v1beta1"),
    since: ServedSince::coming("bootstrap-talos", "v0.7.0-alpha.1"),
    parts: &[TablePart {
        at: &[("TalosConfig", "spec"), ("TalosConfigTemplate", "spec.template.spec")],
        rules: &[Choices("generateType", &["controlplane", "worker", "init", "none"])],
    }],
};

pub(super) const HARVESTER: ConversionTable = ConversionTable {
    group: "infrastructure.cluster.x-k8s.io",
    versions: ("v1alpha1", "v1beta1"),
    since: None,
    parts: &[
        TablePart {
            at: &[("HarvesterMachine", "spec"), ("HarvesterMachineTemplate", "spec.template.spec")],
            rules: &[Each("volumes", &[Choices("volumeType", &["storageClass", "image"])])],
        },
        TablePart {
            at: &[("HarvesterCluster", "spec"), ("HarvesterClusterTemplate", "spec.template.spec")],
            rules: &[],
        },
    ],
};

/// OpenShift's agent.
pub(super) const AGENT: ConversionTable = ConversionTable {
    group: "capi-provider.agent-install.openshift.io",
    versions: ("v1alpha1", "v1beta1"),
    since: None,
    parts: &[TablePart {
        at: &[
            ("AgentCluster", "spec"),
            ("AgentMachine", "spec"),
            ("AgentMachineTemplate", "spec.template.spec"),
        ],
        rules: &[],
    }],
};

/// Runtime extensions of Cluster API itself.
pub(super) const EXTENSIONS: ConversionTable = ConversionTable {
    group: "runtime.cluster.x-k8s.io",
    versions: ("v1alpha1", "v1beta2"),
    since: ServedSince::release("cluster-api", "v1.11.0"),
    parts: &[TablePart { at: &[("ExtensionConfig", "spec")], rules: &[] }],
};
