//! What a document of a manifest contains: one object, or a `List` of several; and the object's identity.

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

/// Group and kind of an object; `None` where it does not say both.
pub fn group_and_kind(object: &Node) -> Option<(&str, &str)> {
    Some((api_group(object.text_at("apiVersion")?), object.text_at("kind")?))
}

/// The identity of a document; `None` where it is not a whole object.
pub fn identity(root: &Node) -> Option<ObjectId> {
    let metadata = root.get("metadata")?;
    let (group, kind) = group_and_kind(root)?;
    Some(ObjectId {
        group: group.to_owned(),
        kind: kind.to_owned(),
        namespace: metadata.text_at("namespace").map(str::to_owned),
        name: metadata.text_at("name")?.to_owned(),
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
