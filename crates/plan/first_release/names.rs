//! Where a cluster's own name occurs in its objects.

use capstan_model::object::{FieldPath, Step};
use capstan_yaml::{Edit, Node, NodeKind};

use super::CLUSTER_NAME;
use crate::substitution::reader::{Cursor, TextReader};

/// Maps whose values select objects: the name as a whole counts.
const SELECTING: [&str; 4] = ["labels", "matchLabels", "selector", "annotations"];
/// Fields that name objects; of others that end with `Name`, what begins with the cluster's name does.
const NAMING: [&str; 4] = ["name", "namespace", "secretName", "dataSecretName"];

/// What may be beside the name in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NeighbourText {
    Nothing,
    Behind,
    Both,
}

/// The edits that replace the cluster's name in an object by a variable. `at` is the object's path in its document.
pub(super) fn renamed(object: &Node, at: &FieldPath, name: &str) -> Vec<Edit> {
    let mut edits = Vec::new();
    walk(object, Cursor::of(object.text_at("kind")), at, NeighbourText::Nothing, name, &mut edits);
    edits
}

fn walk<'n>(
    node: &'n Node,
    place: Cursor<'n>,
    path: &FieldPath,
    beside: NeighbourText,
    name: &str,
    edits: &mut Vec<Edit>,
) {
    match &node.kind {
        NodeKind::Mapping(entries) => {
            let selects =
                matches!(path.steps().last(), Some(Step::Key(key)) if SELECTING.contains(&key.as_str()));
            for entry in entries {
                let beside = if selects { Some(NeighbourText::Nothing) } else { beside_of(&entry.key) };
                let below = path.key(&entry.key);
                let place = place.key(&entry.key);
                match (&entry.value.kind, beside) {
                    (NodeKind::Scalar(_), None) => {}
                    (_, beside) => walk(
                        &entry.value,
                        place,
                        &below,
                        beside.unwrap_or(NeighbourText::Nothing),
                        name,
                        edits,
                    ),
                }
            }
        }
        NodeKind::Sequence(items) => {
            for (index, item) in items.iter().enumerate().filter(|(_, item)| item.as_scalar().is_none()) {
                walk(item, place.item(), &path.index(index), NeighbourText::Nothing, name, edits);
            }
        }
        _ => {
            let Some(text) = node.as_str().filter(|text| place.reader_of(text) == TextReader::Controller)
            else {
                return;
            };
            if let Some(text) = with_variable(text, name, beside) {
                edits.push(Edit::Set { path: path.clone(), node: Node::string(text) });
            }
        }
    }
}

fn beside_of(key: &str) -> Option<NeighbourText> {
    if NAMING.contains(&key) {
        Some(NeighbourText::Both)
    } else if key.ends_with("Name") {
        Some(NeighbourText::Behind)
    } else {
        None
    }
}

/// `${CLUSTER_NAME}-md-0` for `peu01-md-0`. `None` if the name is not a separate part of the text.
fn with_variable(text: &str, name: &str, beside: NeighbourText) -> Option<String> {
    if text.contains('$') || name.is_empty() {
        return None;
    }
    let variable = format!("${{{CLUSTER_NAME}}}");
    if text == name {
        return Some(variable);
    }
    let parts = |c: char| matches!(c, '-' | '.');
    if beside != NeighbourText::Nothing
        && let Some(rest) = text.strip_prefix(name).filter(|rest| rest.starts_with(parts))
    {
        return Some(format!("{variable}{rest}"));
    }
    let before =
        text.strip_suffix(name).filter(|before| beside == NeighbourText::Both && before.ends_with(parts));
    before.map(|before| format!("{before}{variable}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_a_part_of_its_own_or_stays() {
        for (text, beside, expected) in [
            ("peu01", NeighbourText::Nothing, Some("${CLUSTER_NAME}")),
            ("peu01-md-0", NeighbourText::Both, Some("${CLUSTER_NAME}-md-0")),
            ("peu01.acme", NeighbourText::Behind, Some("${CLUSTER_NAME}.acme")),
            ("org-peu01", NeighbourText::Both, Some("org-${CLUSTER_NAME}")),
            ("org-peu01", NeighbourText::Behind, None),
            ("peu01-md-0", NeighbourText::Nothing, None),
            ("peu010", NeighbourText::Both, None),
            ("xpeu01", NeighbourText::Both, None),
            ("${NAME}-peu01", NeighbourText::Both, None),
        ] {
            assert_eq!(with_variable(text, "peu01", beside).as_deref(), expected, "{text} {beside:?}");
        }
    }
}
