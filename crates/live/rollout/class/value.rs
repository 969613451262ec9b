//! Values that are not computed, beside those that are.

use std::cell::Cell;

use serde_json::json;

use crate::rollout::pair::some;
use capstan_plan::templates::SpecDigest;
use capstan_yaml::Value;

/// No string in a manifest that means anything begins so.
const MARK: char = '\u{0}';

/// A placeholder for a value that Git does not have: it equals another one that is made from the same.
pub(super) fn uncomputed(from: &Value) -> Value {
    Value::String(format!("{MARK}{}", SpecDigest::of(from)))
}

/// A field that a path leads to, and that only the live cluster tells.
pub(super) fn only_live(path: &str) -> Value {
    uncomputed(&json!(["live", path]))
}

pub(super) fn is_uncomputed(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.starts_with(MARK))
}

/// Whether a text is one variable and no more, which Flux substitutes later: it may come to anything.
fn is_variable(value: &Value) -> bool {
    let name = value.as_str().and_then(|text| text.strip_prefix("${")?.strip_suffix('}'));
    name.is_some_and(|name| !name.contains(['{', '}']))
}

/// Whether anything in a value holds a variable that Flux substitutes later, so that no condition on it can be decided.
pub(super) fn holds_variable(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.values().any(holds_variable),
        Value::Array(items) => items.iter().any(holds_variable),
        scalar => scalar.as_str().is_some_and(|text| text.contains("${")),
    }
}

/// Whether anything in a value is not computed.
pub(in crate::rollout) fn holds_uncomputed(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.values().any(holds_uncomputed),
        Value::Array(items) => items.iter().any(holds_uncomputed),
        scalar => is_uncomputed(scalar),
    }
}

/// Whether two values differ whatever those of their parts are that are not computed. Null is absent.
pub(super) fn surely_differ(one: Option<&Value>, other: Option<&Value>) -> bool {
    let is_unknown = |value: &Value| is_uncomputed(value) || is_variable(value);
    match (some(one), some(other)) {
        (None, None) => false,
        (Some(one), None) | (None, Some(one)) => holds_something(one),
        (Some(one), Some(other)) if is_unknown(one) || is_unknown(other) => false,
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let keys = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key)));
            keys.into_iter().any(|key| surely_differ(one.get(key), other.get(key)))
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) if one.len() == other.len() => {
            one.iter().zip(other).any(|(one, other)| surely_differ(Some(one), Some(other)))
        }
        (one, other) => one != other,
    }
}

/// Whether a value is more than parts that are not computed.
fn holds_something(value: &Value) -> bool {
    match value {
        Value::Object(map) if !map.is_empty() => map.values().any(holds_something),
        scalar => !is_uncomputed(scalar),
    }
}

/// A budget for the class, which strangers may write: every value that is read or written takes from it. Beyond it
/// nothing is computed.
#[derive(Debug)]
pub(super) struct ClassWork(Cell<usize>);

impl ClassWork {
    pub(super) fn new(most: usize) -> Self {
        Self(Cell::new(most))
    }

    /// `None` where it is used up.
    pub(super) fn spend(&self, cost: usize) -> Option<()> {
        let left = self.0.get().checked_sub(cost);
        self.0.set(left.unwrap_or(0));
        left.map(|_| ())
    }

    /// Whether something had to be left out.
    pub(super) fn is_spent(&self) -> bool {
        self.0.get() == 0
    }

    /// The same for all that a value holds.
    pub(super) fn spend_on(&self, value: &Value) -> Option<()> {
        self.spend(weight(value))
    }
}

/// How much there is of a value.
pub(super) fn weight(value: &Value) -> usize {
    match value {
        Value::Object(map) => map.values().map(weight).sum::<usize>() + 1,
        Value::Array(items) => items.iter().map(weight).sum::<usize>() + 1,
        Value::String(text) => 1 + text.len() / 64,
        _ => 1,
    }
}
