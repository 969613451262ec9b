//! The place of a key or an item in a settings file, and its value.

use capstan_model::finding::Position;
use capstan_model::wording::quoted;
use capstan_yaml::{NodeKind, ScalarStyle, YamlFile};

/// The way to a value: `upgrade.proposals.order[0]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct KeyPath(Vec<KeyPathPart>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum KeyPathPart {
    Key(String),
    Index(usize),
}

/// What a file has at a path.
pub(super) struct KeyAtPath {
    /// Where its key begins; `None` for items of lists.
    pub(super) key: Option<Position>,
    /// Where the value begins.
    pub(super) value: Position,
    /// The value in words: `the string "many"`.
    pub(super) what: String,
}

impl KeyPath {
    pub(super) fn root() -> Self {
        Self::default()
    }

    pub(super) fn key(mut self, key: &str) -> Self {
        self.0.push(KeyPathPart::Key(key.to_owned()));
        self
    }

    pub(super) fn index(mut self, index: usize) -> Self {
        self.0.push(KeyPathPart::Index(index));
        self
    }

    /// `` `upgrade.proposals.open` ``, or "the file".
    pub(super) fn described(&self) -> String {
        if self.0.is_empty() { "the file".to_owned() } else { format!("`{}`", dotted(&self.0)) }
    }

    /// `` in `upgrade.proposals` ``; nothing for a key of the file itself.
    pub(super) fn parent_described(&self) -> String {
        match self.0.split_last() {
            Some((_, parent)) if !parent.is_empty() => format!(" in `{}`", dotted(parent)),
            _ => String::new(),
        }
    }
}

fn dotted(parts: &[KeyPathPart]) -> String {
    let mut text = String::new();
    for part in parts {
        match part {
            KeyPathPart::Key(key) if text.is_empty() => text.push_str(key),
            KeyPathPart::Key(key) => text.extend([".", key]),
            KeyPathPart::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

/// What a file has at a path; `None` where it has nothing there, or is not YAML.
pub(super) fn find(text: &str, place: &KeyPath) -> Option<KeyAtPath> {
    let file = YamlFile::read(text).ok()?;
    let mut node = &file.documents().first()?.root;
    let mut key = None;
    for part in &place.0 {
        match (part, &node.kind) {
            (KeyPathPart::Key(name), NodeKind::Mapping(entries)) => {
                let entry = entries.iter().find(|entry| entry.key == *name)?;
                key = Some(file.position(entry.key_span.start));
                node = &entry.value;
            }
            (KeyPathPart::Index(index), NodeKind::Sequence(items)) => {
                key = None;
                node = items.get(*index)?;
            }
            _ => return None,
        }
    }
    let what = match &node.kind {
        NodeKind::Mapping(_) => "a mapping".to_owned(),
        NodeKind::Sequence(_) => "a list".to_owned(),
        NodeKind::Scalar(scalar) if scalar.style != ScalarStyle::Plain => {
            format!("the string {}", quoted(&scalar.text))
        }
        NodeKind::Scalar(scalar) => plain(&scalar.text),
    };
    Some(KeyAtPath { key, value: file.position(node.span.start), what })
}

fn plain(text: &str) -> String {
    match text {
        "" | "~" | "null" => "nothing".to_owned(),
        "true" | "false" => format!("the boolean {text}"),
        number if number.parse::<f64>().is_ok() => format!("the number {number}"),
        word => format!("the string {}", quoted(word)),
    }
}
