//! Cluster API Provider OpenStack, v1alpha7 to v1beta1
//! (<https://github.com/kubernetes-sigs/cluster-api-provider-openstack/blob/main/docs/book/src/topics/crd-changes/v1alpha7-to-v1beta1.md>).

use super::openstack_v1beta1::MACHINES;
use super::rule::TableRule::{
    self, Ask, Drop, Each, Empty, Hand, In, Least, Move, Pairs, Required, Silent, Split, Uuid, Wins, Wrap,
    Zero,
};
use super::rule::{ConversionTable, ServedSince, TablePart};
use super::run::{TableRun, below, own, says_something, written};
use crate::conversion::has_variables::has_variables;
use crate::conversion::step::ConversionStep::{Add, Move as Go, Remove, Replace};
use capstan_model::object::FieldPath;
use capstan_yaml::{Node, NodeKind};

pub(super) const TABLE: ConversionTable = ConversionTable {
    group: "infrastructure.cluster.x-k8s.io",
    versions: ("v1alpha7", "v1beta1"),
    since: ServedSince::release("infrastructure-openstack", "v0.10.0"),
    parts: &[
        TablePart {
            at: &[("OpenStackCluster", "spec"), ("OpenStackClusterTemplate", "spec.template.spec")],
            rules: CLUSTER,
        },
        TablePart {
            at: &[("OpenStackMachine", "spec"), ("OpenStackMachineTemplate", "spec.template.spec")],
            rules: &[Ask(
                "floatingIP",
                "v1beta1 has no floating IP of a machine: v1alpha7 gives the machine this address, v1beta1 none",
                "take it out, and name a pool in `floatingIPPoolRef` where the machine needs an address",
            )],
        },
        TablePart { at: MACHINES, rules: MACHINE },
    ],
};

const CLUSTER: &[TableRule] = &[
    Hand(cluster_identity),
    Move("externalNetworkId", "externalNetwork.id"),
    In("externalNetwork", &[Uuid("id")]),
    In("network", FILTER),
    In("router", FILTER),
    In("subnet", FILTER),
    Hand(subnet),
    Each("externalRouterIPs", &[In("subnet", FILTER)]),
    Move("networkMtu", "networkMTU"),
    In(
        "apiServerLoadBalancer",
        &[
            Move("allowedCidrs", "allowedCIDRs"),
            Silent(
                "enabled",
                "false",
                "v1alpha7 has no load balancer where `enabled` is absent, v1beta1 has one",
            ),
        ],
    ),
    In(
        "bastion",
        &[
            Move("instance.floatingIP", "floatingIP"),
            Move("instance", "spec"),
            Silent("enabled", "false", "v1alpha7 has no bastion where `enabled` is absent, v1beta1 has one"),
        ],
    ),
    Hand(managed_subnet),
    Hand(security_groups),
];

const MACHINE: &[TableRule] = &[
    Hand(machine_identity),
    Wins("imageUUID", "image"),
    Wrap("image", "filter.name"),
    Uuid("imageUUID"),
    Move("imageUUID", "image.id"),
    Required("image", "name the machine's image"),
    Uuid("serverGroupID"),
    Move("serverGroupID", "serverGroup.id"),
    Drop("instanceID"),
    Hand(metadata),
    Pairs("serverMetadata", ["key", "value"]),
    In(
        "rootVolume",
        &[Move("diskSize", "sizeGiB"), Least("sizeGiB", 1), Move("volumeType", "type"), Hand(volume_zone)],
    ),
    Each("additionalBlockDevices", &[Least("sizeGiB", 1), In("storage.volume", &[Hand(volume_zone)])]),
    Each("securityGroups", FILTER),
    Each(
        "ports",
        &[
            Move("securityGroupFilters", "securityGroups"),
            Each("securityGroups", FILTER),
            Move("hostId", "hostID"),
            In("network", FILTER),
            Each("fixedIPs", &[In("subnet", FILTER)]),
            Each("allowedAddressPairs", &[Required("ipAddress", "write the address of the pair")]),
        ],
    ),
];

/// What names a network, subnet, router or security group: an `id` alone, or a filter.
const FILTER: &[TableRule] = &[
    Empty("id"),
    Uuid("id"),
    Zero("ipVersion"),
    Wins("id", "name"),
    Wins("id", "description"),
    Wins("id", "projectId"),
    Wins("id", "tags"),
    Wins("id", "tagsAny"),
    Wins("id", "notTags"),
    Wins("id", "notTagsAny"),
    Wins("id", "cidr"),
    Wins("id", "gateway_ip"),
    Wins("id", "ipVersion"),
    Wins("id", "ipv6AddressMode"),
    Wins("id", "ipv6RaMode"),
    Empty("name"),
    Empty("description"),
    Empty("projectId"),
    Empty("cidr"),
    Empty("gateway_ip"),
    Empty("ipv6AddressMode"),
    Empty("ipv6RaMode"),
    Split("tags"),
    Split("tagsAny"),
    Split("notTags"),
    Split("notTagsAny"),
    Move("name", "filter.name"),
    Move("description", "filter.description"),
    Move("projectId", "filter.projectID"),
    Move("tags", "filter.tags"),
    Move("tagsAny", "filter.tagsAny"),
    Move("notTags", "filter.notTags"),
    Move("notTagsAny", "filter.notTagsAny"),
    Move("cidr", "filter.cidr"),
    Move("gateway_ip", "filter.gatewayIP"),
    Move("ipVersion", "filter.ipVersion"),
    Move("ipv6AddressMode", "filter.ipv6AddressMode"),
    Move("ipv6RaMode", "filter.ipv6RAMode"),
];

fn cluster_identity(run: &mut TableRun<'_>, base: &FieldPath) {
    identity(run, base);
    let is_named = |run: &TableRun<'_>, key| run.object.at(&below(base, key)).is_some_and(says_something);
    if run.is_complete() && !is_named(run, "identityRef") && !is_named(run, "cloudName") {
        let advice = "name the Secret with the cloud's credential: `identityRef: {name: …, cloudName: …}`";
        run.refuse(&base.key("identityRef"), "v1beta1 requires the identity of a cluster", advice);
    }
}

/// A machine's cloud is one of its own Secret; without one it is made as its cluster says.
fn machine_identity(run: &mut TableRun<'_>, base: &FieldPath) {
    let is_named = |run: &TableRun<'_>, key| run.object.at(&below(base, key)).is_some_and(says_something);
    if run.is_whole() && is_named(run, "cloudName") && !is_named(run, "identityRef.name") {
        let cloud = base.key("cloudName");
        run.note(
            &cloud,
            "v1alpha7 reads it beside the name of a Secret alone, so this has no effect and goes",
        );
        run.step(Remove { at: cloud });
    }
    identity(run, base);
}

/// A Secret and the cloud in it: v1beta1 wants both or none.
fn identity(run: &mut TableRun<'_>, base: &FieldPath) {
    let (reference, cloud) = (base.key("identityRef"), base.key("cloudName"));
    let text = |run: &TableRun<'_>, path: &FieldPath| run.object.at(path).is_some_and(says_something);
    run.step(Remove { at: reference.key("kind") });
    let (has_name, has_cloud) = (text(run, &reference.key("name")), text(run, &cloud));
    if run.object.at(&cloud).is_some() {
        if run.is_whole() && has_cloud && !has_name {
            let advice = "write the Secret's name as well: `identityRef: {kind: Secret, name: …}`";
            return run.refuse(&cloud, "v1beta1 requires the Secret's name beside the cloud's", advice);
        }
        run.go(&cloud, &reference.key("cloudName"));
    } else if run.is_whole() && has_name {
        let advice = "write the cloud's name as well: `cloudName: …`";
        run.refuse(&reference, "v1beta1 requires the cloud's name beside the Secret's", advice);
    }
}

/// One subnet is a list of one.
fn subnet(run: &mut TableRun<'_>, base: &FieldPath) {
    let place = base.key("subnet");
    let Some(node) = run.object.at(&place).filter(|node| !node.is_null()).map(own) else { return };
    run.step(Replace { at: place.clone(), value: Node::sequence([node]) });
    run.go(&place, &base.key("subnets"));
}

/// A machine's volume is in its own zone where nothing is said; v1beta1 says that, and means another thing by silence.
fn volume_zone(run: &mut TableRun<'_>, base: &FieldPath) {
    let place = base.key("availabilityZone");
    match run.object.at(&place).filter(|node| says_something(node)).map(own) {
        Some(zone) => {
            let value = Node::mapping([("from", Node::string("Name")), ("name", zone)]);
            run.step(Replace { at: place, value });
        }
        None if run.is_whole() => {
            run.step(Remove { at: place.clone() });
            run.step(Add { at: place, value: Node::mapping([("from", Node::string("Machine"))]) });
        }
        None => {}
    }
}

/// The cloud cuts longer metadata, v1beta1 refuses them.
fn metadata(run: &mut TableRun<'_>, base: &FieldPath) {
    let place = base.key("serverMetadata");
    let entries = run.object.at(&place).and_then(Node::as_mapping).unwrap_or_default().to_vec();
    for entry in entries {
        let is_long = |text: &str| text.len() > 255 && !has_variables(text);
        if is_long(&entry.key) || entry.value.as_str().is_some_and(is_long) {
            let why = "v1beta1 takes 255 bytes of a name and of a value";
            run.refuse(&place.key(&entry.key), why, "shorten it");
        }
    }
}

/// The network's own range, and the name servers in it.
fn managed_subnet(run: &mut TableRun<'_>, base: &FieldPath) {
    let (range, servers) = (base.key("nodeCidr"), base.key("dnsNameservers"));
    let cidr = run.object.at(&range).filter(|node| says_something(node)).map(own);
    let names = run.object.at(&servers).filter(|node| says_something(node)).map(own);
    let Some(cidr) = cidr else {
        // Whether the object has a range, its part does not say.
        if names.is_some() && !run.is_whole() {
            let why = "the newer version has name servers beside their range, in a list that a part replaces as a whole";
            return run.refuse(&servers, why, "write the whole list as `managedSubnets`");
        }
        run.step(Remove { at: range });
        if names.is_some() {
            run.note(&servers, "without `nodeCidr` no subnet is made, so name servers have no effect and go");
        }
        return run.step(Remove { at: servers });
    };
    let mut subnet = vec![("cidr", cidr)];
    subnet.extend(names.map(|names| ("dnsNameservers", names)));
    run.step(Replace { at: range.clone(), value: Node::sequence([Node::mapping(subnet)]) });
    run.go(&range, &base.key("managedSubnets"));
    run.step(Remove { at: servers });
}

/// What v1alpha7 opens in every managed security group for Calico, and v1beta1 where it is written.
const CALICO: &str = "\
allNodesSecurityGroupRules:
- {name: BGP (calico), description: Created by cluster-api-provider-openstack - BGP (calico), direction: ingress, etherType: IPv4, portRangeMin: 179, portRangeMax: 179, protocol: tcp, remoteManagedGroups: [controlplane, worker]}
- {name: IP-in-IP (calico), description: Created by cluster-api-provider-openstack - IP-in-IP (calico), direction: ingress, etherType: IPv4, protocol: '4', remoteManagedGroups: [controlplane, worker]}
";

fn security_groups(run: &mut TableRun<'_>, base: &FieldPath) {
    let (place, traffic) = (base.key("managedSecurityGroups"), base.key("allowAllInClusterTraffic"));
    let is_true =
        |run: &TableRun<'_>, path: &FieldPath| run.object.at(path).is_some_and(|node| node.value() == true);
    for path in [&place, &traffic] {
        let is_other = run.object.at(path).is_some_and(|node| !node.is_null() && !node.value().is_boolean());
        if is_other {
            let why = "v1beta1 has a mapping where this is true, and what it becomes is not known here";
            return run.refuse(path, why, "write true or false");
        }
    }
    if run.object.at(&place).is_none() && !run.is_whole() {
        return;
    }
    let is_open = is_true(run, &traffic);
    if !is_true(run, &place) {
        run.step(Remove { at: place });
        return run.step(Remove { at: traffic });
    }
    if is_open {
        run.step(Replace { at: place.clone(), value: Node::new(NodeKind::Mapping(Vec::new())) });
        return run.step(Go { from: traffic, to: place.key("allowAllInClusterTraffic") });
    }
    run.step(Remove { at: traffic });
    let Some(value) = written(CALICO) else { return };
    run.step(Replace { at: place.clone(), value });
    run.note(
        &place,
        "v1alpha7 opens BGP and IP-in-IP for Calico by itself, v1beta1 does not: the two rules are written out; a cluster \
         with another network plugin may take them out",
    );
}
