//! What is hidden for secrecy, said in words: to people nothing is shown as a mapping that nobody wrote.

use serde_json::json;

use super::redact;
use crate::merge::texts::differing_lines;
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::wording::count;
use capstan_yaml::Value;

/// A value as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// The value; with words in the place of what is hidden in it.
    Value(Value),
    /// All of it is hidden: words that say how long it is.
    Words(String),
}

impl Shown {
    /// A value of that field. Of a text the lines are counted that `first` has not, another side of the same field.
    pub fn of(object: &ObjectId, path: &FieldPath, value: &Value, first: Option<&Value>) -> Self {
        match redact(object, path, Some(value)) {
            shown if is_hidden(&shown) => Self::Words(hidden(value, first)),
            shown => Self::Value(in_words(shown, value)),
        }
    }
}

/// Whether a value was hidden.
pub fn is_hidden(shown: &Value) -> bool {
    *shown == json!({"redacted": true})
}

/// A value that is not shown: of a text of several lines how many there are, and how many are others than the first
/// side's.
fn hidden(value: &Value, first: Option<&Value>) -> String {
    let Some(text) = value.as_str().filter(|text| text.lines().nth(1).is_some()) else {
        return "a hidden value".to_owned();
    };
    let lines = count(text.lines().count(), "line", "lines");
    match first.and_then(Value::as_str).map(|first| differing_lines(first, text)) {
        None | Some(0) => format!("a hidden text of {lines}"),
        Some(1) => format!("a hidden text of {lines}, 1 of which differs"),
        Some(others) => format!("a hidden text of {lines}, {others} of which differ"),
    }
}

fn in_words(shown: Value, value: &Value) -> Value {
    match (shown, value) {
        (shown, value) if is_hidden(&shown) => Value::String(hidden(value, None)),
        (Value::Object(shown), Value::Object(all)) => {
            let field = |(key, shown): (String, Value)| {
                let shown = in_words(shown, all.get(&key).unwrap_or(&Value::Null));
                (key, shown)
            };
            shown.into_iter().map(field).collect()
        }
        (Value::Array(shown), Value::Array(all)) => {
            shown.into_iter().zip(all).map(|(shown, value)| in_words(shown, value)).collect()
        }
        (shown, _) => shown,
    }
}
