//! Values that remember where each part of them was written.
//!
//! Rendering moves fields from many files into one object. A [`PlacedValue`] carries, for every mapping,
//! sequence and scalar in it, the file and the byte it came from, so that a rule can point at the
//! overlay line that set a field. Positions are computed only when somebody asks.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value};

pub use super::scalar::Scalar;
pub use super::source::{RenderSource, SourceOffset};
use capstan_model::object::{FieldPath, Step};
use capstan_yaml::{Node, Readable};

/// A value and where it was written.
#[derive(Debug, Clone)]
pub struct PlacedValue {
    /// Where.
    pub place: SourceOffset,
    /// What.
    pub content: PlacedContent,
}

/// What a [`PlacedValue`] holds.
#[derive(Debug, Clone)]
pub enum PlacedContent {
    /// Null, a boolean, a number or a string.
    Scalar(Scalar),
    /// A mapping, in the order in which it is rendered.
    Mapping(Vec<(String, PlacedValue)>),
    /// A sequence.
    Sequence(Vec<PlacedValue>),
}

impl PlacedValue {
    /// A value with one place for all of its parts.
    pub fn from_value(value: &Value, place: &SourceOffset) -> Self {
        let content = match value {
            Value::Object(fields) => PlacedContent::Mapping(
                fields.iter().map(|(key, value)| (key.clone(), Self::from_value(value, place))).collect(),
            ),
            Value::Array(items) => {
                PlacedContent::Sequence(items.iter().map(|item| Self::from_value(item, place)).collect())
            }
            scalar => PlacedContent::Scalar(scalar.clone().into()),
        };
        Self { place: place.clone(), content }
    }

    /// The plain value.
    pub fn to_value(&self) -> Value {
        match &self.content {
            PlacedContent::Scalar(scalar) => scalar.value().clone(),
            PlacedContent::Mapping(entries) => Value::Object(
                entries.iter().map(|(key, value)| (key.clone(), value.to_value())).collect::<Map<_, _>>(),
            ),
            PlacedContent::Sequence(items) => Value::Array(items.iter().map(Self::to_value).collect()),
        }
    }

    /// The value as a document would say it: a number stays as it was written, and a variable (`${REPLICAS}`)
    /// stays in quotes or without them, since that decides what it is once it has a value.
    pub fn to_node(&self) -> Node {
        match &self.content {
            PlacedContent::Scalar(scalar) => Node::scalar(scalar.as_written()),
            PlacedContent::Mapping(entries) => {
                Node::mapping(entries.iter().map(|(key, value)| (key.as_str(), value.to_node())))
            }
            PlacedContent::Sequence(items) => Node::sequence(items.iter().map(Self::to_node)),
        }
    }

    /// A field of a mapping; `None` where there is none, or where this is not a mapping.
    pub fn field(&self, key: &str) -> Option<&Self> {
        match &self.content {
            PlacedContent::Mapping(entries) => {
                entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
            }
            PlacedContent::Scalar(_) | PlacedContent::Sequence(_) => None,
        }
    }

    /// The field to change; `None` where there is none.
    pub fn field_mut(&mut self, key: &str) -> Option<&mut Self> {
        match &mut self.content {
            PlacedContent::Mapping(entries) => {
                entries.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value)
            }
            PlacedContent::Scalar(_) | PlacedContent::Sequence(_) => None,
        }
    }

    /// The value at the end of some keys.
    pub fn at(&self, keys: &[&str]) -> Option<&Self> {
        keys.iter().try_fold(self, |value, key| value.field(key))
    }

    /// The text at the end of some keys; `None` where that is not a string.
    pub fn text_at(&self, keys: &[&str]) -> Option<&str> {
        self.at(keys)?.as_str()
    }

    /// The items of a sequence; empty for anything else.
    pub fn items(&self) -> &[Self] {
        match &self.content {
            PlacedContent::Sequence(items) => items,
            PlacedContent::Scalar(_) | PlacedContent::Mapping(_) => &[],
        }
    }

    /// The entries of a mapping; empty for anything else.
    pub fn entries(&self) -> &[(String, Self)] {
        match &self.content {
            PlacedContent::Mapping(entries) => entries,
            PlacedContent::Scalar(_) | PlacedContent::Sequence(_) => &[],
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.content {
            PlacedContent::Scalar(scalar) => scalar.value().as_str(),
            PlacedContent::Mapping(_) | PlacedContent::Sequence(_) => None,
        }
    }

    /// The text of any scalar as it was written, without quotes; nothing for a mapping or sequence.
    pub(super) fn written(&self) -> Cow<'_, str> {
        match &self.content {
            PlacedContent::Scalar(scalar) => scalar.text(),
            PlacedContent::Mapping(_) | PlacedContent::Sequence(_) => Cow::Borrowed(""),
        }
    }

    /// Whether this is null.
    pub fn is_null(&self) -> bool {
        matches!(&self.content, PlacedContent::Scalar(scalar) if scalar.value().is_null())
    }

    /// Whether it is empty: null, or a mapping or sequence without items.
    pub(super) fn is_empty(&self) -> bool {
        match &self.content {
            PlacedContent::Scalar(scalar) => scalar.value().is_null(),
            PlacedContent::Mapping(entries) => entries.is_empty(),
            PlacedContent::Sequence(items) => items.is_empty(),
        }
    }

    /// Whether this is a mapping.
    pub const fn is_mapping(&self) -> bool {
        matches!(self.content, PlacedContent::Mapping(_))
    }

    /// The value at a path, if there is one.
    pub fn get(&self, path: &FieldPath) -> Option<&Self> {
        path.steps().iter().try_fold(self, |value, step| value.step(step))
    }

    /// The value at a path, to change it.
    pub fn get_mut(&mut self, path: &FieldPath) -> Option<&mut Self> {
        path.steps().iter().try_fold(self, |value, step| match step {
            Step::Key(key) => value.field_mut(key),
            // A key of digits alone is written like an index.
            Step::Index(index) if value.is_mapping() => value.field_mut(&index.to_string()),
            Step::Index(index) => match &mut value.content {
                PlacedContent::Sequence(items) => items.get_mut(*index),
                PlacedContent::Mapping(_) | PlacedContent::Scalar(_) => None,
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
        let PlacedContent::Mapping(entries) = &mut self.content else { return false };
        match entries.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => entries.push((key.to_owned(), value)),
        }
        true
    }

    /// Takes a field out of a mapping.
    pub(super) fn remove(&mut self, key: &str) -> Option<Self> {
        let PlacedContent::Mapping(entries) = &mut self.content else { return None };
        let at = entries.iter().position(|(name, _)| name == key)?;
        Some(entries.remove(at).1)
    }

    /// The mapping at the end of some keys, made where it is missing or null. `None` where a value on the way
    /// is not a mapping.
    pub(super) fn mapping_at(&mut self, keys: &[&str], place: &SourceOffset) -> Option<&mut Self> {
        let mut value = self;
        for key in keys {
            if value.field(key).is_none_or(Self::is_null) {
                value.set(key, Self::empty(place));
            }
            value = value.field_mut(key)?;
        }
        value.is_mapping().then_some(value)
    }

    /// A string at a place.
    pub(super) fn text(text: &str, place: &SourceOffset) -> Self {
        let scalar = Scalar::from(Value::String(text.to_owned())).into_new_value();
        Self { place: place.clone(), content: PlacedContent::Scalar(scalar) }
    }

    /// Puts a value in the place of this one; a scalar in the style of the one that was there.
    pub(super) fn replace_scalar(&mut self, new: Self) {
        let content = match (&self.content, &new.content) {
            (PlacedContent::Scalar(old), PlacedContent::Scalar(scalar)) => {
                PlacedContent::Scalar(old.replaced_by(scalar))
            }
            _ => new.content,
        };
        *self = Self { place: new.place, content };
    }

    /// This value as kustomize sets it where nothing was.
    pub(super) fn into_new_value(self) -> Self {
        match self.content {
            PlacedContent::Scalar(scalar) => {
                Self { place: self.place, content: PlacedContent::Scalar(scalar.into_new_value()) }
            }
            _ => self,
        }
    }

    /// Forgets how scalars were written, as kustomize does where it makes JSON of an object.
    pub(super) fn settle(&mut self) {
        match &mut self.content {
            PlacedContent::Scalar(scalar) => scalar.settle(),
            PlacedContent::Mapping(entries) => entries.iter_mut().for_each(|(_, value)| value.settle()),
            PlacedContent::Sequence(items) => items.iter_mut().for_each(Self::settle),
        }
    }

    /// A text that kustomize writes without saying what it is, at a place.
    pub(super) fn open(text: &str, place: &SourceOffset) -> Self {
        Self { place: place.clone(), content: PlacedContent::Scalar(Scalar::open(text)) }
    }

    /// A mapping of entries, of which the last of a key counts, at the place of the first.
    pub(super) fn mapping(entries: impl IntoIterator<Item = (String, Self)>, place: &SourceOffset) -> Self {
        let mut all: Vec<(String, Self)> = Vec::new();
        let mut at: HashMap<String, usize> = HashMap::new();
        for (key, value) in entries {
            match at.get(&key).and_then(|at| all.get_mut(*at)) {
                Some(old) => old.1 = value,
                None => {
                    at.insert(key.clone(), all.len());
                    all.push((key, value));
                }
            }
        }
        Self { place: place.clone(), content: PlacedContent::Mapping(all) }
    }

    /// An empty mapping at a place.
    pub(super) fn empty(place: &SourceOffset) -> Self {
        Self { place: place.clone(), content: PlacedContent::Mapping(Vec::new()) }
    }
}

impl Readable for PlacedValue {
    fn field(&self, key: &str) -> Option<&Self> {
        PlacedValue::field(self, key)
    }
    fn items(&self) -> &[Self] {
        PlacedValue::items(self)
    }
    fn text(&self) -> Option<&str> {
        self.as_str()
    }
    fn fields(&self) -> Vec<(&str, &Self)> {
        self.entries().iter().map(|(key, value)| (key.as_str(), value)).collect()
    }
}
