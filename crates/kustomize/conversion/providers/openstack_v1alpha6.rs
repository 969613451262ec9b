//! Cluster API Provider OpenStack, v1alpha6 to v1alpha7
//! (<https://github.com/kubernetes-sigs/cluster-api-provider-openstack/blob/main/docs/book/src/topics/crd-changes/v1alpha6-to-v1alpha7.md>).

use super::rule::TableRule::{self, Append, Drop, Each, Empty, Hand, In, Leave, Move, Wins, Wrap};
use super::rule::{ConversionTable, TablePart};
use super::run::{TableRun, own, says_something};
use crate::conversion::step::ConversionStep::{Add, Remove, Replace};
use capstan_model::object::FieldPath;
use capstan_yaml::Node;

pub(super) const TABLE: ConversionTable = ConversionTable {
    group: "infrastructure.cluster.x-k8s.io",
    versions: ("v1alpha6", "v1alpha7"),
    since: None,
    parts: &[
        TablePart {
            at: &[
                ("OpenStackMachine", "spec"),
                ("OpenStackMachineTemplate", "spec.template.spec"),
                ("OpenStackCluster", "spec.bastion.instance"),
                ("OpenStackClusterTemplate", "spec.template.spec.bastion.instance"),
            ],
            rules: MACHINE,
        },
        TablePart {
            at: &[("OpenStackCluster", "spec"), ("OpenStackClusterTemplate", "spec.template.spec")],
            rules: &[Each("externalRouterIPs", &[In("subnet", &[Move("uuid", "id"), Hand(filter)])])],
        },
    ],
};

const MACHINE: &[TableRule] = &[
    Leave("subnet", "v1alpha6 has no use for it"),
    Each("securityGroups", GROUP),
    Each(
        "ports",
        &[
            Each("securityGroupFilters", GROUP),
            Each("securityGroups", &[Wrap("", "id")]),
            Append("securityGroups", "securityGroupFilters"),
            Drop("tenantId"),
            Drop("projectId"),
            Hand(profile),
        ],
    ),
    Hand(networks),
];

/// What names a security group.
const GROUP: &[TableRule] = &[
    In(
        "filter",
        &[
            Drop("limit"),
            Drop("marker"),
            Drop("sortKey"),
            Drop("sortDir"),
            Wins("projectId", "tenantId"),
            Move("tenantId", "projectId"),
        ],
    ),
    Move("uuid", "id"),
    Empty("id"),
    Hand(filter),
];

/// The fields below `filter` are beside `id` in v1alpha7.
fn filter(run: &mut TableRun<'_>, base: &FieldPath) {
    let place = base.key("filter");
    let entries = run.object.at(&place).and_then(Node::as_mapping).unwrap_or_default().to_vec();
    for entry in &entries {
        let to = base.key(&entry.key);
        if run.object.at(&to).is_some() {
            run.note(&place.key(&entry.key), format!("{to} counts, so this has no effect and goes"));
            run.step(Remove { at: place.key(&entry.key) });
        } else {
            run.go(&place.key(&entry.key), &to);
        }
    }
    run.step(Remove { at: place });
}

/// Of a port's profile v1alpha7 has two entries, as booleans.
fn profile(run: &mut TableRun<'_>, base: &FieldPath) {
    let place = base.key("profile");
    let entries = run.object.at(&place).and_then(Node::as_mapping).unwrap_or_default().to_vec();
    for entry in &entries {
        let at = place.key(&entry.key);
        let text = entry.value.as_str().unwrap_or_default().replace([' ', '\n'], "");
        let to = match (entry.key.as_str(), text.as_str()) {
            ("capabilities", "[\"switchdev\"]") => "ovsHWOffload",
            ("trusted", "true") => "trustedVF",
            _ => {
                let why = "v1alpha7 has `ovsHWOffload` and `trustedVF` of a profile alone";
                run.refuse(&at, why, "take it out, if the port works without it");
                continue;
            }
        };
        let value = Node::scalar(capstan_yaml::Scalar::plain("true"));
        run.step(Replace { at: at.clone(), value });
        run.go(&at, &place.key(to));
    }
}

/// Networks are ports, before the others: one for each subnet, or one for a network without subnets.
fn networks(run: &mut TableRun<'_>, base: &FieldPath) {
    let (networks, ports) = (base.key("networks"), base.key("ports"));
    let Some(node) = run.object.at(&networks).filter(|node| !node.is_null()).cloned() else { return };
    let mut items = Vec::new();
    for (index, network) in node.as_sequence().unwrap_or_default().iter().enumerate() {
        let subnets = network.get("subnets").and_then(Node::as_sequence).unwrap_or_default();
        let by_filter = |node: &Node| node.get("filter").is_some_and(says_something);
        if by_filter(network) || subnets.iter().any(by_filter) {
            let why = "v1alpha6 makes a port for each network and subnet that a filter finds; later versions make one \
                       port, and refuse a filter that finds several";
            let advice = "name each network and subnet by its `uuid`, or write `ports`";
            run.ask(&networks.index(index), why, advice);
            continue;
        }
        if network.get("fixedIP").is_some_and(says_something) {
            run.note(&networks.index(index).key("fixedIP"), "v1alpha6 has no use for it, so it goes");
        }
        let id = |node: &Node| node.get("uuid").map(|id| Node::mapping([("id", own(id))]));
        let mut port = |subnet: Option<&Node>| {
            let fixed = subnet
                .and_then(id)
                .map(|subnet| ("fixedIPs", Node::sequence([Node::mapping([("subnet", subnet)])])));
            let named = id(network).map(|network| ("network", network));
            items.push(Node::mapping(named.into_iter().chain(fixed)));
        };
        if subnets.is_empty() {
            port(None);
        }
        subnets.iter().for_each(|subnet| port(Some(subnet)));
    }
    let others = run.object.at(&ports).and_then(Node::as_sequence).unwrap_or_default();
    items.extend(others.iter().map(own));
    run.step(Remove { at: networks });
    if run.object.at(&ports).is_some() {
        run.step(Replace { at: ports, value: Node::sequence(items) });
    } else if !items.is_empty() {
        run.step(Add { at: ports, value: Node::sequence(items) });
    }
}
