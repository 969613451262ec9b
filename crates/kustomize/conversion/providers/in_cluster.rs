//! The in-cluster provider of IP addresses, v1alpha1 to v1alpha2
//! (<https://github.com/kubernetes-sigs/cluster-api-ipam-provider-in-cluster/blob/main/api/v1alpha1/conversion.go>).

use super::rule::TableRule::{Hand, Required};
use super::rule::{ConversionTable, ServedSince, TablePart};
use super::run::{TableRun, own, says_something};
use crate::conversion::cluster_api::number;
use crate::conversion::step::ConversionStep::{Add, Remove, Replace};
use capstan_model::object::FieldPath;
use capstan_yaml::Node;
use core::net::IpAddr;

pub(super) const TABLE: ConversionTable = ConversionTable {
    group: "ipam.cluster.x-k8s.io",
    versions: ("v1alpha1", "v1alpha2"),
    since: ServedSince::release("ipam-in-cluster", "v0.1.0"),
    parts: &[TablePart {
        at: &[("InClusterIPPool", "spec"), ("GlobalInClusterIPPool", "spec")],
        rules: &[
            Hand(addresses),
            Required("addresses", "write the pool's addresses"),
            Required("prefix", "write how many bits of an address are the network's"),
        ],
    }],
};

/// A range, of a subnet or from one address to another, is one of the addresses.
fn addresses(run: &mut TableRun<'_>, base: &FieldPath) {
    let [subnet, start, end] = ["subnet", "start", "end"].map(|key| base.key(key));
    let text = |run: &TableRun<'_>, path: &FieldPath| {
        let node = run.object.at(path).filter(|node| says_something(node))?;
        node.as_scalar().map(|scalar| scalar.text.clone())
    };
    let (of_subnet, of_start, of_end) = (text(run, &subnet), text(run, &start), text(run, &end));
    let (mut from, mut to) = (of_start, of_end);
    if let Some(own) = of_subnet {
        let Some((first, last, bits)) = range_of(&own) else {
            return run.refuse(&subnet, "this is not a subnet", "write it as 10.0.0.0/24");
        };
        from.get_or_insert(first);
        to.get_or_insert(last);
        let prefix = base.key("prefix");
        if run.object.at(&prefix).is_none_or(|node| !says_something(node)) {
            run.step(Remove { at: prefix.clone() });
            run.step(Add { at: prefix, value: number(bits.into()) });
        }
    }
    let range = match (from, to) {
        (Some(from), Some(to)) => format!("{from}-{to}"),
        (None, None) => {
            return [subnet, start, end].into_iter().for_each(|at| run.step(Remove { at }));
        }
        (Some(_), None) => return one_end(run, &start),
        (None, Some(_)) => return one_end(run, &end),
    };
    [subnet, start, end].into_iter().for_each(|at| run.step(Remove { at }));
    let place = base.key("addresses");
    let known = run.object.at(&place).and_then(Node::as_sequence);
    let mut items: Vec<Node> = known.unwrap_or_default().iter().map(own).collect();
    items.push(Node::string(range));
    let value = Node::sequence(items);
    if run.object.at(&place).is_some() {
        run.step(Replace { at: place, value });
    } else {
        run.step(Add { at: place, value });
    }
}

fn one_end(run: &mut TableRun<'_>, place: &FieldPath) {
    let why = "without the other end or a subnet it is not a range, and the server drops it silently";
    run.refuse(place, why, "write the other end, or take it out");
}

/// The second address of a subnet, its last but one, and the bits of the network.
fn range_of(subnet: &str) -> Option<(String, String, u8)> {
    let (address, bits) = subnet.split_once('/')?;
    let bits: u8 = bits.parse().ok()?;
    match address.parse().ok()? {
        IpAddr::V4(address) => {
            let host = u32::MAX.checked_shr(bits.into()).unwrap_or(0);
            let first = u32::from(address) & !host;
            let at = |number: u32| core::net::Ipv4Addr::from(number).to_string();
            (bits < 31).then(|| (at(first + 1), at((first | host) - 1), bits))
        }
        IpAddr::V6(address) => {
            let host = u128::MAX.checked_shr(bits.into()).unwrap_or(0);
            let first = u128::from(address) & !host;
            let at = |number: u128| core::net::Ipv6Addr::from(number).to_string();
            (bits < 127).then(|| (at(first + 1), at((first | host) - 1), bits))
        }
    }
}
