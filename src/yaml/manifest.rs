//! What a document of a manifest stands for: one object, or a `List` of several; and which object that is.

use super::node::Node;
use capstan_model::object::{FieldPath, ObjectId, api_group};

/// The objects of a document, each with its place in it: the document itself, or the items of a `List`
/// (`kind: List`, `kind: ConfigMapList`), also of lists in lists, as kubectl and kustomize take them apart.
pub fn objects(root: &Node) -> Vec<(FieldPath, &Node)> {
    let mut found = Vec::new();
    expand(root, FieldPath::root(), &mut found);
    found
}

fn expand<'n>(node: &'n Node, path: FieldPath, found: &mut Vec<(FieldPath, &'n Node)>) {
    match items(node) {
        None => found.push((path, node)),
        Some(items) => {
            let list = path.key("items");
            items.iter().enumerate().for_each(|(at, item)| expand(item, list.index(at), found));
        }
    }
}

/// The items, of a list.
fn items(node: &Node) -> Option<&[Node]> {
    let kind = node.get("kind")?.as_str()?;
    node.get("items").filter(|_| kind.ends_with("List"))?.as_sequence()
}

/// The identity of a document; `None` where it is no whole object.
pub fn identity(root: &Node) -> Option<ObjectId> {
    let metadata = root.get("metadata")?;
    let text = |node: &Node, key: &str| node.get(key).and_then(Node::as_str).map(str::to_owned);
    Some(ObjectId {
        group: api_group(root.get("apiVersion")?.as_str()?).to_owned(),
        kind: text(root, "kind")?,
        namespace: text(metadata, "namespace"),
        name: text(metadata, "name")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::YamlFile;

    fn paths(text: &str) -> Vec<String> {
        let file = YamlFile::read(text).unwrap();
        objects(&file.documents()[0].root).into_iter().map(|(path, _)| path.to_string()).collect()
    }

    #[test]
    fn a_list_is_its_items_and_anything_else_is_itself() {
        assert_eq!(paths("kind: Cluster\nitems: [1]\n"), [""]);
        assert_eq!(
            paths("kind: List\nitems: [{kind: A}, {kind: List, items: [{kind: B}]}]\n"),
            ["/items/0", "/items/1/items/0"]
        );
        assert_eq!(paths("kind: List\nitems: []\n"), [""; 0]);
        assert_eq!(paths("kind: AccessList\nspec: {}\n"), [""]);
    }
}
