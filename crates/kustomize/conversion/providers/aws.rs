//! Cluster API Provider AWS, v1beta1 to v1beta2
//! (<https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/api/v1beta1/conversion.go>).

use super::rule::TableRule::{self, Each, In, Move, Refuse, Required, Silent, Unique};
use super::rule::{ConversionTable, ServedSince, TablePart};

const VERSIONS: (&str, &str) = ("v1beta1", "v1beta2");

pub(super) const INFRASTRUCTURE: ConversionTable = ConversionTable {
    group: "infrastructure.cluster.x-k8s.io",
    versions: VERSIONS,
    since: ServedSince::release("infrastructure-aws", "v2.0.0"),
    parts: &[
        TablePart {
            at: &[("AWSCluster", "spec"), ("AWSClusterTemplate", "spec.template.spec")],
            rules: &[In(
                "network",
                &[
                    Each(
                        "subnets",
                        &[Required("id", "write the subnet's id, or a name for one that is made")],
                    ),
                    Unique("subnets", "id"),
                ],
            )],
        },
        TablePart {
            at: &[("AWSMachine", "spec"), ("AWSMachineTemplate", "spec.template.spec")],
            rules: MACHINE,
        },
        TablePart {
            at: &[("AWSManagedMachinePool", "spec")],
            rules: &[In("updateConfig", &[Move("maxUnavailablePrecentage", "maxUnavailablePercentage")])],
        },
        TablePart {
            at: &[
                ("AWSClusterControllerIdentity", "spec"),
                ("AWSClusterRoleIdentity", "spec"),
                ("AWSClusterStaticIdentity", "spec"),
                ("AWSFargateProfile", "spec"),
                ("AWSMachinePool", "spec"),
            ],
            rules: &[],
        },
    ],
};

pub(super) const PLANES: ConversionTable = ConversionTable {
    group: "controlplane.cluster.x-k8s.io",
    versions: VERSIONS,
    since: ServedSince::release("infrastructure-aws", "v2.0.0"),
    parts: &[TablePart {
        at: &[("AWSManagedControlPlane", "spec")],
        rules: &[
            Move("disableVPCCNI", "vpcCni.disable"),
            Each(
                "addons",
                &[Silent(
                    "conflictResolution",
                    "none",
                    "where nothing is said, v1beta1 leaves what an addon finds changed, and v1beta2 overwrites it: the \
                     old meaning is written out",
                )],
            ),
        ],
    }],
};

pub(super) const CONFIGS: ConversionTable = ConversionTable {
    group: "bootstrap.cluster.x-k8s.io",
    versions: VERSIONS,
    since: ServedSince::release("infrastructure-aws", "v2.0.0"),
    parts: &[TablePart {
        at: &[("EKSConfig", "spec"), ("EKSConfigTemplate", "spec.template.spec")],
        rules: &[],
    }],
};

const MACHINE: &[TableRule] = &[
    Refuse(
        "failureDomain",
        "the newer version has no such field: it takes that of the Machine",
        "take it out, and write `spec.template.spec.failureDomain` of the MachineDeployment",
    ),
    Each("additionalSecurityGroups", &[ARN]),
    In("subnet", &[ARN]),
    In(
        "ignition",
        &[Silent(
            "version",
            "'2.3'",
            "where nothing is said, v1beta1 writes Ignition 2.3, and v1beta2 what it takes by itself: the old meaning is \
             written out",
        )],
    ),
];

const ARN: TableRule =
    Refuse("arn", "the newer version has no such field", "write the `id`, or filters that find the one");
