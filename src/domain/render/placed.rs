//! Values that remember where each part of them was written.
//!
//! Rendering moves fields from many files into one object. A [`Placed`] carries, for every mapping,
//! sequence and scalar in it, the file and the byte it came from, so that a rule can point at the
//! overlay line that set a field. Positions are computed only when somebody asks.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::dialect::resolve;
use crate::object::{FieldPath, Step};
use crate::tree::RepoPath;
use crate::yaml::{Position, Scalar as Written, ScalarStyle, YamlFile};

/// A file that objects are rendered from, or YAML that stands inside one as a string.
#[derive(Debug)]
pub struct Source {
    path: RepoPath,
    file: YamlFile,
    /// Where the string stands.
    outer: Option<Place>,
}

impl Source {
    pub(super) const fn new(path: RepoPath, file: YamlFile) -> Self {
        Self { path, file, outer: None }
    }

    /// YAML inside a string, which stands at `outer`.
    pub(super) fn inside(outer: &Place, file: YamlFile) -> Self {
        Self { path: outer.file().clone(), file, outer: Some(outer.clone()) }
    }

    /// The file.
    pub const fn path(&self) -> &RepoPath {
        &self.path
    }

    /// Line and column of a byte of the text. In a literal block they are those of the file, in any
    /// other string they are the string's.
    pub fn position(&self, offset: usize) -> Position {
        let Some(outer) = &self.outer else { return self.file.position(offset) };
        let start = outer.position();
        match outer.source.literal_indent(outer.offset) {
            Some(indent) => {
                let inner = self.file.position(offset);
                Position { line: start.line + inner.line, column: inner.column + indent }
            }
            None => start,
        }
    }

    /// How far the lines of a literal block at that byte are indented.
    fn literal_indent(&self, offset: usize) -> Option<u32> {
        let block = self.file.text().get(offset..)?.strip_prefix('|')?;
        let line = block.lines().skip(1).find(|line| !line.trim().is_empty())?;
        u32::try_from(line.len() - line.trim_start_matches(' ').len()).ok()
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

    /// The byte of the file's text; inside a string, one of the string's bytes.
    pub(crate) fn offset(&self) -> usize {
        self.offset + self.source.outer.as_ref().map_or(0, Self::offset)
    }

    /// Line and column.
    pub fn position(&self) -> Position {
        self.source.position(self.offset)
    }
}

/// Two places are one if they name the same byte of the same file.
impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.offset() == other.offset() && self.source.path == other.source.path
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
    Scalar(Scalar),
    /// A mapping, in the order in which it is rendered.
    Mapping(Vec<(String, Placed)>),
    /// A sequence.
    Sequence(Vec<Placed>),
}

/// A scalar: its value, and its text, which kustomize copies from place to place.
#[derive(Debug, Clone, PartialEq)]
pub struct Scalar {
    value: Value,
    /// The text where the value itself would be written otherwise: `0644`, `1.20`, `~`.
    written: Option<Arc<str>>,
    style: Style,
}

/// Whether a scalar stands in quotes, or in a block. Kustomize keeps that where it sets another value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Style {
    #[default]
    Plain,
    Quoted,
}

impl Scalar {
    /// A value that was written that way.
    pub(super) fn written(value: Value, text: &str, style: Style) -> Self {
        let plain = Self { value, written: None, style };
        if plain.text() == text { plain } else { Self { written: Some(text.into()), ..plain } }
    }

    /// A string that old YAML takes for something else is put in quotes where kustomize sets it anew.
    fn set_anew(self) -> Self {
        let quoted = match &self.value {
            Value::String(text) if self.written.is_none() => !Written::plain(text.as_str()).value().is_string(),
            _ => false,
        };
        if quoted { Self { style: Style::Quoted, ..self } } else { self }
    }

    /// Another scalar in the place of this one, in the style of this one: in quotes, a number is a string.
    pub(super) fn replaced_by(&self, new: &Self) -> Self {
        let is_text = self.style == Style::Plain || new.value.is_string() || new.value.is_null();
        let new = if is_text { new.clone() } else { Self::from(Value::String(new.text().into_owned())) };
        Self { style: self.style, ..new }
    }

    /// One that is made where nothing was, and is what its text will be.
    pub(super) fn created() -> Self {
        Self { value: Value::String(String::new()), written: Some("".into()), style: Style::Plain }
    }

    /// The same kind of scalar with another text, as kustomize copies texts: a number stays a number.
    ///
    /// # Errors
    /// The text is none of that kind.
    pub(super) fn with_text(&self, text: &str) -> Result<Self, String> {
        let new = resolve(text);
        let wanted = match (&self.value, &self.written) {
            (Value::String(value), Some(written)) if value.is_empty() && written.is_empty() => return Ok(new),
            // A date.
            (Value::String(_), Some(_)) => (new.written.is_some() && new.value.is_string(), "a date"),
            (Value::String(_), None) => {
                return Ok(Self { style: self.style, ..Self::from(Value::String(text.to_owned())) });
            }
            (Value::Bool(_), _) => (new.value.is_boolean(), "a boolean"),
            (Value::Number(_), _) => {
                let whole = |scalar: &Self| !scalar.text().contains(['.', 'e', 'E']);
                let fits = new.value.is_number() && (whole(&new) || !whole(self));
                (fits, if whole(self) { "a whole number" } else { "a number" })
            }
            _ => (new.value.is_null(), "null"),
        };
        match wanted {
            (true, _) => Ok(new),
            (false, kind) => Err(format!("it is {kind}, and `{text}` is not")),
        }
    }

    /// The value: null, a boolean, a number or a string.
    pub const fn value(&self) -> &Value {
        &self.value
    }

    /// The text, without quotes.
    pub(super) fn text(&self) -> Cow<'_, str> {
        match (&self.written, &self.value) {
            (Some(text), _) => Cow::Borrowed(text),
            (None, Value::String(text)) => Cow::Borrowed(text),
            (None, Value::Null) => Cow::Borrowed("null"),
            (None, other) => Cow::Owned(other.to_string()),
        }
    }
}

impl From<Value> for Scalar {
    fn from(value: Value) -> Self {
        Self { value, written: None, style: Style::Plain }
    }
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
            scalar => Content::Scalar(scalar.clone().into()),
        };
        Self { place: place.clone(), content }
    }

    /// The plain value.
    pub fn to_value(&self) -> Value {
        match &self.content {
            Content::Scalar(scalar) => scalar.value.clone(),
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
            Content::Scalar(Scalar { value: Value::String(text), .. }) => Some(text),
            _ => None,
        }
    }

    /// The text of any scalar as it was written, without quotes; nothing for a mapping or sequence.
    pub(super) fn written(&self) -> Cow<'_, str> {
        match &self.content {
            Content::Scalar(scalar) => scalar.text(),
            Content::Mapping(_) | Content::Sequence(_) => Cow::Borrowed(""),
        }
    }

    /// Whether this is null.
    pub const fn is_null(&self) -> bool {
        matches!(self.content, Content::Scalar(Scalar { value: Value::Null, .. }))
    }

    /// Whether nothing stands here: null, or a mapping or sequence without items.
    pub(super) fn is_empty(&self) -> bool {
        match &self.content {
            Content::Scalar(scalar) => scalar.value.is_null(),
            Content::Mapping(entries) => entries.is_empty(),
            Content::Sequence(items) => items.is_empty(),
        }
    }

    /// Whether this is a mapping.
    pub const fn is_mapping(&self) -> bool {
        matches!(self.content, Content::Mapping(_))
    }

    /// What stands at a path; `None` where nothing does.
    pub fn get(&self, path: &FieldPath) -> Option<&Self> {
        path.steps().iter().try_fold(self, |value, step| value.step(step))
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
                value.set(key, Self::empty(place));
            }
            value = value.field_mut(key)?;
        }
        value.is_mapping().then_some(value)
    }

    /// A string at a place.
    pub(super) fn text(text: &str, place: &Place) -> Self {
        let scalar = Scalar::from(Value::String(text.to_owned())).set_anew();
        Self { place: place.clone(), content: Content::Scalar(scalar) }
    }

    /// Puts a value in the place of this one; a scalar in the style of the one that was there.
    pub(super) fn replace_scalar(&mut self, new: Self) {
        let content = match (&self.content, &new.content) {
            (Content::Scalar(old), Content::Scalar(scalar)) => Content::Scalar(old.replaced_by(scalar)),
            _ => new.content,
        };
        *self = Self { place: new.place, content };
    }

    /// This value as kustomize sets it where nothing was.
    pub(super) fn set_anew(self) -> Self {
        match self.content {
            Content::Scalar(scalar) => {
                Self { place: self.place, content: Content::Scalar(scalar.set_anew()) }
            }
            _ => self,
        }
    }

    /// Forgets how scalars were written, as kustomize does where it makes JSON of an object.
    pub(super) fn settle(&mut self) {
        match &mut self.content {
            Content::Scalar(scalar) => {
                scalar.written = None;
                let quoted = |text: &String| Written::string(text.as_str()).style != ScalarStyle::Plain;
                scalar.style = match &scalar.value {
                    Value::String(text) if quoted(text) => Style::Quoted,
                    _ => Style::Plain,
                };
            }
            Content::Mapping(entries) => entries.iter_mut().for_each(|(_, value)| value.settle()),
            Content::Sequence(items) => items.iter_mut().for_each(Self::settle),
        }
    }

    /// An empty mapping at a place.
    pub(super) fn empty(place: &Place) -> Self {
        Self { place: place.clone(), content: Content::Mapping(Vec::new()) }
    }
}
