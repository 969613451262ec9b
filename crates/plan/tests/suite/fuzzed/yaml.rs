//! The reader and the editor: any bytes may be a file, any edit may be asked for.

use capstan_model::object::{FieldPath, Step};
use capstan_yaml::{
    Document, DocumentEdit, Edit, Node, NodeKind, Scalar, YamlFile, edit, same_meaning, write,
};

/// The file, and after its last NUL byte the choices of the edit.
pub(crate) fn check(data: &[u8]) {
    let (text, choices) = match data.iter().rposition(|byte| *byte == 0) {
        Some(at) => (&data[..at], &data[at + 1..]),
        None => (data, &[][..]),
    };
    let Ok(file) = YamlFile::read_bytes(text) else { return };
    // A text that would begin like a pointer of Git LFS after an edit is refused, and rightly so.
    if file.text().contains("https://git-lfs.github.com/spec/") {
        return;
    }
    assert_eq!(file.text().as_bytes(), text, "every byte is kept");
    for document in file.documents() {
        check_spans(&document.root, file.text());
        // Written with escapes, a very long key passes the 1,024 characters that YAML gives a key: the gate
        // refuses such an edit, and there is nothing to compare.
        if longest_key(&document.root) > LONG_KEY {
            continue;
        }
        let written = write(&document.root);
        let again = YamlFile::read(&written).unwrap_or_else(|error| panic!("{error}: wrote {written:?}"));
        let root = again.documents().first().map(|document| &document.root);
        let same = root.map_or(document.root.is_null(), |root| same_meaning(root, &document.root));
        assert!(same, "wrote {written:?} for {:?}", document.root.value());
    }
    change(&file, &mut choices.iter().copied());
}

/// An escape takes up to ten characters for one.
const LONG_KEY: usize = 100;

fn longest_key(node: &Node) -> usize {
    match &node.kind {
        NodeKind::Scalar(_) => 0,
        NodeKind::Mapping(entries) => entries
            .iter()
            .map(|entry| entry.key.chars().count().max(longest_key(&entry.value)))
            .max()
            .unwrap_or(0),
        NodeKind::Sequence(items) => items.iter().map(longest_key).max().unwrap_or(0),
    }
}

fn check_spans(node: &Node, text: &str) {
    assert!(text.get(node.span.clone()).is_some(), "a span {:?} outside of {} bytes", node.span, text.len());
    match &node.kind {
        NodeKind::Scalar(_) => {}
        NodeKind::Mapping(entries) => entries.iter().for_each(|entry| check_spans(&entry.value, text)),
        NodeKind::Sequence(items) => items.iter().for_each(|item| check_spans(item, text)),
    }
}

/// A place in a document, one step a choice.
fn place(root: &Node, choices: &mut dyn Iterator<Item = u8>) -> FieldPath {
    let (mut path, mut node) = (FieldPath::root(), root);
    while let Some(choice) = choices.next().filter(|choice| *choice < 0xf0) {
        let choice = usize::from(choice);
        let next = match &node.kind {
            NodeKind::Mapping(entries) if !entries.is_empty() => {
                let entry = &entries[choice % entries.len()];
                Some((path.key(&entry.key), &entry.value))
            }
            NodeKind::Sequence(items) if !items.is_empty() => {
                let index = choice % items.len();
                Some((path.join(Step::Index(index)), &items[index]))
            }
            _ => None,
        };
        let Some((below, value)) = next else { break };
        (path, node) = (below, value);
    }
    path
}

fn value(choice: u8) -> Node {
    match choice % 9 {
        0 => Node::string("plain"),
        1 => Node::string("no"),
        2 => Node::string("two\nlines\n"),
        3 => Node::string(""),
        4 => Node::scalar(Scalar::plain("17")),
        5 => Node::null(),
        6 => Node::mapping([("k", Node::string("v: # '\"")), ("l", Node::sequence([Node::null()]))]),
        7 => Node::sequence([
            Node::scalar(Scalar::plain("1")),
            Node::mapping([("a", Node::scalar(Scalar::plain("true")))]),
        ]),
        _ => Node::string("${A:=x} \u{feff}\u{85}\t"),
    }
}

fn change(file: &YamlFile, choices: &mut dyn Iterator<Item = u8>) {
    let documents = file.documents();
    let (Some(choice), false) = (choices.next(), documents.is_empty()) else { return };
    let document = usize::from(choice) % documents.len();
    let root = &documents[document].root;
    let (what, new) = (choices.next().unwrap_or(0), value(choices.next().unwrap_or(0)));
    let path = place(root, choices);
    let wanted = match what % 7 {
        0 => Edit::Set { path: path.clone(), node: new.clone() },
        1 => Edit::Remove { path: path.clone() },
        2 => Edit::Insert { parent: path.clone(), key: "new key".to_owned(), node: new.clone(), after: None },
        3 => Edit::InsertItem { list: path.clone(), index: usize::from(what / 7), node: new.clone() },
        4 => {
            let set = Edit::Set { path: FieldPath::root().key("a"), node: new.clone() };
            Edit::Within { path: path.clone(), document: 0, edits: vec![set] }
        }
        5 => return check_documents(file, document),
        _ => {
            let same = root.at(&path).unwrap_or(root).clone();
            Edit::Set { path: path.clone(), node: same }
        }
    };
    let asked = [DocumentEdit::Edit { document, edit: wanted.clone() }];
    let Ok(edited) = edit(file, &asked) else { return };
    let again = YamlFile::read(edited.text()).unwrap_or_else(|error| panic!("{error}: {:?}", edited.text()));
    assert_eq!(again.documents().len(), documents.len());
    for (at, (old, new)) in documents.iter().zip(again.documents()).enumerate() {
        assert!(at == document || same_meaning(&old.root, &new.root), "document {at} changed too");
    }
    let now = again.documents()[document].root.at(&path);
    match &wanted {
        Edit::Set { node, .. } => {
            assert!(now.is_some_and(|now| same_meaning(now, node)), "{now:?} instead of {node:?}");
            let twice = edit(&again, &asked).map(|file| file.text().to_owned());
            assert_eq!(twice.as_deref(), Ok(edited.text()), "done twice, it changes more");
        }
        Edit::Insert { key, node, .. } => {
            let added = now.and_then(|now| now.get(key));
            assert!(added.is_some_and(|added| same_meaning(added, node)), "{added:?}");
        }
        Edit::Remove { .. } if matches!(path.steps().last(), Some(Step::Key(_))) => assert!(now.is_none()),
        _ => {}
    }
    if what % 7 == 6 {
        assert_eq!(edited.text(), file.text(), "a value set to itself changes nothing");
    }
}

/// A whole document comes or goes, and the others stay.
fn check_documents(file: &YamlFile, document: usize) {
    let others = |documents: &[Document]| documents.iter().map(|one| one.root.value()).collect::<Vec<_>>();
    let mut expected = others(file.documents());
    if let Ok(edited) = edit(file, &[DocumentEdit::RemoveDocument { document }]) {
        let gone = expected.remove(document);
        let left = others(YamlFile::read(edited.text()).unwrap().documents());
        let left: Vec<_> = left.into_iter().filter(|value| !value.is_null()).collect();
        let wanted: Vec<_> = expected.iter().filter(|value| !value.is_null()).cloned().collect();
        assert_eq!(left, wanted);
        expected.insert(document, gone);
    }
    let text = "kind: Added\n".to_owned();
    if let Ok(edited) = edit(file, &[DocumentEdit::Append { text }]) {
        let now = others(YamlFile::read(edited.text()).unwrap().documents());
        assert_eq!(now.last(), Some(&serde_json::json!({"kind": "Added"})));
        assert_eq!(now[..now.len() - 1], expected);
    }
}
