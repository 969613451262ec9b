//! Whether two nodes mean the same to Kubernetes.

use std::collections::HashMap;

use super::node::{Entry, Node, NodeKind};

/// From how many keys on a differing order is settled with a table.
const TABLE_FROM: usize = 24;

/// Whether two nodes have the same value after Kubernetes' reading of the scalars: the order of keys is
/// nothing, the order of items is everything, `yes` is `true`, `0644` is `420`, and `1.0` is `1` (JSON
/// knows one kind of number). Quantities, versions and durations are strings like others.
pub fn same_meaning(a: &Node, b: &Node) -> bool {
    match (&a.kind, &b.kind) {
        (NodeKind::Scalar(a), NodeKind::Scalar(b)) => a.reading().same(b.reading()),
        (NodeKind::Sequence(a), NodeKind::Sequence(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_meaning(a, b))
        }
        (NodeKind::Mapping(a), NodeKind::Mapping(b)) => a.len() == b.len() && same_entries(a, b),
        _ => false,
    }
}

/// Keys are unique on both sides and equally many, so that each of `a` having its equal in `b` suffices.
fn same_entries(a: &[Entry], b: &[Entry]) -> bool {
    let ordered = a.iter().zip(b).take_while(|(a, b)| a.key == b.key);
    let mut prefix = 0;
    for (a, b) in ordered {
        if !same_meaning(&a.value, &b.value) {
            return false;
        }
        prefix += 1;
    }
    let (a, b) = (&a[prefix..], &b[prefix..]);
    if a.len() < TABLE_FROM {
        let equal_in_b = |entry: &Entry| {
            b.iter()
                .find(|other| other.key == entry.key)
                .is_some_and(|b| same_meaning(&entry.value, &b.value))
        };
        return a.iter().all(equal_in_b);
    }
    let table: HashMap<&str, &Node> = b.iter().map(|entry| (entry.key.as_str(), &entry.value)).collect();
    a.iter().all(|entry| table.get(entry.key.as_str()).is_some_and(|b| same_meaning(&entry.value, b)))
}
