//! How API servers write the path of a field.

use std::fmt;
use std::sync::OnceLock;

use regex::Regex;
use serde_json::Value;

use capstan_model::object::{FieldPath, Step};

/// A field as the API server writes it: `spec.template.spec`, `spec.users[0].passwd`,
/// `metadata.annotations[example.com/a]`, `spec.containers[name="a"].image`. Only an object tells which
/// item or key is meant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FieldNotation(String);

/// A part of the notation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldPart<'t> {
    /// Between dots.
    Name(&'t str),
    /// Between brackets.
    Bracket(&'t str),
}

impl FieldNotation {
    /// Keeps the notation, without the dot that some begin with. `None` for a text that can be none.
    pub fn read(text: &str) -> Option<Self> {
        let bare = text.trim().trim_start_matches('.');
        let fits = !bare.is_empty()
            && bare.len() <= 300
            && bare.chars().all(|c| c.is_ascii_graphic() || c == ' ')
            && !bare.contains(['{', '}']);
        fits.then(|| Self(bare.to_owned()))
    }

    /// As the server writes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path of that field in an object, even if the object does not have it.
    pub fn path_in(&self, object: &Value) -> FieldPath {
        resolve(Some(object), &self.parts(), FieldPath::root())
    }

    fn parts(&self) -> Vec<FieldPart<'_>> {
        let mut parts = Vec::new();
        let mut rest = self.0.as_str();
        while !rest.is_empty() {
            if let Some(inner) = rest.strip_prefix('[') {
                let end = closing(inner);
                parts.push(FieldPart::Bracket(&inner[..end]));
                rest = inner.get(end + 1..).unwrap_or_default();
            } else {
                let bare = rest.strip_prefix('.').unwrap_or(rest);
                let end = bare.find(['.', '[']).unwrap_or(bare.len());
                if end > 0 {
                    parts.push(FieldPart::Name(&bare[..end]));
                }
                rest = &bare[end..];
            }
        }
        parts
    }
}

impl fmt::Display for FieldNotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a bracket ends that may hold quoted text.
fn closing(inner: &str) -> usize {
    let mut quoted = false;
    for (at, c) in inner.char_indices() {
        match c {
            '"' => quoted = !quoted,
            ']' if !quoted => return at,
            _ => {}
        }
    }
    inner.len()
}

fn resolve(value: Option<&Value>, parts: &[FieldPart<'_>], path: FieldPath) -> FieldPath {
    match parts {
        [] => path,
        [FieldPart::Name(name), rest @ ..] => {
            let (key, rest) = longest_known_key(value, parts).unwrap_or_else(|| ((*name).to_owned(), rest));
            resolve(value.and_then(|value| value.get(&key)), rest, path.key(&key))
        }
        [FieldPart::Bracket(inner), rest @ ..] => {
            let items = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let bare = inner.trim_matches('"');
            if let Some(at) = position(items, inner) {
                resolve(items.get(at), rest, path.index(at))
            } else if let (Ok(at), false) = (bare.parse(), value.is_some_and(Value::is_object)) {
                resolve(items.get(at), rest, path.join(Step::Index(at)))
            } else if inner.contains('=') {
                // An item that the object does not have: the list is as near as it gets.
                path
            } else {
                resolve(value.and_then(|value| value.get(bare)), rest, path.key(bare))
            }
        }
    }
}

/// Keys may hold dots themselves: `metadata.labels.app.kubernetes.io/name`.
fn longest_known_key<'p, 't>(
    value: Option<&Value>,
    parts: &'p [FieldPart<'t>],
) -> Option<(String, &'p [FieldPart<'t>])> {
    let map = value?.as_object()?;
    let names: Vec<&str> = parts
        .iter()
        .map_while(|part| match part {
            FieldPart::Name(name) => Some(*name),
            FieldPart::Bracket(_) => None,
        })
        .collect();
    (1..=names.len())
        .map(|length| (names[..length].join("."), length))
        .find(|(key, _)| map.contains_key(key))
        .map(|(key, length)| (key, &parts[length..]))
}

/// Which item `name="a"`, `a="1",b="2"` or `="a"` means.
fn position(items: &[Value], inner: &str) -> Option<usize> {
    if !inner.contains('=') {
        return None;
    }
    let same = |value: &Value, text: &str| match value {
        Value::String(have) => have == text,
        other => serde_json::from_str::<Value>(text).is_ok_and(|wanted| wanted == *other),
    };
    items.iter().position(|item| {
        inner.split(',').all(|pair| {
            let Some((key, wanted)) = pair.split_once('=') else { return false };
            let wanted = wanted.trim_matches('"');
            match key.trim() {
                "" => same(item, wanted),
                key => item.get(key).is_some_and(|value| same(value, wanted)),
            }
        })
    })
}

/// Where a message names the field that it is about; the first pattern that fits.
const SPOKEN_OF: [&str; 4] = [
    // failed to create typed patch object (/; …, Kind=…): .spec.replicaz: field not declared in schema
    r#"typed patch object \([^)]*\): (?:errors:\s+)?(\.[A-Za-z0-9_.\[\]="/-]+): "#,
    r#"unknown field "([A-Za-z][A-Za-z0-9_.\[\]-]*)""#,
    r#"(?: is invalid|denied the request): \[?([a-z][A-Za-z0-9_]*(?:[.\[][A-Za-z0-9_.\[\]"=/-]*)?): [A-Z]"#,
    r#"conflict with "[^"]*"(?: using [^:]+)?: (\.[A-Za-z0-9_.\[\]="/-]+)"#,
];

fn patterns() -> &'static [Regex] {
    static PATTERNS: OnceLock<Vec<Regex>> = OnceLock::new();
    PATTERNS.get_or_init(|| SPOKEN_OF.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect())
}

/// The field of which a message speaks that names no causes.
pub(super) fn spoken_of(raw: &str) -> Option<FieldNotation> {
    let caught = patterns().iter().find_map(|pattern| pattern.captures_iter(raw).last())?;
    FieldNotation::read(caught.get(1)?.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_one() {
        assert_eq!(patterns().len(), SPOKEN_OF.len());
    }
}
