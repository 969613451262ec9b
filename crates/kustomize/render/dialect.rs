//! The two readings of a scalar without quotes: that of `kubectl apply`, and kustomize's own.
//!
//! Kustomize keeps texts and reads them with go-yaml v3, for which `yes`, `on` and `n` are strings and an
//! unquoted date is a point in time
//! (<https://github.com/yaml/go-yaml/blob/v3/resolve.go>). Every other scalar reads alike.

use serde_json::Value;

use capstan_yaml::scalar::ScalarReading;
use capstan_yaml::{Entry, Node, NodeKind, Scalar as Written, ScalarStyle, YamlError, YamlFile};

/// Who reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Dialect {
    /// `kubectl apply`: files without a kustomization.
    Kubernetes,
    /// `kubectl kustomize`.
    Kustomize,
}

impl Dialect {
    /// A file with its keys as they read them: `on` is a text for kustomize, and `"true"` for Kubernetes.
    pub(super) fn with_keys(self, file: YamlFile) -> Result<YamlFile, YamlError> {
        let mut roots = file.documents().iter().map(|document| &document.root);
        if self == Self::Kubernetes || roots.all(|root| agree_on_keys(root, file.text())) {
            return Ok(file);
        }
        YamlFile::read_with_keys(file.text(), key)
    }

    /// The value that the scalar has for them.
    pub(super) fn value(self, scalar: &Written) -> Value {
        let value = scalar.value();
        if self == Self::Kubernetes || scalar.style != ScalarStyle::Plain {
            return value;
        }
        read_plain(value, &scalar.text)
    }
}

/// A key as kustomize reads it: what its YAML takes for anything but a text makes no JSON, so that it stops.
fn key(scalar: &Written) -> Result<String, String> {
    // A text that is not a number in JSON is a string.
    let is_float = matches!(scalar.reading(), ScalarReading::Float(_));
    match Dialect::Kustomize.value(scalar) {
        Value::String(text) if text == scalar.text && !is_float => Ok(text),
        _ => Err(format!("the key `{}` is not text for kustomize, which fails on it: quote it", scalar.text)),
    }
}

/// Whether every key is called the same by both.
fn agree_on_keys(node: &Node, text: &str) -> bool {
    let is_alike = |entry: &Entry| {
        let written = text.get(entry.key_span.clone()).unwrap_or_default();
        let is_plain_text = || written == entry.key && key(&Written::plain(written)).is_ok();
        // A key from `<<` has its own place elsewhere.
        written == "<<" || written.starts_with(['"', '\'']) || is_plain_text()
    };
    match &node.kind {
        NodeKind::Scalar(_) => true,
        NodeKind::Sequence(items) => items.iter().all(|item| agree_on_keys(item, text)),
        NodeKind::Mapping(entries) => {
            entries.iter().all(|entry| is_alike(entry) && agree_on_keys(&entry.value, text))
        }
    }
}

fn read_plain(value: Value, text: &str) -> Value {
    match value {
        Value::Bool(_) if !matches!(text, "true" | "True" | "TRUE" | "false" | "False" | "FALSE") => {
            Value::String(text.to_owned())
        }
        Value::String(_) => Value::String(point_in_time(text).unwrap_or_else(|| text.to_owned())),
        other => other,
    }
}

/// A date alone, as JSON writes the point in time that it is for go-yaml: `2024-06-01` is
/// `2024-06-01T00:00:00Z`. Dates with a time are written in JSON's own form already, nearly always.
fn point_in_time(text: &str) -> Option<String> {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || year.len() != 4 {
        return None;
    }
    let number = |text: &str| {
        let digits = (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<u32>().ok()).flatten()
    };
    let (year, month, day) = (number(year)?, number(month)?, number(day)?);
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => return None,
    };
    (1..=days).contains(&day).then(|| format!("{year:04}-{month:02}-{day:02}T00:00:00Z"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::scalar::resolve;

    #[test]
    fn kustomize_takes_the_words_of_old_yaml_for_strings_and_dates_for_points_in_time() {
        let cases = [
            ("yes", json!("yes")),
            ("on", json!("on")),
            ("n", json!("n")),
            ("True", json!(true)),
            ("0644", json!(420)),
            ("1.20", json!(1.2)),
            ("~", json!(null)),
            ("2024-02-29", json!("2024-02-29T00:00:00Z")),
            ("2023-02-29", json!("2023-02-29")),
            ("2024-6-1", json!("2024-06-01T00:00:00Z")),
            ("v1.2.3", json!("v1.2.3")),
        ];
        for (text, expected) in cases {
            let scalar = resolve(text);
            assert_eq!(*scalar.value(), expected, "{text}");
            assert_eq!(scalar.text(), text);
        }
    }
}
