//! Values that remember where each part of them was written.
//!
//! Rendering moves fields from many files into one object. A [`Placed`] carries, for every mapping,
//! sequence and scalar in it, the file and the byte it came from, so that a rule can point at the
//! overlay line that set a field. Positions are computed only when somebody asks.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::object::{FieldPath, Step};
use crate::tree::RepoPath;
use crate::yaml::{Node, NodeKind, Position, YamlFile};

/// A file that objects are rendered from.
#[derive(Debug)]
pub struct Source {
    path: RepoPath,
    file: YamlFile,
}

impl Source {
    pub(super) const fn new(path: RepoPath, file: YamlFile) -> Self {
        Self { path, file }
    }

    /// The file.
    pub const fn path(&self) -> &RepoPath {
        &self.path
    }

    /// Line and column of a byte of the file's text.
    pub fn position(&self, offset: usize) -> Position {
        self.file.position(offset)
    }
}

/// Where something was written.
#[derive(Debug, Clone)]
pub struct Place {
    source: Arc<Source>,
    offset: usize,
}

impl Place {
    /// A byte of a file.
    pub const fn new(source: Arc<Source>, offset: usize) -> Self {
        Self { source, offset }
    }

    /// The file.
    pub fn file(&self) -> &RepoPath {
        self.source.path()
    }

    /// The byte of the file's text.
    pub(crate) const fn offset(&self) -> usize {
        self.offset
    }

    /// Line and column.
    pub fn position(&self) -> Position {
        self.source.position(self.offset)
    }

    /// Line and column of the key of that name whose value was written here; where there is none
    /// (the value was made of something else), of the value.
    pub(crate) fn position_of_key(&self, name: &str) -> Position {
        let roots = self.source.file.documents().iter().map(|document| &document.root);
        let key = roots
            .filter(|root| root.span.contains(&self.offset))
            .find_map(|root| key_before(root, name, self.offset));
        self.source.position(key.unwrap_or(self.offset))
    }
}

/// The byte of the key of that name whose value begins at a byte.
fn key_before(node: &Node, name: &str, value: usize) -> Option<usize> {
    match &node.kind {
        NodeKind::Scalar(_) => None,
        NodeKind::Sequence(items) => items
            .iter()
            .filter(|item| item.span.contains(&value))
            .find_map(|item| key_before(item, name, value)),
        NodeKind::Mapping(entries) => entries.iter().find_map(|entry| {
            let here = entry.value.span.start == value && entry.key == name;
            let below = || entry.value.span.contains(&value).then(|| key_before(&entry.value, name, value));
            if here { Some(entry.key_span.start) } else { below().flatten() }
        }),
    }
}

/// Two places are one if they name the same byte of the same file.
impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.offset == other.offset && self.source.path == other.source.path
    }
}

impl Eq for Place {}

/// A value and where it was written.
#[derive(Debug, Clone)]
pub struct Placed {
    /// Where.
    pub place: Place,
    /// What.
    pub content: Content,
}

/// What a [`Placed`] holds.
#[derive(Debug, Clone)]
pub enum Content {
    /// Null, a boolean, a number or a string.
    Scalar(Value),
    /// A mapping, in the order in which it is rendered.
    Mapping(Vec<(String, Placed)>),
    /// A sequence.
    Sequence(Vec<Placed>),
}

impl Placed {
    /// A value of which every part stands at one place.
    pub fn from_value(value: &Value, place: &Place) -> Self {
        let content = match value {
            Value::Object(fields) => Content::Mapping(
                fields.iter().map(|(key, value)| (key.clone(), Self::from_value(value, place))).collect(),
            ),
            Value::Array(items) => {
                Content::Sequence(items.iter().map(|item| Self::from_value(item, place)).collect())
            }
            scalar => Content::Scalar(scalar.clone()),
        };
        Self { place: place.clone(), content }
    }

    /// The plain value.
    pub fn to_value(&self) -> Value {
        match &self.content {
            Content::Scalar(value) => value.clone(),
            Content::Mapping(entries) => Value::Object(
                entries.iter().map(|(key, value)| (key.clone(), value.to_value())).collect::<Map<_, _>>(),
            ),
            Content::Sequence(items) => Value::Array(items.iter().map(Self::to_value).collect()),
        }
    }

    /// A field of a mapping; `None` where there is none, or where this is no mapping.
    pub fn field(&self, key: &str) -> Option<&Self> {
        match &self.content {
            Content::Mapping(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            Content::Scalar(_) | Content::Sequence(_) => None,
        }
    }

    /// The field to change; `None` where there is none.
    pub fn field_mut(&mut self, key: &str) -> Option<&mut Self> {
        match &mut self.content {
            Content::Mapping(entries) => {
                entries.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value)
            }
            Content::Scalar(_) | Content::Sequence(_) => None,
        }
    }

    /// The value at the end of some keys.
    pub fn at(&self, keys: &[&str]) -> Option<&Self> {
        keys.iter().try_fold(self, |value, key| value.field(key))
    }

    /// The text at the end of some keys; `None` where that is no string.
    pub fn text_at(&self, keys: &[&str]) -> Option<&str> {
        self.at(keys)?.as_str()
    }

    /// The items of a sequence; empty for anything else.
    pub fn items(&self) -> &[Self] {
        match &self.content {
            Content::Sequence(items) => items,
            Content::Scalar(_) | Content::Mapping(_) => &[],
        }
    }

    /// The entries of a mapping; empty for anything else.
    pub fn entries(&self) -> &[(String, Self)] {
        match &self.content {
            Content::Mapping(entries) => entries,
            Content::Scalar(_) | Content::Sequence(_) => &[],
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    /// Whether this is null.
    pub const fn is_null(&self) -> bool {
        matches!(self.content, Content::Scalar(Value::Null))
    }

    /// Whether this is a mapping.
    pub const fn is_mapping(&self) -> bool {
        matches!(self.content, Content::Mapping(_))
    }

    /// What stands at a path; `None` where nothing does.
    pub fn get(&self, path: &FieldPath) -> Option<&Self> {
        path.steps().iter().try_fold(self, |value, step| value.step(step))
    }

    /// What stands at a path, to change it.
    pub fn get_mut(&mut self, path: &FieldPath) -> Option<&mut Self> {
        path.steps().iter().try_fold(self, |value, step| match step {
            Step::Key(key) => value.field_mut(key),
            // A key of digits alone is written like an index.
            Step::Index(index) if value.is_mapping() => value.field_mut(&index.to_string()),
            Step::Index(index) => match &mut value.content {
                Content::Sequence(items) => items.get_mut(*index),
                Content::Mapping(_) | Content::Scalar(_) => None,
            },
            Step::New => None,
        })
    }

    /// The deepest value on the way to a path that exists.
    pub fn nearest(&self, path: &FieldPath) -> &Self {
        let mut value = self;
        for step in path.steps() {
            match value.step(step) {
                Some(next) => value = next,
                None => break,
            }
        }
        value
    }

    fn step(&self, step: &Step) -> Option<&Self> {
        match step {
            Step::Key(key) => self.field(key),
            // A key of digits alone is written like an index.
            Step::Index(index) if self.is_mapping() => self.field(&index.to_string()),
            Step::Index(index) => self.items().get(*index),
            Step::New => None,
        }
    }

    /// Sets a field of a mapping, at its old position where it has one. Returns whether this is a
    /// mapping at all.
    pub(super) fn set(&mut self, key: &str, value: Self) -> bool {
        let Content::Mapping(entries) = &mut self.content else { return false };
        match entries.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => entries.push((key.to_owned(), value)),
        }
        true
    }

    /// Takes a field out of a mapping.
    pub(super) fn remove(&mut self, key: &str) -> Option<Self> {
        let Content::Mapping(entries) = &mut self.content else { return None };
        let at = entries.iter().position(|(name, _)| name == key)?;
        Some(entries.remove(at).1)
    }

    /// The mapping at the end of some keys, made where it is missing or null. `None` where
    /// something that is no mapping stands on the way.
    pub(super) fn mapping_at(&mut self, keys: &[&str], place: &Place) -> Option<&mut Self> {
        let mut value = self;
        for key in keys {
            if value.field(key).is_none_or(Self::is_null) {
                let empty = Self { place: place.clone(), content: Content::Mapping(Vec::new()) };
                value.set(key, empty);
            }
            value = value.field_mut(key)?;
        }
        value.is_mapping().then_some(value)
    }

    /// A string at a place.
    pub(super) fn text(text: &str, place: &Place) -> Self {
        Self { place: place.clone(), content: Content::Scalar(Value::String(text.to_owned())) }
    }
}
