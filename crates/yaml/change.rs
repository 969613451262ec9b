//! A batch of edits as one tree of changes over the tree of the document, and what the document will
//! mean after them.

use std::collections::BTreeMap;

use super::document_edit::{DocumentEdit, Edit};
use super::meaning::same_meaning;
use super::node::{Entry, Node, NodeKind, Scalar, ScalarStyle};
use capstan_model::object::{FieldPath, Step};

/// What happens to one node.
#[derive(Default)]
pub(super) struct NodeChange {
    pub(super) path: FieldPath,
    pub(super) own: NodeEdit,
    /// Keys that a mapping gets.
    pub(super) keys: Vec<NewKey>,
    /// Items that a sequence gets, and before which of its items.
    pub(super) items: Vec<(usize, Node)>,
    /// What happens to its entries or items, by their index.
    pub(super) below: BTreeMap<usize, Self>,
}

/// What happens to the node itself.
#[derive(Default)]
pub(super) enum NodeEdit {
    /// It stays; something in it may change.
    #[default]
    Keep,
    /// It becomes this.
    Set(Node),
    /// It goes, with its key.
    Remove,
    /// The YAML that it holds is edited.
    Within(Vec<DocumentEdit>),
}

/// A key that a mapping gets.
pub(super) struct NewKey {
    /// The number of entries of the mapping that stand before it.
    pub(super) at: usize,
    pub(super) key: String,
    pub(super) node: Node,
}

/// Why a change cannot be: in words, with the field and the offset of what is in the way.
#[derive(Debug)]
pub(super) struct EditRefusal {
    pub(super) reason: String,
    pub(super) path: FieldPath,
    pub(super) offset: usize,
}

impl EditRefusal {
    pub(super) fn new(reason: impl Into<String>, path: &FieldPath, offset: usize) -> Self {
        Self { reason: reason.into(), path: path.clone(), offset }
    }
}

pub(super) const SHARED: &str =
    "there is an anchor, alias or merge key here, so it is unclear what the edit would change";
const TWICE: &str = "two edits concern the same value";

impl NodeChange {
    /// Adds an edit to the tree.
    pub(super) fn add(&mut self, root: &Node, edit: &Edit) -> Result<(), EditRefusal> {
        match edit {
            Edit::Set { path, node } => {
                let (change, old) = self.reach(root, path)?;
                change.set(old, node)
            }
            Edit::Insert { parent, key, node, after } => {
                let (change, old) = self.reach(root, parent)?;
                change.insert(old, key, node, after.as_deref())
            }
            Edit::InsertItem { list, index, node } => {
                let (change, old) = self.reach(root, list)?;
                change.untouched(old)?;
                let length = match &old.kind {
                    NodeKind::Sequence(items) => items.len(),
                    _ if old.is_null() || old.is_empty_collection() => 0,
                    _ => return Err(change.refuse("this is not a list", old)),
                };
                if *index > length {
                    let reason = format!("an item {index} of a list of {length}");
                    return Err(change.refuse(&reason, old));
                }
                change.items.push((*index, node.clone()));
                Ok(())
            }
            Edit::Remove { path } => {
                let (change, old) = self.reach(root, path)?;
                change.remove(old)
            }
            Edit::Within { path, document, edits } => {
                let (change, old) = self.reach(root, path)?;
                let edits =
                    edits.iter().map(|edit| DocumentEdit::Edit { document: *document, edit: edit.clone() });
                match &mut change.own {
                    NodeEdit::Within(known) => known.extend(edits),
                    NodeEdit::Keep if change.below.is_empty() => {
                        change.own = NodeEdit::Within(edits.collect())
                    }
                    _ => return Err(change.refuse(TWICE, old)),
                }
                if old.as_str().is_none() {
                    return Err(change.refuse("this is not a string", old));
                }
                Ok(())
            }
        }
    }

    fn refuse(&self, reason: &str, node: &Node) -> EditRefusal {
        EditRefusal::new(reason, &self.path, node.span.start)
    }

    /// The change and the node at a path.
    fn reach<'c, 'n>(
        &'c mut self,
        root: &'n Node,
        path: &FieldPath,
    ) -> Result<(&'c mut Self, &'n Node), EditRefusal> {
        let (mut change, mut node) = (self, root);
        for step in path.steps() {
            if !matches!(change.own, NodeEdit::Keep) {
                return Err(EditRefusal::new(TWICE, path, node.span.start));
            }
            let Some(index) = child_index(node, step) else {
                return Err(EditRefusal::new("there is no such field", path, node.span.start));
            };
            let child_path = change.path.join(step.clone());
            change = change.below.entry(index).or_default();
            change.path = child_path;
            node = node.child(index).unwrap_or(node);
        }
        Ok((change, node))
    }

    /// The change and the node at the end of some indexes.
    pub(super) fn at_trail<'c, 'n>(
        &'c mut self,
        root: &'n Node,
        trail: &[usize],
    ) -> (&'c mut Self, &'n Node) {
        let (mut change, mut node) = (self, root);
        for index in trail {
            let path =
                step_of(node, *index).map_or_else(|| change.path.clone(), |step| change.path.join(step));
            change = change.below.entry(*index).or_default();
            change.path = path;
            node = node.child(*index).unwrap_or(node);
        }
        (change, node)
    }

    /// Drops what happens at the end of some indexes, and below.
    pub(super) fn forget(&mut self, trail: &[usize]) {
        let Some((last, way)) = trail.split_last() else { return };
        let mut change = self;
        for index in way {
            match change.below.get_mut(index) {
                Some(below) => change = below,
                None => return,
            }
        }
        change.below.remove(last);
    }

    /// Nothing was decided about the node itself yet.
    fn untouched(&self, node: &Node) -> Result<(), EditRefusal> {
        if matches!(self.own, NodeEdit::Keep) { Ok(()) } else { Err(self.refuse(TWICE, node)) }
    }

    fn whole(&self, node: &Node) -> Result<(), EditRefusal> {
        self.untouched(node)?;
        if !self.below.is_empty() || !self.keys.is_empty() || !self.items.is_empty() {
            return Err(self.refuse(TWICE, node));
        }
        Ok(())
    }

    fn remove(&mut self, node: &Node) -> Result<(), EditRefusal> {
        if self.path.is_root() {
            return Err(self.refuse("the whole document is removed by another edit", node));
        }
        self.whole(node)?;
        self.own = NodeEdit::Remove;
        Ok(())
    }

    fn insert(&mut self, old: &Node, key: &str, node: &Node, after: Option<&str>) -> Result<(), EditRefusal> {
        self.untouched(old)?;
        let entries = match &old.kind {
            NodeKind::Mapping(entries) => entries.as_slice(),
            _ if old.is_null() || old.is_empty_collection() => &[],
            _ => return Err(self.refuse("this is not a mapping", old)),
        };
        if let Some(entry) = entries.iter().find(|entry| entry.key == key) {
            let reason = format!("the key `{key}` is there already");
            return Err(EditRefusal::new(reason, &self.path, entry.key_span.start));
        }
        if self.keys.iter().any(|new| new.key == key) {
            return Err(self.refuse(TWICE, old));
        }
        let new = |at| NewKey { at, key: key.to_owned(), node: node.clone() };
        let known = after.and_then(|after| entries.iter().position(|entry| entry.key == after));
        if let Some(index) = known {
            self.keys.push(new(index + 1));
        } else if let Some(index) = after.and_then(|after| self.keys.iter().position(|new| new.key == after))
        {
            self.keys.insert(index + 1, new(self.keys[index].at));
        } else {
            self.keys.push(new(entries.len()));
        }
        Ok(())
    }

    /// Sets a value; of two mappings or two sequences only what differs is touched.
    fn set(&mut self, old: &Node, new: &Node) -> Result<(), EditRefusal> {
        if same_meaning(old, new) {
            return self.untouched(old);
        }
        match (&old.kind, &new.kind) {
            (NodeKind::Mapping(a), NodeKind::Mapping(b)) if !a.is_empty() && !b.is_empty() => {
                self.set_entries(old, a, b)
            }
            (NodeKind::Sequence(a), NodeKind::Sequence(b)) if !a.is_empty() && !b.is_empty() => {
                self.set_items(a, b)
            }
            _ => {
                self.whole(old)?;
                self.own = NodeEdit::Set(new.clone());
                Ok(())
            }
        }
    }

    fn child(&mut self, index: usize, step: Step) -> &mut Self {
        let path = self.path.join(step);
        let child = self.below.entry(index).or_default();
        child.path = path;
        child
    }

    fn set_entries(&mut self, node: &Node, old: &[Entry], new: &[Entry]) -> Result<(), EditRefusal> {
        for (index, entry) in old.iter().enumerate() {
            let step = Step::Key(entry.key.clone());
            match new.iter().find(|new| new.key == entry.key) {
                None => self.child(index, step).remove(&entry.value)?,
                Some(new) if same_meaning(&entry.value, &new.value) => {}
                Some(new) => self.child(index, step).set(&entry.value, &new.value)?,
            }
        }
        let mut before = None;
        for entry in new {
            if !old.iter().any(|old| old.key == entry.key) {
                self.insert(node, &entry.key, &entry.value, before)?;
            }
            before = Some(entry.key.as_str());
        }
        Ok(())
    }

    fn set_items(&mut self, old: &[Node], new: &[Node]) -> Result<(), EditRefusal> {
        let prefix = old.iter().zip(new).take_while(|(a, b)| same_meaning(a, b)).count();
        let (old_rest, new_rest) = (&old[prefix..], &new[prefix..]);
        let suffix =
            old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| same_meaning(a, b)).count();
        let (old_middle, new_middle) =
            (&old_rest[..old_rest.len() - suffix], &new_rest[..new_rest.len() - suffix]);
        for (index, item) in old_middle.iter().enumerate() {
            let child = self.child(prefix + index, Step::Index(prefix + index));
            match new_middle.get(index) {
                Some(new) => child.set(item, new)?,
                None => child.remove(item)?,
            }
        }
        for item in new_middle.iter().skip(old_middle.len()) {
            self.items.push((prefix + old_middle.len(), item.clone()));
        }
        Ok(())
    }

    /// Whether nothing happens here or below.
    pub(super) fn is_nothing(&self) -> bool {
        matches!(self.own, NodeEdit::Keep)
            && self.keys.is_empty()
            && self.items.is_empty()
            && self.below.values().all(Self::is_nothing)
    }

    /// What the node will be. The text of strings that are edited within is settled already.
    pub(super) fn intend(&self, node: &Node) -> Node {
        match &self.own {
            NodeEdit::Set(new) => return new.clone(),
            NodeEdit::Remove | NodeEdit::Within(_) => return node.clone(),
            NodeEdit::Keep => {}
        }
        if !self.items.is_empty() || matches!(node.kind, NodeKind::Sequence(_)) && self.keys.is_empty() {
            let old = node.as_sequence().unwrap_or_default();
            return Node::sequence((0..=old.len()).flat_map(|index| {
                let added =
                    self.items.iter().filter(move |(at, _)| *at == index).map(|(_, item)| item.clone());
                let own = old.get(index).and_then(|item| self.intend_child(index, item));
                added.chain(own).collect::<Vec<_>>()
            }));
        }
        match (&node.kind, self.keys.is_empty()) {
            (NodeKind::Scalar(_), true) => node.clone(),
            _ => {
                let old = node.as_mapping().unwrap_or_default().iter().enumerate();
                let kept = old.filter_map(|(index, entry)| {
                    Some((entry.key.clone(), self.intend_child(index, &entry.value)?))
                });
                let new = self.keys.iter().map(|new| (new.key.clone(), new.node.clone()));
                Node::mapping(kept.chain(new))
            }
        }
    }

    fn intend_child(&self, index: usize, node: &Node) -> Option<Node> {
        match self.below.get(&index) {
            None => Some(node.clone()),
            Some(Self { own: NodeEdit::Remove, .. }) => None,
            Some(change) => Some(change.intend(node)),
        }
    }

    /// Turns every edit within a string into a new text for it, made by `edit`.
    pub(super) fn settle_within(
        &mut self,
        node: &Node,
        edit: &mut impl FnMut(&FieldPath, &Node, &str, &[DocumentEdit]) -> Result<String, EditRefusal>,
    ) -> Result<(), EditRefusal> {
        if let NodeEdit::Within(edits) = &self.own
            && let Some(Scalar { text, .. }) = node.as_scalar()
        {
            let text = edit(&self.path, node, text, edits)?;
            let style = node.as_scalar().map_or(ScalarStyle::DoubleQuoted, |scalar| scalar.style);
            self.own = NodeEdit::Set(Node::scalar(match style {
                ScalarStyle::Plain => Scalar::string(text),
                style => Scalar { text, style },
            }));
        }
        for (index, change) in &mut self.below {
            if let Some(child) = node.child(*index) {
                change.settle_within(child, edit)?;
            }
        }
        Ok(())
    }
}

fn child_index(node: &Node, step: &Step) -> Option<usize> {
    match (&node.kind, step) {
        (NodeKind::Mapping(entries), Step::Key(key)) => entries.iter().position(|entry| entry.key == *key),
        (NodeKind::Mapping(entries), Step::Index(index)) => {
            let key = index.to_string();
            entries.iter().position(|entry| entry.key == key)
        }
        (NodeKind::Sequence(items), Step::Index(index)) => (*index < items.len()).then_some(*index),
        _ => None,
    }
}

/// How a path names an entry or item.
pub(super) fn step_of(node: &Node, index: usize) -> Option<Step> {
    match &node.kind {
        NodeKind::Mapping(entries) => entries.get(index).map(|entry| Step::Key(entry.key.clone())),
        NodeKind::Sequence(_) => Some(Step::Index(index)),
        NodeKind::Scalar(_) => None,
    }
}
