//! Cluster API Provider vSphere, v1beta1 to v1beta2, in both of its modes
//! (<https://github.com/kubernetes-sigs/cluster-api-provider-vsphere/tree/main/api>).

use super::rule::TableRule::{
    self, Ask, Choices, Each, Empty, In, Least, Move, Only, Refuse, RefuseTrue, Required, Seconds, Silent,
    Zero,
};
use super::rule::{ConversionTable, ServedSince, ShortDuration, TablePart};

pub(super) const GOVMOMI: ConversionTable = ConversionTable {
    group: "infrastructure.cluster.x-k8s.io",
    versions: ("v1beta1", "v1beta2"),
    since: ServedSince::release("infrastructure-vsphere", "v1.16.0"),
    parts: &[
        TablePart {
            at: &[("VSphereMachine", "spec"), ("VSphereMachineTemplate", "spec.template.spec")],
            rules: &[FAILURE_DOMAIN],
        },
        TablePart {
            at: &[
                ("VSphereMachine", "spec"),
                ("VSphereMachineTemplate", "spec.template.spec"),
                ("VSphereVM", "spec"),
            ],
            rules: MACHINE,
        },
        TablePart { at: &[("VSphereVM", "spec")], rules: &[Only("bootstrapRef", &["name"])] },
        TablePart {
            at: &[("VSphereFailureDomain", "spec")],
            rules: &[
                In("region", &[AUTO]),
                In("zone", &[AUTO]),
                In("topology", &[Each("networkConfigurations", &[POOLS])]),
            ],
        },
        TablePart {
            at: &[("VSphereDeploymentZone", "spec")],
            rules: &[Required("failureDomain", "write the name of the VSphereFailureDomain")],
        },
        TablePart {
            at: &[("VSphereClusterIdentity", "spec")],
            rules: &[Required("secretName", "write the name of the Secret with the credential")],
        },
        TablePart {
            at: &[("VSphereCluster", "spec"), ("VSphereClusterTemplate", "spec.template.spec")],
            rules: &[Required("server", "write the address of the vCenter"), Empty("controlPlaneEndpoint")],
        },
    ],
};

pub(super) const SUPERVISOR: ConversionTable = ConversionTable {
    group: "vmware.infrastructure.cluster.x-k8s.io",
    versions: ("v1beta1", "v1beta2"),
    since: ServedSince::release("infrastructure-vsphere", "v1.16.0"),
    parts: &[
        TablePart {
            at: &[("VSphereMachine", "spec"), ("VSphereMachineTemplate", "spec.template.spec")],
            rules: &[
                FAILURE_DOMAIN,
                POWER_OFF,
                Move("namingStrategy", "naming"),
                In(
                    "network.interfaces",
                    &[
                        In("primary", &[Move("network", "networkRef")]),
                        Each("secondary", &[Move("network", "networkRef")]),
                    ],
                ),
            ],
        },
        TablePart {
            at: &[("VSphereCluster", "spec"), ("VSphereClusterTemplate", "spec.template.spec")],
            rules: &[Empty("controlPlaneEndpoint")],
        },
        TablePart { at: &[("ProviderServiceAccount", "spec")], rules: &[] },
    ],
};

const FAILURE_DOMAIN: TableRule = Ask(
    "failureDomain",
    "v1beta1 places the machine in this failure domain; v1beta2 has no such field, takes that of the Machine, and drops \
     this without a word",
    "take it out, and write `spec.template.spec.failureDomain` of the MachineDeployment, if the machines are to stay there",
);

const POWER_OFF: TableRule = Silent(
    "powerOffMode",
    "hard",
    "where nothing is said, v1beta1 fills in `hard`, and v1beta2 nothing: the old value is written out, so that a template \
     is what it was",
);

const POOLS: TableRule =
    Each("addressesFromPools", &[Required("apiGroup", "write the API group of the pool")]);

const AUTO: TableRule = RefuseTrue(
    "autoConfigure",
    "the newer version makes no tags by itself",
    "make the tag and its category in vCenter, and take this out",
);

const MACHINE: &[TableRule] = &[
    POWER_OFF,
    Seconds(
        "guestSoftPowerOffTimeout",
        "guestSoftPowerOffTimeoutSeconds",
        ShortDuration::Gone("the newer version then takes its own default"),
    ),
    Move("namingStrategy", "naming"),
    In(
        "network",
        &[
            Refuse(
                "preferredAPIServerCidr",
                "the newer version has no such field, and drops it without a word",
                "take it out, if the machines' first address is the right one",
            ),
            Each("devices", &[Zero("dhcp4"), Zero("dhcp6"), POOLS]),
        ],
    ),
    Zero("numCPUs"),
    Zero("numCoresPerSocket"),
    Zero("memoryMiB"),
    Zero("diskGiB"),
    Least("numCPUs", 2),
    Choices("cloneMode", &["fullClone", "linkedClone"]),
];
