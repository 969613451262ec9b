//! Cluster API Provider Scaleway, v1alpha1 to v1alpha2
//! (<https://github.com/scaleway/cluster-api-provider-scaleway>).

use super::rule::TableRule::{self, In, Move};
use super::rule::{ConversionTable, ServedSince, TablePart};
use super::run::{TableRun, says_something};
use capstan_model::object::FieldPath;

pub(super) const TABLE: ConversionTable = ConversionTable {
    group: "infrastructure.cluster.x-k8s.io",
    versions: ("v1alpha1", "v1alpha2"),
    since: ServedSince::release("infrastructure-scaleway", "v0.2.0"),
    parts: &[
        TablePart {
            at: &[("ScalewayCluster", "spec"), ("ScalewayClusterTemplate", "spec.template.spec")],
            rules: &[In("network", NETWORK), TableRule::Empty("controlPlaneEndpoint")],
        },
        TablePart {
            at: &[("ScalewayMachine", "spec"), ("ScalewayMachineTemplate", "spec.template.spec")],
            rules: &[TableRule::Silent(
                "commercialType",
                "PRO2-S",
                "where nothing is said, v1alpha1 fills in `PRO2-S`, and v1alpha2 requires the field: the old value is \
                 written out",
            )],
        },
        TablePart {
            at: &[
                ("ScalewayManagedCluster", "spec"),
                ("ScalewayManagedControlPlane", "spec"),
                ("ScalewayManagedMachinePool", "spec"),
            ],
            rules: &[],
        },
    ],
};

const NETWORK: &[TableRule] =
    &[TableRule::Hand(private_name), Move("controlPlanePrivateDNS.name", "controlPlaneDNS.name")];

/// A name in a public zone has no counterpart beside a private load balancer.
fn private_name(run: &mut TableRun<'_>, base: &FieldPath) {
    let is_private = run
        .object
        .at(&base.key("controlPlaneLoadBalancer").key("private"))
        .is_some_and(|node| node.value() == true);
    let place = base.key("controlPlaneDNS");
    if is_private && run.object.at(&place).is_some_and(says_something) {
        let why =
            "beside a private load balancer the newer version reads it as a name of the private network";
        run.refuse(&place, why, "write `controlPlanePrivateDNS`, or take `private` out");
    }
}
