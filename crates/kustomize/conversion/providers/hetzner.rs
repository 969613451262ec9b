//! Cluster API Provider Hetzner, v1beta1 to v1beta2
//! (<https://github.com/syself/cluster-api-provider-hetzner/blob/main/api/v1beta1/conversion.go>).

use super::rule::Rule::{self, Empty, Group, In, Move, NotPositive, Refuse, Required, Seconds, Unique};
use super::rule::{Part, Short, Table};

pub(super) const TABLE: Table = Table {
    group: "infrastructure.cluster.x-k8s.io",
    versions: ("v1beta1", "v1beta2"),
    parts: &[
        Part {
            at: &[("HetznerCluster", "spec"), ("HetznerClusterTemplate", "spec.template.spec")],
            rules: &[
                In("sshKeys", &[Move("robotRescueSecretRef", "rescueSecretRef"), Unique("hcloud", "name")]),
                Unique("hcloudPlacementGroups", "name"),
                Empty("controlPlaneEndpoint"),
            ],
        },
        Part {
            at: &[("HCloudMachine", "spec"), ("HCloudMachineTemplate", "spec.template.spec")],
            rules: &[Unique("sshKeys", "name")],
        },
        Part {
            at: &[
                ("HetznerBareMetalMachine", "spec"),
                ("HetznerBareMetalMachineTemplate", "spec.template.spec"),
            ],
            rules: &[],
        },
        Part {
            at: &[
                ("HCloudRemediation", "spec"),
                ("HCloudRemediationTemplate", "spec.template.spec"),
                ("HetznerBareMetalRemediation", "spec"),
                ("HetznerBareMetalRemediationTemplate", "spec.template.spec"),
            ],
            rules: REMEDIATION,
        },
        Part {
            at: &[("HetznerBareMetalHost", "spec")],
            rules: &[
                Group("consumerRef", "consumerRef"),
                Refuse(
                    "status",
                    "it is the host's state, which the newer version keeps in `status`",
                    "take it out: an exported host is no file for Git",
                ),
            ],
        },
    ],
};

const REMEDIATION: &[Rule] = &[In(
    "strategy",
    &[
        Seconds("timeout", "timeoutSeconds", Short::One),
        Required("timeoutSeconds", "write how long a remediation may take: `timeout: 300s`"),
        Seconds("cooldown", "cooldownSeconds", Short::One),
        NotPositive("retryLimit"),
    ],
)];
