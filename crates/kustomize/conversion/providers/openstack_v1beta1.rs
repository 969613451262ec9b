//! Cluster API Provider OpenStack, v1beta1 to v1beta2
//! (<https://github.com/kubernetes-sigs/cluster-api-provider-openstack/blob/main/docs/book/src/topics/crd-changes/v1beta1-to-v1beta2.md>).

use super::rule::TableRule::{self, Choices, Each, Empty, In, Move, Not, Required, Wins, Wrap};
use super::rule::{ConversionTable, ServedSince, TablePart};

/// Where a machine is described, since v1beta1.
pub(super) const MACHINES: &[(&str, &str)] = &[
    ("OpenStackMachine", "spec"),
    ("OpenStackMachineTemplate", "spec.template.spec"),
    ("OpenStackCluster", "spec.bastion.spec"),
    ("OpenStackClusterTemplate", "spec.template.spec.bastion.spec"),
];

pub(super) const TABLE: ConversionTable = ConversionTable {
    group: "infrastructure.cluster.x-k8s.io",
    versions: ("v1beta1", "v1beta2"),
    since: ServedSince::coming("infrastructure-openstack", "v0.15.0-alpha.0"),
    parts: &[
        TablePart { at: MACHINES, rules: MACHINE },
        TablePart {
            at: &[("OpenStackCluster", "spec"), ("OpenStackClusterTemplate", "spec.template.spec")],
            rules: CLUSTER,
        },
    ],
};

const MACHINE: &[TableRule] = &[
    Wins("flavorID", "flavor"),
    Wrap("flavor", "filter.name"),
    Move("flavorID", "flavor.id"),
    Required("flavor", "write the flavor's name: `flavor: m1.large`"),
    Each("ports", &[Not("disablePortSecurity", "enablePortSecurity")]),
    Each("additionalBlockDevices", &[In("storage", &[Choices("type", &["Local", "Volume"])])]),
];

const CLUSTER: &[TableRule] = &[
    Move("apiServerFloatingIP", "apiServer.floatingIP"),
    Move("apiServerFixedIP", "apiServer.fixedIP"),
    Move("apiServerPort", "apiServer.port"),
    Not("disableAPIServerFloatingIP", "apiServer.enableFloatingIP"),
    Move("apiServerLoadBalancer", "apiServer.managedLoadBalancer"),
    Not("disableExternalNetwork", "enableExternalNetwork"),
    Move("networkMTU", "managedNetwork.mtu"),
    Not("disablePortSecurity", "managedNetwork.enablePortSecurity"),
    Empty("externalRouterIPs"),
    Move("externalRouterIPs", "managedRouter.externalIPs"),
    In(
        "managedSecurityGroups",
        &[
            Empty("allNodesSecurityGroupRules"),
            Move("allNodesSecurityGroupRules", "clusterNodesSecurityGroupRules"),
        ],
    ),
    Empty("controlPlaneEndpoint"),
];
