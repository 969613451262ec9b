//! Cluster API Provider OCI, v1beta1 to v1beta2
//! (<https://github.com/oracle/cluster-api-provider-oci/blob/main/api/v1beta1/conversion.go>).

use super::rule::TableRule::{self, Hand, In, Move, Silent};
use super::rule::{ConversionTable, ServedSince, TablePart};
use super::run::{TableRun, own, says_something};
use crate::conversion::step::ConversionStep::{Remove, Replace};
use capstan_model::object::FieldPath;
use capstan_yaml::Node;

pub(super) const TABLE: ConversionTable = ConversionTable {
    group: "infrastructure.cluster.x-k8s.io",
    versions: ("v1beta1", "v1beta2"),
    since: ServedSince::release("infrastructure-oci", "v0.9.0"),
    parts: &[
        TablePart {
            at: &[
                ("OCICluster", "spec"),
                ("OCIClusterTemplate", "spec.template.spec"),
                ("OCIManagedCluster", "spec"),
                ("OCIManagedClusterTemplate", "spec.template.spec"),
            ],
            rules: &[In("networkSpec.vcn", NETWORK)],
        },
        TablePart {
            at: &[("OCIMachine", "spec"), ("OCIMachineTemplate", "spec.template.spec")],
            rules: &[Hand(group)],
        },
        TablePart {
            at: &[("OCIMachinePool", "spec")],
            rules: &[In(
                "instanceConfiguration",
                &[Silent(
                    "isPvEncryptionInTransitEnabled",
                    "true",
                    "where nothing is said, v1beta1 encrypts, and v1beta2 fills in nothing: the old meaning is written out",
                )],
            )],
        },
        TablePart {
            at: &[
                ("OCIClusterIdentity", "spec"),
                ("OCIMachinePoolMachine", "spec"),
                ("OCIManagedControlPlane", "spec"),
                ("OCIManagedControlPlaneTemplate", "spec.template.spec"),
                ("OCIManagedMachinePool", "spec"),
                ("OCIManagedMachinePoolTemplate", "spec.template.spec"),
                ("OCIVirtualMachinePool", "spec"),
            ],
            rules: &[],
        },
    ],
};

const NETWORK: &[TableRule] = &[
    Move("internetGatewayId", "internetGateway.id"),
    Move("natGatewayId", "natGateway.id"),
    Move("serviceGatewayId", "serviceGateway.id"),
    Move("privateRouteTableId", "routeTable.privateRouteTableId"),
    Move("publicRouteTableId", "routeTable.publicRouteTableId"),
    Move("networkSecurityGroups", "networkSecurityGroup.list"),
];

/// A machine's security group is one of several.
fn group(run: &mut TableRun<'_>, base: &FieldPath) {
    let (place, names) = (base.key("nsgName"), base.key("networkDetails").key("nsgNames"));
    let Some(node) = run.object.at(&place).filter(|node| says_something(node)).map(own) else {
        return run.step(Remove { at: place });
    };
    if run.object.at(&names).is_some_and(says_something) {
        run.note(&place, "`networkDetails.nsgNames` counts, so this has no effect and goes");
        return run.step(Remove { at: place });
    }
    run.step(Remove { at: names.clone() });
    run.step(Replace { at: place.clone(), value: Node::sequence([node]) });
    run.go(&place, &names);
}
