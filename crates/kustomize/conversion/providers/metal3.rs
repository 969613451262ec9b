//! Cluster API Provider Metal3, v1beta1 to v1beta2
//! (<https://github.com/metal3-io/cluster-api-provider-metal3/blob/main/api/v1beta1/conversion.go>).

use super::rule::TableRule::{
    self, Choices, Each, Empty, Hand, In, Least, Leave, Move, Named, Not, Only, Pairs, Required, Say,
    Seconds, Silent, Unique, Zero,
};
use super::rule::{ConversionTable, ServedSince, ShortDuration, TablePart};
use super::run::{TableRun, says_something};
use crate::conversion::step::ConversionStep::Remove;
use capstan_model::object::FieldPath;

pub(super) const TABLE: ConversionTable = ConversionTable {
    group: "infrastructure.cluster.x-k8s.io",
    versions: ("v1beta1", "v1beta2"),
    since: ServedSince::release("infrastructure-metal3", "v1.13.0"),
    parts: &[
        TablePart {
            at: &[("Metal3Cluster", "spec"), ("Metal3ClusterTemplate", "spec.template.spec")],
            rules: CLUSTER,
        },
        TablePart {
            at: &[("Metal3ClusterTemplate", "spec")],
            rules: &[Say(
                "the provider converts nothing of this kind: what the cluster has stored keeps its old fields until the \
                 template is applied again",
            )],
        },
        TablePart {
            at: &[("Metal3Machine", "spec"), ("Metal3MachineTemplate", "spec.template.spec")],
            rules: &[
                In(
                    "image",
                    &[
                        Move("format", "diskFormat"),
                        Choices("diskFormat", &["raw", "qcow2", "vdi", "vmdk", "live-iso"]),
                    ],
                ),
                Only("dataTemplate", NAMED),
                In("hostSelector", &[Unique("matchExpressions", "key")]),
            ],
        },
        TablePart { at: &[("Metal3MachineTemplate", "spec")], rules: &[Zero("nodeReuse")] },
        TablePart {
            at: &[("Metal3Data", "spec")],
            rules: &[Only("claim", NAMED), Only("template", NAMED), Leave("templateReference", REFERENCE)],
        },
        TablePart { at: &[("Metal3DataClaim", "spec")], rules: &[Only("template", NAMED)] },
        TablePart { at: &[("Metal3DataTemplate", "spec")], rules: DATA },
        TablePart {
            at: &[("Metal3Remediation", "spec"), ("Metal3RemediationTemplate", "spec.template.spec")],
            rules: &[In(
                "strategy",
                &[
                    Seconds(
                        "timeout",
                        "timeoutSeconds",
                        ShortDuration::Least(
                            100,
                            "the newer version waits 600 seconds where nothing is said",
                        ),
                    ),
                    Least("retryLimit", 1),
                    Choices("type", &["Reboot"]),
                ],
            )],
        },
    ],
};

const NAMED: &[&str] = &["name", "namespace"];

const REFERENCE: &str = "v1beta2 knows no templates that share their indexes, and drops it without a word";

const CLUSTER: &[TableRule] = &[
    Named("failureDomains", "name"),
    Each("failureDomains", &[Zero("controlPlane")]),
    Hand(same_cloud_provider),
    Not("noCloudProvider", "cloudProviderEnabled"),
    Silent(
        "cloudProviderEnabled",
        "true",
        "where nothing is said, the older version expects a cloud provider, and the newer one none: the old meaning is \
         written out",
    ),
    Empty("controlPlaneEndpoint"),
];

/// Both names of the cloud provider's switch, saying the same.
fn same_cloud_provider(run: &mut TableRun<'_>, base: &FieldPath) {
    let (older, newer) = (base.key("noCloudProvider"), base.key("cloudProviderEnabled"));
    let truth = |path: &FieldPath| run.object.at(path).and_then(|node| node.value().as_bool());
    match (truth(&older), truth(&newer)) {
        (Some(no), Some(enabled)) if no != enabled => run.step(Remove { at: older }),
        (Some(_), Some(_)) => {
            let why = "it says the opposite of `cloudProviderEnabled`, and the newer version has that alone";
            run.refuse(&older, why, "take out one of the two");
            run.step(Remove { at: older });
        }
        _ => {}
    }
}

/// Templates with the same reference share their indexes: machines of one get no address that a machine of another has.
/// A template that names itself shares them with those that name it, which are refused.
fn shared_indexes(run: &mut TableRun<'_>, base: &FieldPath) {
    let place = base.key("templateReference");
    let Some(named) = run.found(&place).filter(says_something) else { return run.step(Remove { at: place }) };
    let own = run.object.get("metadata").and_then(|metadata| metadata.text_at("name"));
    if own.is_some() && named.as_str() == own {
        run.note(&place, REFERENCE);
        return run.step(Remove { at: place });
    }
    let advice = "take it out, if no machine has its data from another template with this reference; else let all machines \
                  take theirs from one template first";
    run.refuse(&place, format!("{REFERENCE}: two machines could then get the same address"), advice);
}

const DATA: &[TableRule] = &[
    Hand(shared_indexes),
    In(
        "metaData",
        &[
            Move("ipAddressesFromIPPool", "ipAddressesFromPool"),
            Move("prefixesFromIPPool", "prefixesFromPool"),
            Move("gatewaysFromIPPool", "gatewaysFromPool"),
            Move("dnsServersFromIPPool", "dnsServersFromPool"),
            Each("indexes", &[Zero("offset")]),
            Unique("ipAddressesFromPool", "key"),
            Unique("prefixesFromPool", "key"),
            Unique("gatewaysFromPool", "key"),
            Unique("dnsServersFromPool", "key"),
            Unique("fromAnnotations", "key"),
            Unique("fromHostInterfaces", "key"),
            Unique("fromLabels", "key"),
            Unique("indexes", "key"),
            Unique("namespaces", "key"),
            Unique("objectNames", "key"),
            Unique("strings", "key"),
        ],
    ),
    In(
        "networkData.links",
        &[
            Each(
                "bonds",
                &[
                    Pairs("parameters", ["name", "value"]),
                    Required("parameters", "write the bond's parameters: `parameters: {miimon: 100}`"),
                    Least("mtu", 1280),
                ],
            ),
            Each("ethernets", &[Least("mtu", 1280)]),
            Each("vlans", &[Least("mtu", 1280)]),
            Unique("bonds", "id"),
            Unique("ethernets", "id"),
            Unique("vlans", "vlanID"),
        ],
    ),
    In(
        "networkData.networks",
        &[
            Each("ipv4", ROUTES),
            Each("ipv4DHCP", ROUTES),
            Each("ipv6", ROUTES),
            Each("ipv6DHCP", ROUTES),
            Each("ipv6SLAAC", ROUTES),
            Unique("ipv4", "id"),
            Unique("ipv4DHCP", "id"),
            Unique("ipv6", "id"),
            Unique("ipv6DHCP", "id"),
            Unique("ipv6SLAAC", "id"),
        ],
    ),
];

const ROUTES: &[TableRule] = &[Each("routes", &[Zero("prefix")]), Unique("routes", "network")];
