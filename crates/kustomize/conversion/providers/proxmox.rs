//! Cluster API Provider Proxmox, v1alpha1 to v1alpha2
//! (<https://github.com/ionos-cloud/cluster-api-provider-proxmox/blob/v0.9.0/docs/migration-v0.8-v1alpha2.md>).

use super::rule::TableRule::{self, Each, Empty, Hand, In, Least, Required, Zero};
use super::rule::{ConversionTable, ServedSince, TablePart};
use super::run::{TableRun, own, says_something};
use crate::conversion::step::ConversionStep::{Remove, Replace};
use capstan_model::object::FieldPath;
use capstan_yaml::{Entry, Node, NodeKind};

pub(super) const TABLE: ConversionTable = ConversionTable {
    group: "infrastructure.cluster.x-k8s.io",
    versions: ("v1alpha1", "v1alpha2"),
    since: ServedSince::release("infrastructure-proxmox", "v0.8.0"),
    parts: &[
        TablePart {
            at: &[("ProxmoxMachine", "spec"), ("ProxmoxMachineTemplate", "spec.template.spec")],
            rules: &[
                Hand(devices),
                Each("network.vrfs", &[Least("table", 1)]),
                Hand(target),
                Hand(source),
                In(
                    "metadataSettings",
                    &[Required(
                        "providerIDInjection",
                        "write `providerIDInjection: false`, unless it is wanted",
                    )],
                ),
            ],
        },
        TablePart {
            at: &[("ProxmoxCluster", "spec"), ("ProxmoxClusterTemplate", "spec.template.spec")],
            rules: CLUSTER,
        },
    ],
};

const CLUSTER: &[TableRule] = &[
    Hand(clone_spec),
    Zero("externalManagedControlPlane"),
    In("ipv4Config", &[GATEWAY]),
    In("ipv6Config", &[GATEWAY]),
    Empty("controlPlaneEndpoint"),
];

const GATEWAY: TableRule = Required("gateway", "write the gateway of the range");

/// Here `full: false` says something: v1alpha1 clones in full where nothing is said.
fn clone_spec(run: &mut TableRun<'_>, base: &FieldPath) {
    let place = base.key("cloneSpec");
    let Some(node) = run.found(&place) else { return };
    if run.is_whole() && !holds_a_value(&node) {
        return run.step(Remove { at: place });
    }
    run.ask(
        &place,
        "v1alpha1 makes machines from it; v1alpha2 has no such field, and drops it without a word",
        "take it out, and write `machineSpec` into the ProxmoxMachineTemplates, `sshAuthorizedKeys` and \
         `virtualIPNetworkInterface` into the kubeadm config",
    );
}

fn holds_a_value(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Mapping(entries) => entries.iter().any(|entry| holds_a_value(&entry.value)),
        NodeKind::Sequence(items) => !items.is_empty(),
        NodeKind::Scalar(_) => !node.is_null(),
    }
}

/// The device by default and the others are one list; a device names its pools in one.
fn devices(run: &mut TableRun<'_>, base: &FieldPath) {
    let network = base.key("network");
    let devices = network.key("networkDevices");
    let (first, others) = (network.key("default"), network.key("additionalDevices"));
    let truth = || Node::scalar(capstan_yaml::Scalar::plain("true"));
    if run.object.at(&network).is_none_or(|node| !says_something(node)) {
        if run.is_whole() {
            run.step(Remove { at: network });
            run.write(&devices, "[{name: net0, bridge: vmbr0, defaultIPv4: true, defaultIPv6: true}]");
            run.note(&devices, "v1alpha2 requires a device, and without a network v1alpha1 has this one");
        }
        return;
    }
    let of_first = run.object.at(&first).filter(|node| says_something(node)).cloned();
    let of_others = run.object.at(&others).filter(|node| says_something(node)).cloned();
    let mut items = Vec::new();
    if let Some(device) = &of_first {
        let Some(item) = device_of(run, &first, device) else { return };
        let own = [("name", Node::string("net0")), ("defaultIPv4", truth()), ("defaultIPv6", truth())];
        items.push(joined(Node::mapping(own), item));
    }
    for (index, device) in
        of_others.iter().flat_map(|node| node.as_sequence().unwrap_or_default()).enumerate()
    {
        let Some(item) = device_of(run, &others.index(index), device) else { return };
        items.push(item);
    }
    let from = if of_first.is_some() { first.clone() } else { others.clone() };
    if items.is_empty() {
        let why = "v1alpha2 requires a device, and this network has none";
        return run.refuse(&network, why, "write the device by default: `default: {bridge: vmbr0}`");
    }
    run.step(Replace { at: from.clone(), value: Node::sequence(items) });
    run.go(&from, &devices);
    run.step(Remove { at: first });
    run.step(Remove { at: others });
}

/// A device with its pools in one list.
fn device_of(run: &mut TableRun<'_>, place: &FieldPath, device: &Node) -> Option<Node> {
    let Some(entries) = device.as_mapping() else {
        run.refuse(place, "a device is a mapping", "write it as a mapping");
        return None;
    };
    let is_pool = |entry: &&Entry| entry.key == "ipv4PoolRef" || entry.key == "ipv6PoolRef";
    let pools: Vec<Node> = ["ipv4PoolRef", "ipv6PoolRef"]
        .iter()
        .filter_map(|key| device.get(key).filter(|node| says_something(node)).map(own))
        .collect();
    let kept = entries.iter().filter(|entry| !is_pool(entry) && !entry.value.is_null());
    let mut item = Node::mapping(kept.map(|entry| (entry.key.as_str(), own(&entry.value))));
    if !pools.is_empty() {
        item = joined(item, Node::mapping([("ipPoolRef", Node::sequence(pools))]));
    }
    Some(item)
}

fn joined(mut one: Node, other: Node) -> Node {
    if let (NodeKind::Mapping(entries), NodeKind::Mapping(more)) = (&mut one.kind, other.kind) {
        entries.extend(more);
    }
    one
}

/// The node of the machine is the only one that is allowed.
fn target(run: &mut TableRun<'_>, base: &FieldPath) {
    let (place, allowed) = (base.key("target"), base.key("allowedNodes"));
    let Some(node) = run.object.at(&place).filter(|node| says_something(node)).map(own) else {
        return run.step(Remove { at: place });
    };
    if run.object.at(&allowed).is_some_and(says_something) {
        run.note(&allowed, "`target` counts in v1alpha1, so other nodes go");
    }
    run.step(Remove { at: allowed.clone() });
    run.step(Replace { at: place.clone(), value: Node::sequence([node]) });
    run.go(&place, &allowed);
}

fn source(run: &mut TableRun<'_>, base: &FieldPath) {
    let has = |key: &str| run.object.at(&base.key(key)).is_some_and(says_something);
    if run.is_complete() && !has("sourceNode") && !has("templateSelector") {
        let why = "v1alpha2 requires `sourceNode` with a `templateID`, or `templateSelector`";
        run.refuse(&base.key("sourceNode"), why, "write the node that has the template");
    }
}
