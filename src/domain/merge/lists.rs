//! How lists merge (U7): the table of keys, sets and sequences.
//!
//! The table comes first, also where a CRD says `atomic`: a list that a typed API replaces whole may
//! still be edited by two parties in Git.

use std::borrow::Cow;

use crate::object::{FieldPath, Step};
use crate::yaml::Node;

/// How the items of a list correspond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListKind {
    /// Items are maps with a unique key of these fields.
    Keyed(&'static [&'static str]),
    /// `{name, value}` items whose name may stand several times: one unit per name.
    Arguments,
    /// Scalars without order.
    Set,
    /// Scalars in order: a three-way sequence merge.
    Sequence,
    /// One value.
    Whole,
}

const BY_NAME: &[&str] = &["name"];

/// The table: the list's own key in its mapping decides.
const TABLE: &[(&str, ListKind)] = &[
    ("apps", ListKind::Keyed(BY_NAME)),
    ("bootCommands", ListKind::Sequence),
    ("args", ListKind::Sequence),
    ("certSANs", ListKind::Set),
    ("command", ListKind::Sequence),
    ("components", ListKind::Keyed(BY_NAME)),
    ("containers", ListKind::Keyed(BY_NAME)),
    ("env", ListKind::Keyed(BY_NAME)),
    ("extraArgs", ListKind::Arguments),
    ("extraVolumes", ListKind::Keyed(BY_NAME)),
    ("files", ListKind::Keyed(&["path"])),
    ("finalizers", ListKind::Set),
    ("ignorePreflightErrors", ListKind::Set),
    ("initContainers", ListKind::Keyed(BY_NAME)),
    ("kubeletExtraArgs", ListKind::Arguments),
    ("machineDeployments", ListKind::Keyed(BY_NAME)),
    ("machinePools", ListKind::Keyed(BY_NAME)),
    ("postKubeadmCommands", ListKind::Sequence),
    ("preKubeadmCommands", ListKind::Sequence),
    ("resources", ListKind::Set),
    ("sshAuthorizedKeys", ListKind::Set),
    ("taints", ListKind::Keyed(&["key", "effect"])),
    ("users", ListKind::Keyed(BY_NAME)),
    ("variables", ListKind::Keyed(BY_NAME)),
    ("volumes", ListKind::Keyed(BY_NAME)),
];

/// A list's kind, and whether it is one value only because a key is missing or doubled.
pub(crate) fn kind_of(path: &FieldPath, inputs: &[&[Node]]) -> (ListKind, KeyTrouble) {
    let items = || inputs.iter().flat_map(|items| items.iter());
    let all_scalars = items().all(|item| item.as_scalar().is_some());
    let all_maps = items().all(|item| item.as_mapping().is_some());
    let listed = match path.steps().last() {
        Some(Step::Key(key)) => TABLE.iter().find(|(name, _)| name == key).map(|(_, kind)| *kind),
        _ => None,
    };
    match listed {
        Some(kind @ (ListKind::Set | ListKind::Sequence)) if all_scalars => (kind, KeyTrouble::None),
        Some(ListKind::Arguments) if all_maps && items().all(|item| item.get("name").is_some()) => {
            (ListKind::Arguments, KeyTrouble::None)
        }
        Some(ListKind::Keyed(fields)) if !all_scalars => {
            if inputs.iter().all(|items| has_unique_keys(items, fields)) {
                (ListKind::Keyed(fields), KeyTrouble::None)
            } else {
                (ListKind::Whole, KeyTrouble::MissingOrDoubled(fields))
            }
        }
        _ if all_maps && inputs.iter().all(|items| has_unique_keys(items, BY_NAME)) => {
            (ListKind::Keyed(BY_NAME), KeyTrouble::None)
        }
        _ => (ListKind::Whole, KeyTrouble::None),
    }
}

/// Why a list that has a key is one value all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyTrouble {
    /// It is not, or has no key.
    None,
    /// An item lacks one of these fields, or two items have the same.
    MissingOrDoubled(&'static [&'static str]),
}

/// An item's key; `None` where a field is missing. A missing effect of a taint is a key part of its
/// own, the empty one.
pub(crate) fn key_of<'n>(item: &'n Node, fields: &[&str]) -> Option<Vec<Cow<'n, str>>> {
    fields
        .iter()
        .enumerate()
        .map(|(at, field)| match item.get(field).filter(|node| !node.is_null()) {
            Some(node) => node.as_scalar().map(|scalar| Cow::Borrowed(scalar.text.as_str())),
            None if at > 0 => Some(Cow::Borrowed("")),
            None => None,
        })
        .collect()
}

fn has_unique_keys(items: &[Node], fields: &[&str]) -> bool {
    let mut keys: Vec<_> = Vec::with_capacity(items.len());
    for item in items {
        match key_of(item, fields) {
            Some(key) if item.as_mapping().is_some() => keys.push(key),
            _ => return false,
        }
    }
    keys.sort_unstable();
    keys.windows(2).all(|pair| pair[0] != pair[1])
}

/// Items of two lists that correspond: by `name` or `path` where they have one, else by position in
/// lists of the same length.
pub(crate) fn pair_items<'n>(one: &'n [Node], other: &'n [Node]) -> Vec<(&'n Node, &'n Node)> {
    for fields in [BY_NAME, &["path"][..]] {
        if has_unique_keys(one, fields) && has_unique_keys(other, fields) {
            return one
                .iter()
                .filter_map(|a| {
                    let key = key_of(a, fields);
                    Some((a, other.iter().find(|b| key_of(b, fields) == key)?))
                })
                .collect();
        }
    }
    if one.len() == other.len() { one.iter().zip(other).collect() } else { Vec::new() }
}
