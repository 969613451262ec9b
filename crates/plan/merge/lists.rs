//! How lists merge ([U7]): the own table of keys, sets and sequences, then the schema, then `name`.
//!
//! The table comes first, also where a CRD says `atomic`: a list that a typed API replaces whole may
//! still be edited by two parties in Git. It speaks of lists by their name alone; where no item at all
//! has the key that it gives, some other kind's list has that name, and the schema is asked. A list whose
//! items are documents (patches above all) is a sequence whatever its name, unless the schema gives keys.
//!
//! # U7
//!
//! | asked, in this order | says |
//! |---|---|
//! | own table, by the list's name, where the items fit it | by key, set, sequence or arguments; also where a CRD says `atomic` |
//! | items that are documents, unless the schema gives keys | sequence |
//! | schema | by key, set, or one value (`atomic`) |
//! | every item of all inputs is a mapping with a unique `name` | by `name` |
//! | nothing | one value |
//!
//! | kind | merges |
//! |---|---|
//! | by key (`name`; `path` of files; key and effect of taints; the schema's) | item by item; one that the release drops goes if untouched, else it is a conflict ([U4](super::objects#u4)) |
//! | arguments (`extraArgs`, `kubeletExtraArgs`) | one unit per `name`, which may stand several times |
//! | set (`certSANs`, `finalizers`, `resources`, …) | items come and go, never a conflict |
//! | sequence (commands, arguments of programs, patches) | three-way: hunks that overlap are conflicts, the others merge; one value where the old release is unknown |
//! | one value | as a scalar ([U5](super::fields#u5)) |
//!
//! A list whose key is missing in an item, or doubled, is one value, with the finding `list-without-key` where it
//! changes. The cluster's order stays; new items go where the release has them, after the nearest item before
//! them that the cluster has.
//!
//! [U7]: self#u7

use std::borrow::Cow;

use super::knowledge::Knowledge;
use capstan_kustomize::schema::{ListType, MapKey, SchemaOrigin};
use capstan_yaml::{Node, YamlFile, same_meaning};

/// How the items of a list correspond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListKind<'a> {
    /// Items are maps with a unique key of these fields.
    Keyed(Keys<'a>),
    /// `{name, value}` items whose name may occur several times: one unit per name.
    Arguments,
    /// Scalars without order.
    Set,
    /// Commands, patches, documents in order: a three-way sequence merge.
    Sequence,
    /// One value.
    Whole,
}

/// The fields that tell items apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys<'a> {
    /// By the own table, or by `name` where nothing is said.
    Own(&'static [&'static str]),
    Schema(&'a [MapKey]),
}

/// How one list merges, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListRule<'a> {
    pub(crate) kind: ListKind<'a>,
    pub(crate) decided_by: DecidedBy<'a>,
    /// The key that the list should have and has not: an item lacks one of its fields, or two have the
    /// same. The list then is one value.
    pub(crate) broken_key: Option<Keys<'a>>,
}

/// Who says how a list merges or a text compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecidedBy<'a> {
    OwnTable,
    Schema(&'a SchemaOrigin),
    /// Nobody, but every item has a `name` of its own.
    Name,
    /// Nobody: it is one value.
    Nobody,
}

const BY_NAME: &[&str] = &["name"];

const fn by(fields: &'static [&'static str]) -> ListKind<'static> {
    ListKind::Keyed(Keys::Own(fields))
}

/// The table: the list's own key in its mapping decides.
const TABLE: &[(&str, ListKind<'static>)] = &[
    ("apps", by(BY_NAME)),
    ("bootCommands", ListKind::Sequence),
    ("args", ListKind::Sequence),
    ("certSANs", ListKind::Set),
    ("command", ListKind::Sequence),
    ("components", by(BY_NAME)),
    ("containers", by(BY_NAME)),
    ("env", by(BY_NAME)),
    ("extraArgs", ListKind::Arguments),
    ("extraEnvs", by(BY_NAME)),
    ("extraVolumes", by(BY_NAME)),
    ("files", by(&["path"])),
    ("configPatches", ListKind::Sequence),
    ("finalizers", ListKind::Set),
    ("ignorePreflightErrors", ListKind::Set),
    ("initContainers", by(BY_NAME)),
    ("kubeletExtraArgs", ListKind::Arguments),
    ("machineDeployments", by(BY_NAME)),
    ("machinePools", by(BY_NAME)),
    ("postKubeadmCommands", ListKind::Sequence),
    ("preKubeadmCommands", ListKind::Sequence),
    ("resources", ListKind::Set),
    ("sshAuthorizedKeys", ListKind::Set),
    ("strategicPatches", ListKind::Sequence),
    ("taints", by(&["key", "effect"])),
    ("users", by(BY_NAME)),
    ("variables", by(BY_NAME)),
    ("volumes", by(BY_NAME)),
];

/// How a list merges whose items in all inputs are these.
pub(crate) fn kind_of<'a>(known: &Knowledge<'a>, inputs: &[&[Node]]) -> ListRule<'a> {
    let items = || inputs.iter().flat_map(|items| items.iter());
    let all_scalars = items().all(|item| item.as_scalar().is_some());
    let all_maps = items().all(|item| item.as_mapping().is_some());
    let unique = |keys: Keys<'_>| inputs.iter().all(|items| has_unique_keys(items, keys));
    let rule = |kind, decided_by| ListRule { kind, decided_by, broken_key: None };
    let keyed = |keys: Keys<'a>, decided_by| {
        if unique(keys) {
            rule(ListKind::Keyed(keys), decided_by)
        } else {
            ListRule { kind: ListKind::Whole, decided_by, broken_key: Some(keys) }
        }
    };
    let listed = TABLE.iter().find(|(name, _)| !known.is_item && *name == known.key);
    match listed.map(|(_, kind)| *kind) {
        Some(kind @ (ListKind::Set | ListKind::Sequence)) if all_scalars => {
            return rule(kind, DecidedBy::OwnTable);
        }
        Some(ListKind::Arguments) if all_maps && items().all(|item| item.get("name").is_some()) => {
            return rule(ListKind::Arguments, DecidedBy::OwnTable);
        }
        Some(ListKind::Keyed(keys)) if !all_scalars && items().any(|item| keys.can_identify(item)) => {
            return keyed(keys, DecidedBy::OwnTable);
        }
        _ => {}
    }
    let list = known.schema.list();
    let is_keyed = matches!(list, Some((ListType::Set | ListType::Map(_), _)));
    if !is_keyed && are_documents(inputs) {
        return rule(ListKind::Sequence, DecidedBy::OwnTable);
    }
    if let Some((list, origin)) = list {
        let decided_by = DecidedBy::Schema(origin);
        return match list {
            ListType::Atomic => rule(ListKind::Whole, decided_by),
            ListType::Set => rule(ListKind::Set, decided_by),
            ListType::Map(keys) => keyed(Keys::Schema(keys), decided_by),
        };
    }
    if all_maps && unique(Keys::Own(BY_NAME)) {
        rule(ListKind::Keyed(Keys::Own(BY_NAME)), DecidedBy::Name)
    } else {
        rule(ListKind::Whole, DecidedBy::Nobody)
    }
}

/// Whether the items of a list are documents of their own, applied one after another: JSON patches, or texts
/// of which some are documents. Whatever its name, such a list is a sequence: one party's item says nothing
/// of another's.
fn are_documents(inputs: &[&[Node]]) -> bool {
    let items = || inputs.iter().flat_map(|items| items.iter());
    let is_patch = |item: &Node| {
        item.text_at("op").is_some() && item.text_at("path").is_some_and(|path| path.starts_with('/'))
    };
    items().next().is_some()
        && (items().all(is_patch)
            || items().all(|item| item.as_str().is_some())
                && items().filter_map(Node::as_str).any(is_document))
}

/// Whether a text is a document: a mapping or a list, in YAML or JSON. One in braces may be on one line.
fn is_document(text: &str) -> bool {
    let may_be = text.trim_end().contains('\n') || text.trim_start().starts_with(['{', '[']);
    may_be
        && YamlFile::read(text).is_ok_and(|file| {
            let is_collection = |node: &Node| node.as_mapping().is_some() || node.as_sequence().is_some();
            file.documents().iter().any(|document| is_collection(&document.root))
        })
}

impl<'a> Keys<'a> {
    /// The fields' names.
    pub(crate) fn names(self) -> Vec<&'a str> {
        match self {
            Self::Own(fields) => fields.to_vec(),
            Self::Schema(keys) => keys.iter().map(|key| key.name.as_ref()).collect(),
        }
    }

    /// An item's key; `None` where a field is missing. What a schema gives as default counts as there,
    /// and a missing further part (a taint's effect) is a part of its own, the empty one.
    pub(crate) fn of<'n>(self, item: &'n Node) -> Option<Vec<Cow<'n, str>>>
    where
        'a: 'n,
    {
        let part = |at: usize, field: &str, default: Option<&'n str>| match item
            .get(field)
            .filter(|node| !node.is_null())
        {
            Some(node) => node.as_scalar().map(|scalar| Cow::Borrowed(scalar.text.as_str())),
            None => default.or((at > 0).then_some("")).map(Cow::Borrowed),
        };
        match self {
            Self::Own(fields) => fields.iter().enumerate().map(|(at, field)| part(at, field, None)).collect(),
            Self::Schema(keys) => {
                keys.iter().enumerate().map(|(at, key)| part(at, &key.name, key.default.as_deref())).collect()
            }
        }
    }

    /// Whether an item has at least the first of the fields.
    fn can_identify(self, item: &Node) -> bool {
        self.names().first().is_some_and(|field| item.get(field).is_some())
    }
}

fn has_unique_keys(items: &[Node], fields: Keys<'_>) -> bool {
    let mut keys: Vec<_> = Vec::with_capacity(items.len());
    for item in items {
        match fields.of(item) {
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
    if let Some(keys) = shared_keys(one, other) {
        let found = |a: &Node| {
            let key = keys.of(a);
            other.iter().find(|b| keys.of(b) == key)
        };
        return one.iter().filter_map(|a| Some((a, found(a)?))).collect();
    }
    if one.len() == other.len() { one.iter().zip(other).collect() } else { Vec::new() }
}

/// The item of another list that one of these is: by `name` or `path` where they have one, else one that says the same.
pub(crate) fn counterpart<'n>(items: &[Node], item: &Node, others: &'n [Node]) -> Option<&'n Node> {
    let keys = shared_keys(items, others);
    others.iter().find(|other| match keys {
        Some(keys) => keys.of(other) == keys.of(item),
        None => same_meaning(other, item),
    })
}

/// What tells the items of both lists apart.
fn shared_keys(one: &[Node], other: &[Node]) -> Option<Keys<'static>> {
    let both = |keys: &Keys<'_>| has_unique_keys(one, *keys) && has_unique_keys(other, *keys);
    [Keys::Own(BY_NAME), Keys::Own(&["path"])].into_iter().find(both)
}
