//! Cluster API Provider Hetzner, v1beta1 to v1beta2
//! (<https://github.com/syself/cluster-api-provider-hetzner/blob/main/api/v1beta1/conversion.go>).

use super::rule::TableRule::{
    self, Distinct, Empty, Group, In, Move, NotPositive, Refuse, Required, Seconds, Unique,
};
use super::rule::{ConversionTable, ServedSince, ShortDuration, TablePart};

pub(super) const TABLE: ConversionTable = ConversionTable {
    group: "infrastructure.cluster.x-k8s.io",
    versions: ("v1beta1", "v1beta2"),
    since: ServedSince::coming("infrastructure-hetzner", "v1.2.0"),
    parts: &[
        TablePart {
            at: &[("HetznerCluster", "spec"), ("HetznerClusterTemplate", "spec.template.spec")],
            rules: &[
                In("sshKeys", &[Move("robotRescueSecretRef", "rescueSecretRef"), Unique("hcloud", "name")]),
                Unique("hcloudPlacementGroups", "name"),
                Distinct("controlPlaneRegions"),
                Empty("controlPlaneEndpoint"),
            ],
        },
        TablePart {
            at: &[("HCloudMachine", "spec"), ("HCloudMachineTemplate", "spec.template.spec")],
            rules: &[Unique("sshKeys", "name")],
        },
        TablePart {
            at: &[
                ("HetznerBareMetalMachine", "spec"),
                ("HetznerBareMetalMachineTemplate", "spec.template.spec"),
            ],
            rules: &[],
        },
        TablePart {
            at: &[
                ("HCloudRemediation", "spec"),
                ("HCloudRemediationTemplate", "spec.template.spec"),
                ("HetznerBareMetalRemediation", "spec"),
                ("HetznerBareMetalRemediationTemplate", "spec.template.spec"),
            ],
            rules: REMEDIATION,
        },
        TablePart {
            at: &[("HetznerBareMetalHost", "spec")],
            rules: &[
                Group("consumerRef", "consumerRef"),
                Refuse(
                    "status",
                    "it is the host's state, which the newer version keeps in `status`",
                    "take it out: an exported host is not a file for Git",
                ),
            ],
        },
    ],
};

const REMEDIATION: &[TableRule] = &[In(
    "strategy",
    &[
        Seconds("timeout", "timeoutSeconds", ShortDuration::One),
        Required("timeoutSeconds", "write how long a remediation may take: `timeout: 300s`"),
        Seconds("cooldown", "cooldownSeconds", ShortDuration::One),
        NotPositive("retryLimit"),
    ],
)];
