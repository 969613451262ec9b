//! One field of the three inputs: its values, and where the release's value would go.

use super::texts::{MergedText, merge_texts};
use capstan_yaml::{Entry, Node, same_meaning};

/// How the two releases' nodes are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OldState {
    /// O is what the cluster started from; absent in O is absent.
    Known,
    /// O is unknown. Fields that only N has come. Differences between N and C are for people to decide, and nothing
    /// is removed.
    Unknown,
}

/// The three inputs at one path.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Three<'n> {
    pub(crate) o: Option<&'n Node>,
    pub(crate) c: Option<&'n Node>,
    pub(crate) n: Option<&'n Node>,
}

impl Three<'_> {
    /// Whether all sides that have the field have the same, however it is spelled. Where the old release has
    /// nothing, two sides are all there are.
    pub(crate) fn are_alike(self) -> bool {
        match (self.o, self.c, self.n) {
            (Some(o), Some(c), Some(n)) => same_meaning(o, c) && same_meaning(c, n),
            (None, Some(c), Some(n)) => same_meaning(c, n),
            (None, Some(_), None) => true,
            _ => false,
        }
    }

    /// What the lines of a text come to that both sides changed; `None` of anything else.
    pub(crate) fn merged_text(self) -> Option<MergedText> {
        merge_texts(self.o?.as_str()?, self.c?.as_str()?, self.n?.as_str()?)
    }
}

/// Where a value would be written that the cluster lacks, and where one is that it has.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MergeSlot<'n> {
    /// The cluster has it, beginning at this byte (of its key or item).
    At(usize),
    /// It would be a new key of the mapping above it, behind that one.
    Key { after: Option<&'n str> },
    /// It would be a new item of the list above it, before this index.
    Item { index: usize },
}

/// The entries of a mapping; none of anything else.
pub(crate) fn entries_of(node: Option<&Node>) -> &[Entry] {
    node.and_then(Node::as_mapping).unwrap_or_default()
}

/// The items of a list; none of anything else.
pub(crate) fn items_of(node: Option<&Node>) -> &[Node] {
    node.and_then(Node::as_sequence).unwrap_or_default()
}

/// The value of that key.
pub(crate) fn find<'n>(entries: &'n [Entry], key: &str) -> Option<&'n Node> {
    entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
}
