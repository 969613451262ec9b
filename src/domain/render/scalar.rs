//! Scalars that remember how they were written, since kustomize copies texts and keeps quotes.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use super::dialect::resolve;
use crate::yaml::{Scalar as Written, ScalarStyle};

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
    pub(super) fn set_anew(self) -> Self {
        let quoted = match &self.value {
            Value::String(text) if self.written.is_none() => {
                !Written::plain(text.as_str()).value().is_string()
            }
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
            (Value::String(value), Some(written)) if value.is_empty() && written.is_empty() => {
                return Ok(new);
            }
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

    /// Forgets how it was written, as kustomize does where it makes JSON of an object.
    pub(super) fn settle(&mut self) {
        self.written = None;
        let quoted = |text: &String| Written::string(text.as_str()).style != ScalarStyle::Plain;
        self.style = match &self.value {
            Value::String(text) if quoted(text) => Style::Quoted,
            _ => Style::Plain,
        };
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
