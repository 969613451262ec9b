//! How Go takes values: what is true, what is equal, how one is written.

use capstan_yaml::Value;

use super::uncomputed::{Computed, Uncomputed};

/// Whole numbers from here on Go writes with an exponent.
const EXPONENT_FROM: u64 = 1_000_000;

/// What Go calls true: anything but false, zero, nothing, and what is empty.
pub(super) fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

/// Go compares what is of one basic kind, and refuses the rest.
pub(super) fn equals(one: &Value, other: &Value) -> Computed<bool> {
    match (one, other) {
        (Value::String(one), Value::String(other)) => Ok(one == other),
        (Value::Bool(one), Value::Bool(other)) => Ok(one == other),
        (Value::Number(one), Value::Number(other)) => Ok(one.as_f64() == other.as_f64()),
        _ => Err(Uncomputed),
    }
}

/// How Go writes a value into text.
pub(super) fn printed(value: &Value) -> Computed<String> {
    match value {
        Value::Null => Ok("<no value>".to_owned()),
        Value::Bool(value) => Ok(value.to_string()),
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => match number.as_i64() {
            Some(whole) if whole.unsigned_abs() < EXPONENT_FROM => Ok(whole.to_string()),
            _ => Err(Uncomputed),
        },
        Value::Array(_) | Value::Object(_) => Err(Uncomputed),
    }
}
