//! Scalars that remember how they were written, since kustomize copies texts and keeps quotes.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use super::dialect::Dialect;
use super::shared::SharedNode;
use capstan_yaml::{Scalar as Written, ScalarStyle};

/// A scalar: its value, and what kustomize keeps of how it was written.
#[derive(Debug, Clone)]
pub struct Scalar {
    value: Value,
    /// The text where the value itself would be written otherwise: `0644`, `1.20`, `~`.
    written: Option<Arc<str>>,
    tag: Tag,
    style: Style,
    /// The node that kustomize has at other places too.
    shared: Option<SharedNode>,
}

impl Dialect {
    /// What the scalar is.
    pub(super) fn read(self, scalar: &Written) -> Scalar {
        let style = if scalar.style == ScalarStyle::Plain { Style::Plain } else { Style::Quoted };
        Scalar::written(self.value(scalar), &scalar.text, style)
    }
}

/// What kustomize makes of a text without quotes.
pub(super) fn resolve(text: &str) -> Scalar {
    Dialect::Kustomize.read(&Written::plain(text))
}

/// Scalars are the same where their values are, however they were written.
impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

/// Whether a scalar is in quotes, or in a block. Kustomize keeps that where it sets another value: a number
/// in quotes is a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Style {
    #[default]
    Plain,
    Quoted,
}

/// What kustomize takes a scalar for. It keeps that where it sets another text: a number stays a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    /// What its text says.
    Open,
    Null,
    Bool,
    Integer,
    Float,
    Date,
    Text,
}

impl Tag {
    fn of(value: &Value, text: &str) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Bool,
            Value::Number(_) if text.contains(['.', 'e', 'E']) && !text.contains(['x', 'X']) => Self::Float,
            Value::Number(_) => Self::Integer,
            Value::String(value) if value != text => Self::Date,
            _ => Self::Text,
        }
    }

    const fn noun(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Integer => "a whole number",
            Self::Float => "a number",
            Self::Date => "a date",
            Self::Open | Self::Text => "a text",
        }
    }
}

impl Scalar {
    /// A value that was written that way.
    pub(super) fn written(value: Value, text: &str, style: Style) -> Self {
        let tag = if style == Style::Quoted { Tag::Text } else { Tag::of(&value, text) };
        let plain = Self { value, written: None, tag, style, shared: None };
        if plain.text() == text { plain } else { Self { written: Some(text.into()), ..plain } }
    }

    /// A text that kustomize writes without saying what it is: `12` becomes a number.
    pub(super) fn open(text: &str) -> Self {
        Self { tag: Tag::Open, ..resolve(text) }
    }

    fn with(text: &str, tag: Tag, style: Style) -> Self {
        if style == Style::Quoted || tag == Tag::Text {
            let value = Value::String(text.to_owned());
            return Self { value, written: None, tag, style, shared: None };
        }
        Self { tag, style, ..resolve(text) }
    }

    /// A string that old YAML takes for something else gets quotes where kustomize sets it again.
    pub(super) fn into_new_value(mut self) -> Self {
        self.quote();
        self
    }

    /// The same in place.
    pub(super) fn quote(&mut self) {
        if !matches!(self.tag, Tag::Text | Tag::Open) || self.style != Style::Plain {
            return;
        }
        let text = self.text();
        if !text.is_empty() && !Written::plain(&*text).value().is_string() {
            *self = Self { shared: self.shared, ..Self::with(&text, self.tag, Style::Quoted) };
        }
    }

    /// Another scalar in the place of this one, in the style of this one.
    pub(super) fn replaced_by(&self, new: &Self) -> Self {
        let shared = self.shared.map(SharedNode::set);
        if self.style == new.style || new.value.is_null() {
            return Self { style: self.style, shared, ..new.clone() };
        }
        Self { shared, ..Self::with(&new.text(), new.tag, self.style) }
    }

    /// The same kind of scalar with another text, as kustomize copies texts.
    ///
    /// # Errors
    /// The text does not have that type.
    pub(super) fn with_text(&self, text: &str) -> Result<Self, String> {
        let found = resolve(text).tag;
        let fits = matches!(self.tag, Tag::Open | Tag::Text)
            || found == self.tag
            || (self.tag, found) == (Tag::Float, Tag::Integer);
        if fits {
            return Ok(Self {
                shared: self.shared.map(SharedNode::set),
                ..Self::with(text, self.tag, self.style)
            });
        }
        Err(format!("it is {}, and `{text}` is not", self.tag.noun()))
    }

    /// Forgets how it was written, as kustomize does where it makes JSON of an object.
    pub(super) fn settle(&mut self) {
        let value = std::mem::take(&mut self.value);
        let quoted = |text: &String| Written::string(text.as_str()).style != ScalarStyle::Plain;
        *self = match &value {
            Value::String(text) if quoted(text) => Self { style: Style::Quoted, ..Self::from(value) },
            _ => Self::from(value),
        };
    }

    /// Whether kustomize takes it for null, and not for a text that says so.
    pub(super) fn is_known_null(&self) -> bool {
        self.tag == Tag::Null
    }

    /// What kustomize takes it for.
    pub(super) const fn tag(&self) -> Tag {
        self.tag
    }

    /// This value in the place of this one, whatever it was.
    pub(super) fn updated(&self, value: Value) -> Self {
        Self { shared: self.shared.map(SharedNode::set), ..Self::from(value) }
    }

    pub(super) const fn shared(&self) -> Option<SharedNode> {
        self.shared
    }

    pub(super) const fn share(&mut self, with: Option<SharedNode>) {
        self.shared = with;
    }

    /// The value: null, a boolean, a number or a string.
    pub const fn value(&self) -> &Value {
        &self.value
    }

    /// The scalar as a document would say it.
    pub(super) fn as_written(&self) -> Written {
        match &self.value {
            Value::String(text) if text.starts_with("${") && !text.contains(char::is_whitespace) => {
                let style =
                    if self.style == Style::Quoted { ScalarStyle::DoubleQuoted } else { ScalarStyle::Plain };
                Written { text: text.clone(), style }
            }
            Value::String(text) => Written::string(text.as_str()),
            _ => Written::plain(self.text()),
        }
    }

    /// Bytes of text that it holds.
    pub(super) fn bytes(&self) -> usize {
        self.written.as_ref().map_or(0, |text| text.len()) + self.value.as_str().map_or(0, str::len)
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
        let plain = Self { value, written: None, tag: Tag::Text, style: Style::Plain, shared: None };
        let tag = Tag::of(&plain.value, &plain.text());
        Self { tag, ..plain }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_scalar_keeps_its_kind_and_its_quotes_where_kustomize_sets_another() {
        let quoted = |text: &str| Scalar::written(json!(text), text, Style::Quoted);
        assert_eq!(*resolve("3").with_text("12").unwrap().value(), json!(12));
        assert_eq!(*resolve("1.5").with_text("12").unwrap().value(), json!(12));
        assert_eq!(*quoted("3").with_text("12").unwrap().value(), json!("12"));
        assert_eq!(*resolve("a").with_text("12").unwrap().value(), json!("12"));
        assert_eq!(*Scalar::open("a").with_text("12").unwrap().value(), json!(12));
        assert!(resolve("3").with_text("1.5").is_err() && resolve("~").with_text("a").is_err());
        // A number in quotes is written as a string, and still is a number where the next text is set.
        let disguised = quoted("a").replaced_by(&resolve("1.20"));
        assert_eq!(*disguised.value(), json!("1.20"));
        assert_eq!(*disguised.with_text("7").unwrap().value(), json!("7"));
        assert!(disguised.with_text("b").is_err());
        assert_eq!(*quoted("a").replaced_by(&resolve("2024-01-02")).value(), json!("2024-01-02"));
        assert_eq!(*resolve("a").replaced_by(&quoted("12")).value(), json!("12"));
    }

    #[test]
    fn scalars_are_the_same_where_their_values_are() {
        assert_eq!(resolve("0644"), resolve("420"));
        assert_eq!(Scalar::written(json!("a"), "a", Style::Quoted), resolve("a"));
    }
}
