//! Places in a file's converted text as places in the file of the repository ([U7a]), so that a report names a
//! place that a person can open.
//!
//! [U7a]: crate::merge::converted#u7a

use capstan_model::object::{FieldPath, Step};
use capstan_yaml::{Entry, Node, NodeKind};

/// The deepest field that begins at a byte, or holds it; and whether the byte is of its key.
pub(super) fn path_of(root: &Node, offset: usize) -> (FieldPath, bool) {
    let (mut path, mut node) = (FieldPath::root(), root);
    loop {
        let (step, below) = match &node.kind {
            NodeKind::Mapping(entries) => {
                let holds = |entry: &&Entry| {
                    entry.key_span.start <= offset && offset <= entry.value.span.end.max(entry.key_span.end)
                };
                let Some(entry) = entries.iter().find(holds) else { return (path, false) };
                let step = Step::Key(entry.key.clone());
                if offset < entry.value.span.start {
                    return (path.join(step), true);
                }
                (step, &entry.value)
            }
            NodeKind::Sequence(items) => {
                let holds = |item: &Node| item.span.start <= offset && offset <= item.span.end;
                let Some(at) = items.iter().position(holds) else { return (path, false) };
                (Step::Index(at), &items[at])
            }
            NodeKind::Scalar(_) => return (path, false),
        };
        if below.span.start == offset && !matches!(below.kind, NodeKind::Scalar(_)) {
            // A block collection begins where its first key does: the value itself is meant.
            return (path.join(step), false);
        }
        path = path.join(step);
        node = below;
    }
}

/// The byte of a field, or of what is nearest above it.
pub(super) fn offset_of(root: &Node, path: &FieldPath, at_key: bool) -> usize {
    let (mut node, mut offset) = (root, root.span.start);
    for (at, step) in path.steps().iter().enumerate() {
        let is_last = at + 1 == path.steps().len();
        match (&node.kind, step) {
            (NodeKind::Mapping(_), Step::Key(key)) => {
                let Some(entry) = node.entry(key) else { return offset };
                let wants_key = at_key || !is_last || entry.value.span.is_empty();
                offset = if wants_key { entry.key_span.start } else { entry.value.span.start };
                node = &entry.value;
            }
            (NodeKind::Sequence(items), Step::Index(index)) => {
                let Some(item) = items.get(*index) else { return offset };
                offset = item.span.start;
                node = item;
            }
            _ => return offset,
        }
    }
    offset
}
