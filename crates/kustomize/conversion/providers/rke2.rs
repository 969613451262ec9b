//! Cluster API Provider RKE2, v1alpha1 to v1beta1 to v1beta2
//! (<https://github.com/rancher/cluster-api-provider-rke2/blob/main/docs/book/src/05_reference/01_api_versions.md>).

use super::rule::TableRule::{self, Ask, AskAbsent, Copied, Group, In, Leave, Move, Required, Seconds};
use super::rule::{ConversionTable, ServedSince, ShortDuration, TablePart};

pub(super) const PLANES: ConversionTable = ConversionTable {
    group: "controlplane.cluster.x-k8s.io",
    versions: ("v1beta1", "v1beta2"),
    since: ServedSince::release("control-plane-rke2", "v0.22.0"),
    parts: &[
        TablePart {
            at: &[("RKE2ControlPlane", "spec")],
            rules: &[
                // v1beta1's defaulting: what the control plane says itself counts where `machineTemplate` says nothing.
                Copied("infrastructureRef", "machineTemplate.infrastructureRef"),
                Copied("nodeDrainTimeout", "machineTemplate.nodeDrainTimeout"),
                In("machineTemplate", MACHINES),
                Required("machineTemplate.spec.infrastructureRef", "name the template of the machines"),
                AskAbsent(
                    "version",
                    "v1beta1 takes an object without a version, v1beta2 requires the one that the control plane runs",
                    "write the version of the running control plane, such as v1.33.1+rke2r1",
                ),
            ],
        },
        TablePart {
            at: &[("RKE2ControlPlaneTemplate", "spec.template.spec")],
            rules: &[
                Leave("replicas", TOPOLOGY),
                Leave("version", TOPOLOGY),
                Leave("infrastructureRef", TOPOLOGY),
                Leave("nodeDrainTimeout", TOPOLOGY),
                In("machineTemplate", MACHINES),
            ],
        },
    ],
};

const TOPOLOGY: &str =
    "the Cluster's topology sets it, and the newer version of the template has no such field";

const MACHINES: &[TableRule] = &[
    Group("infrastructureRef", "spec.infrastructureRef"),
    Seconds("nodeDrainTimeout", "spec.deletion.nodeDrainTimeoutSeconds", ShortDuration::Kept),
    Seconds("nodeVolumeDetachTimeout", "spec.deletion.nodeVolumeDetachTimeoutSeconds", ShortDuration::Kept),
    Seconds("nodeDeletionTimeout", "spec.deletion.nodeDeletionTimeoutSeconds", ShortDuration::Kept),
];

pub(super) const CONFIGS: ConversionTable = ConversionTable {
    group: "bootstrap.cluster.x-k8s.io",
    versions: ("v1beta1", "v1beta2"),
    since: ServedSince::release("bootstrap-rke2", "v0.22.0"),
    parts: &[TablePart {
        at: &[("RKE2Config", "spec"), ("RKE2ConfigTemplate", "spec.template.spec")],
        rules: &[],
    }],
};

pub(super) const OLD_PLANES: ConversionTable = ConversionTable {
    group: "controlplane.cluster.x-k8s.io",
    versions: ("v1alpha1", "v1beta1"),
    since: None,
    parts: &[TablePart {
        at: &[("RKE2ControlPlane", "spec"), ("RKE2ControlPlaneTemplate", "spec.template.spec")],
        rules: &[Move("agentConfig.version", "version")],
    }],
};

pub(super) const OLD_CONFIGS: ConversionTable = ConversionTable {
    group: "bootstrap.cluster.x-k8s.io",
    versions: ("v1alpha1", "v1beta1"),
    since: None,
    parts: &[TablePart {
        at: &[("RKE2Config", "spec"), ("RKE2ConfigTemplate", "spec.template.spec")],
        rules: &[Ask(
            "agentConfig.version",
            "v1alpha1 installs this version of RKE2; v1beta1 has no such field, and takes that of the Machine",
            "take it out, and write it as `spec.template.spec.version` of the MachineDeployment",
        )],
    }],
};
