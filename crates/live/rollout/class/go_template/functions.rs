//! Functions of Go and of sprig.

use capstan_yaml::Value;

use super::semver_compare::semver_compare;
use super::uncomputed::{Computed, Uncomputed};
use super::values::{equals, is_true, printed};
use crate::rollout::class::value::holds_variable;

/// Functions of Go and of sprig, where they are sure of their arguments.
pub(super) fn call(function: &str, arguments: &[Value]) -> Computed<Value> {
    if arguments.iter().any(holds_variable) {
        return Err(Uncomputed);
    }
    Ok(match (function, arguments) {
        ("eq", [one, others @ ..]) if !others.is_empty() => {
            let equal = others.iter().map(|other| equals(one, other));
            Value::Bool(equal.collect::<Computed<Vec<bool>>>()?.into_iter().any(|equal| equal))
        }
        ("ne", [one, other]) => Value::Bool(!equals(one, other)?),
        ("not", [value]) => Value::Bool(!is_true(value)),
        ("and", [.., last]) => {
            let decides = arguments.iter().find(|argument| !is_true(argument));
            decides.unwrap_or(last).clone()
        }
        ("or", [.., last]) => {
            let decides = arguments.iter().find(|argument| is_true(argument));
            decides.unwrap_or(last).clone()
        }
        ("empty", [value]) => Value::Bool(!is_true(value)),
        ("default", [default, value]) => if is_true(value) { value } else { default }.clone(),
        ("replace", [Value::String(old), Value::String(new), Value::String(text)]) if !old.is_empty() => {
            Value::String(text.replace(old.as_str(), new))
        }
        ("printf", [Value::String(format), values @ ..]) => Value::String(formatted(format, values)?),
        ("quote", [Value::String(text)]) => Value::String(format!("\"{}\"", plain(text)?)),
        ("squote", [Value::String(text)]) => Value::String(format!("'{text}'")),
        ("upper", [Value::String(text)]) => Value::String(plain(text)?.to_ascii_uppercase()),
        ("lower", [Value::String(text)]) => Value::String(plain(text)?.to_ascii_lowercase()),
        ("contains", [Value::String(part), Value::String(text)]) => Value::Bool(text.contains(part.as_str())),
        ("hasPrefix", [Value::String(part), Value::String(text)]) => {
            Value::Bool(text.starts_with(part.as_str()))
        }
        ("hasSuffix", [Value::String(part), Value::String(text)]) => {
            Value::Bool(text.ends_with(part.as_str()))
        }
        ("trimPrefix", [Value::String(part), Value::String(text)]) => {
            Value::String(text.strip_prefix(part.as_str()).unwrap_or(text).to_owned())
        }
        ("trimSuffix", [Value::String(part), Value::String(text)]) => {
            Value::String(text.strip_suffix(part.as_str()).unwrap_or(text).to_owned())
        }
        ("semverCompare", [Value::String(constraint), Value::String(version)]) => {
            Value::Bool(semver_compare(constraint, version)?)
        }
        _ => return Err(Uncomputed),
    })
}

/// A format of Go with values in place of `%s`, of texts alone, and `%v`. Every other verb, and a number of values that
/// does not fit, is not computed.
fn formatted(format: &str, values: &[Value]) -> Computed<String> {
    let mut values = values.iter();
    let mut out = String::new();
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            out.push(letter);
            continue;
        }
        match (letters.next(), &mut values) {
            (Some('%'), _) => out.push('%'),
            (Some('s'), values) => match values.next() {
                Some(Value::String(text)) => out.push_str(text),
                _ => return Err(Uncomputed),
            },
            (Some('v'), values) => match values.next() {
                // `printf` writes what is missing otherwise than an action does.
                Some(value) if !value.is_null() => out.push_str(&printed(value)?),
                _ => return Err(Uncomputed),
            },
            _ => return Err(Uncomputed),
        }
    }
    if values.next().is_none() { Ok(out) } else { Err(Uncomputed) }
}

/// A text in which Go escapes nothing and changes no other letters' case.
fn plain(text: &str) -> Computed<&str> {
    let is_plain = |c: char| (c.is_ascii_graphic() || c == ' ') && !matches!(c, '"' | '\\');
    if text.chars().all(is_plain) { Ok(text) } else { Err(Uncomputed) }
}
