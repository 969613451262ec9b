//! Fields of objects, read and set in place.

use std::borrow::Cow;

use capstan_model::object::{FieldPath, Step};
use capstan_yaml::{Node, NodeKind, Scalar};

/// A string field of an object.
pub(crate) fn text<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    node.get(key)?.as_scalar().map(|scalar| scalar.text.as_str())
}

/// Replaces the text of a scalar that exists.
pub(crate) fn set_text(node: &mut Node, steps: &[Step], text: &str) {
    if let Some(node) = node_mut(node, steps)
        && let NodeKind::Scalar(scalar) = &mut node.kind
    {
        let string = Scalar::string(text);
        *scalar = match scalar.style {
            capstan_yaml::ScalarStyle::Plain => string,
            style => Scalar { text: text.to_owned(), style },
        };
    }
}

/// Takes a key out of a mapping, where both exist.
pub(crate) fn remove(node: &mut Node, steps: &[Step]) {
    let Some((Step::Key(key), parent)) = steps.split_last() else { return };
    if let Some(Node { kind: NodeKind::Mapping(entries), .. }) = node_mut(node, parent) {
        entries.retain(|entry| entry.key != *key);
    }
}

/// Gives an object a namespace that has none.
pub(crate) fn add_namespace(node: &mut Cow<'_, Node>, namespace: &str) {
    let steps = [Step::Key("metadata".to_owned())];
    if node.at(&FieldPath::root().key("metadata").key("namespace")).is_some() {
        return;
    }
    let node = node.to_mut();
    if let Some(Node { kind: NodeKind::Mapping(entries), .. }) = node_mut(node, &steps) {
        let at = entries.iter().position(|entry| entry.key == "name").map_or(entries.len(), |at| at + 1);
        let value = Node::string(namespace);
        entries.insert(at, capstan_yaml::Entry { key: "namespace".to_owned(), key_span: 0..0, value });
    }
}

fn node_mut<'n>(node: &'n mut Node, steps: &[Step]) -> Option<&'n mut Node> {
    steps.iter().try_fold(node, |node, step| match (&mut node.kind, step) {
        (NodeKind::Mapping(entries), Step::Key(key)) => {
            entries.iter_mut().find(|entry| entry.key == *key).map(|entry| &mut entry.value)
        }
        (NodeKind::Sequence(items), Step::Index(at)) => items.get_mut(*at),
        _ => None,
    })
}
