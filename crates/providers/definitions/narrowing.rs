//! Two schemas of one version, node by node: what is new, what is gone, what takes less.

use serde_json::Value;

use super::path::Path;
use super::{DefinitionDifference, DefinitionVersion, FieldNote};

/// Adds how the fields of a version differ.
pub(super) fn compare(
    old: &DefinitionVersion<'_>,
    new: &DefinitionVersion<'_>,
    found: &mut DefinitionDifference,
) {
    SchemaComparison { version: new.name, found }.node(old.schema, new.schema, Path::Root);
}

struct SchemaComparison<'c> {
    version: &'c str,
    found: &'c mut DefinitionDifference,
}

/// The schema of a list's items.
pub(super) fn items(schema: &Value) -> Option<&Value> {
    schema.get("items").filter(|items| items.is_object())
}

/// The schema of a map's values.
pub(super) fn values(schema: &Value) -> Option<&Value> {
    schema.get("additionalProperties").filter(|values| values.is_object())
}

/// The fields of a mapping.
pub(super) fn fields(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

pub(super) fn field<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    schema.get("properties")?.get(name)
}

/// Whether an API server keeps fields that the schema does not list.
pub(super) fn keeps_unlisted(schema: &Value) -> bool {
    let says = |key: &str| schema.get(key).and_then(Value::as_bool) == Some(true);
    says("x-kubernetes-preserve-unknown-fields")
        || says("additionalProperties")
        || values(schema).is_some()
        || schema.get("properties").is_none() && word(schema) == "anything"
}

impl SchemaComparison<'_> {
    fn node(&mut self, old: &Value, new: &Value, path: Path<'_>) {
        for (_, what) in limits(old, new) {
            self.narrowed(path, what);
        }
        for (name, below) in fields(old) {
            let at = Path::Field(&path, name);
            match field(new, name) {
                Some(now) => self.node(below, now, at),
                None if keeps_unlisted(new) => {}
                None => self.gone(
                    at,
                    "the field is gone: the API server drops it, or refuses it with strict field validation",
                ),
            }
        }
        self.found.added += fields(new)
            .filter(|(name, _)| field(old, name).is_none())
            .map(|(_, below)| 1 + count(below))
            .sum::<usize>();
        for (kind, old, new) in
            [(Below::Items, items(old), items(new)), (Below::Values, values(old), values(new))]
        {
            let at = match kind {
                Below::Items => Path::Items(&path),
                Below::Values => Path::Values(&path),
            };
            match (old, new) {
                (Some(old), Some(now)) => self.node(old, now, at),
                (None, Some(now)) => self.found.added += 1 + count(now),
                (Some(_), None) | (None, None) => {}
            }
        }
    }

    fn note(&self, path: Path<'_>, what: String) -> FieldNote {
        FieldNote { version: self.version.to_owned(), path: path.to_string(), what }
    }

    fn gone(&mut self, path: Path<'_>, what: &str) {
        let note = self.note(path, what.to_owned());
        self.found.gone.push(note);
    }

    fn narrowed(&mut self, path: Path<'_>, what: String) {
        let note = self.note(path, what);
        self.found.narrowed.push(note);
    }
}

#[derive(Clone, Copy)]
enum Below {
    Items,
    Values,
}

/// How many paths stand below a node.
fn count(schema: &Value) -> usize {
    let below = fields(schema).map(|(_, below)| below).chain(items(schema)).chain(values(schema));
    below.map(|below| 1 + count(below)).sum()
}

/// What makes a node take less than before. Whether it refuses a certain value, [`super::fitting`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Narrowing {
    Type,
    Null,
    Unlisted,
    Enum,
    Required,
    /// The keyword of a number that may not be passed.
    Bound(BoundKeyword),
    /// What no value shows without running it.
    May,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BoundKeyword {
    pub(super) keyword: &'static str,
    pub(super) side: BoundSide,
    pub(super) of: BoundSubject,
}

/// Which side a bound is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BoundSide {
    Least,
    Most,
}

/// What is bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BoundSubject {
    Number,
    Letters,
    Items,
    Fields,
}

const fn bound(keyword: &'static str, side: BoundSide, of: BoundSubject) -> BoundKeyword {
    BoundKeyword { keyword, side, of }
}

pub(super) const BOUNDS: [BoundKeyword; 8] = [
    bound("minimum", BoundSide::Least, BoundSubject::Number),
    bound("maximum", BoundSide::Most, BoundSubject::Number),
    bound("minLength", BoundSide::Least, BoundSubject::Letters),
    bound("maxLength", BoundSide::Most, BoundSubject::Letters),
    bound("minItems", BoundSide::Least, BoundSubject::Items),
    bound("maxItems", BoundSide::Most, BoundSubject::Items),
    bound("minProperties", BoundSide::Least, BoundSubject::Fields),
    bound("maxProperties", BoundSide::Most, BoundSubject::Fields),
];

/// What the type says, in words.
pub(super) fn word(schema: &Value) -> &'static str {
    if schema.get("x-kubernetes-int-or-string").and_then(Value::as_bool) == Some(true) {
        return "a whole number or a string";
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => "a mapping",
        Some("array") => "a list",
        Some("string") => "a string",
        Some("integer") => "a whole number",
        Some("number") => "a number",
        Some("boolean") => "true or false",
        _ => "anything",
    }
}

fn widens(old: &str, new: &str) -> bool {
    old == new
        || new == "anything"
        || matches!(
            (old, new),
            ("a whole number", "a number" | "a whole number or a string")
                | ("a string", "a whole number or a string")
        )
}

/// Every way in which a node takes less than before, its fields, items and values apart.
pub(super) fn limits(old: &Value, new: &Value) -> Vec<(Narrowing, String)> {
    let mut found = Vec::new();
    let (was, is) = (word(old), word(new));
    if !widens(was, is) {
        found.push((Narrowing::Type, format!("it accepts {is}; before, it accepted {was}")));
    }
    let flag = |schema: &Value, key: &str| schema.get(key).and_then(Value::as_bool) == Some(true);
    if flag(old, "nullable") && !flag(new, "nullable") {
        found.push((Narrowing::Null, "it no longer accepts null".to_owned()));
    }
    if keeps_unlisted(old) && !keeps_unlisted(new) && is == "a mapping" {
        found.push((Narrowing::Unlisted, "it no longer keeps unlisted fields".to_owned()));
    }
    if let Some(choices) = new.get("enum").and_then(Value::as_array) {
        match old.get("enum").and_then(Value::as_array) {
            None => found.push((Narrowing::Enum, format!("it accepts only {}", list(choices.iter())))),
            Some(before) => {
                let lost: Vec<&Value> = before.iter().filter(|choice| !choices.contains(choice)).collect();
                if !lost.is_empty() {
                    found.push((Narrowing::Enum, format!("it no longer accepts {}", list(lost.into_iter()))));
                }
            }
        }
    }
    let wanted = newly_required(old, new);
    if !wanted.is_empty() {
        let names: Vec<String> = wanted.iter().map(|name| format!("`{name}`")).collect();
        found.push((Narrowing::Required, format!("it must have {}", names.join(", "))));
    }
    for bound in BOUNDS {
        found.extend(tightened(old, new, bound).map(|what| (Narrowing::Bound(bound), what)));
    }
    found.extend(may_refuse(old, new).map(|what| (Narrowing::May, what)));
    found
}

/// Fields that must be there and did not need to. One with a default is never missing.
pub(super) fn newly_required<'s>(old: &Value, new: &'s Value) -> Vec<&'s str> {
    let required = |schema: &'s Value| schema.get("required").and_then(Value::as_array);
    let was = |name: &str| {
        let before = old.get("required").and_then(Value::as_array);
        before.is_some_and(|names| names.iter().any(|before| before == name))
    };
    let names = required(new).into_iter().flatten().filter_map(Value::as_str);
    let has_default = |name: &str| field(new, name).is_some_and(|field| field.get("default").is_some());
    names.filter(|name| !was(name) && !has_default(name)).collect()
}

fn tightened(old: &Value, new: &Value, bound: BoundKeyword) -> Option<String> {
    let number = |schema: &Value| schema.get(bound.keyword).and_then(Value::as_f64);
    let is = number(new)?;
    let exclusive = match bound.side {
        BoundSide::Least => "exclusiveMinimum",
        BoundSide::Most => "exclusiveMaximum",
    };
    let excludes = |schema: &Value| {
        bound.of == BoundSubject::Number && schema.get(exclusive).and_then(Value::as_bool) == Some(true)
    };
    let tighter = match number(old) {
        // Nothing has fewer than none.
        None => bound.side == BoundSide::Most || is > 0.0 || bound.of == BoundSubject::Number,
        Some(was) => match bound.side {
            BoundSide::Least => {
                is > was || (is - was).abs() < f64::EPSILON && excludes(new) && !excludes(old)
            }
            BoundSide::Most => is < was || (is - was).abs() < f64::EPSILON && excludes(new) && !excludes(old),
        },
    };
    let written = |schema: &Value| schema.get(bound.keyword).map(Value::to_string).unwrap_or_default();
    let side = match (bound.side, excludes(new)) {
        (BoundSide::Least, false) => "at least",
        (BoundSide::Least, true) => "more than",
        (BoundSide::Most, false) => "at most",
        (BoundSide::Most, true) => "less than",
    };
    let one = written(new) == "1";
    let unit = match bound.of {
        BoundSubject::Number => "",
        BoundSubject::Letters if one => " character",
        BoundSubject::Letters => " characters",
        BoundSubject::Items if one => " item",
        BoundSubject::Items => " items",
        BoundSubject::Fields if one => " field",
        BoundSubject::Fields => " fields",
    };
    let was = if number(old).is_some() { format!(", and {} before", written(old)) } else { String::new() };
    tighter.then(|| format!("it takes {side} {}{unit}{was}", written(new)))
}

/// Keywords whose change may refuse what was taken; what they refuse is not computed.
fn may_refuse<'s>(old: &'s Value, new: &'s Value) -> impl Iterator<Item = String> + use<'s> {
    let words = [
        ("pattern", "a pattern"),
        ("format", "a format"),
        ("multipleOf", "`multipleOf`"),
        ("oneOf", "`oneOf`"),
        ("anyOf", "`anyOf`"),
        ("allOf", "`allOf`"),
        ("not", "`not`"),
    ];
    let changed = words.into_iter().filter_map(|(key, word)| {
        let now = new.get(key)?;
        let how = match old.get(key) {
            None => "is new",
            Some(before) if before != now => "is another",
            Some(_) => return None,
        };
        let shown = now.as_str().map(|text| format!(" `{text}`")).unwrap_or_default();
        Some(format!("it may refuse what it accepted before: {word}{shown} {how}"))
    });
    let rules = |schema: &'s Value| {
        let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten();
        rules.filter_map(|rule| rule.get("rule")?.as_str())
    };
    let new_rules = rules(new).filter(move |rule| !rules(old).any(|before| before == *rule));
    let new_rules = new_rules
        .map(|rule| format!("it may refuse what it accepted before: the validation rule `{rule}` is new"));
    let unique = match (list_type(old), list_type(new)) {
        (was, is @ ("map" | "set")) if was != is => Some(format!(
            "it may refuse what it accepted before: items must differ, as in a list of type `{is}`"
        )),
        _ => None,
    };
    changed.chain(new_rules).chain(unique)
}

fn list_type(schema: &Value) -> &str {
    schema.get("x-kubernetes-list-type").and_then(Value::as_str).unwrap_or("atomic")
}

/// Values as JSON, a few of many.
fn list<'v>(values: impl ExactSizeIterator<Item = &'v Value>) -> String {
    const SHOWN: usize = 8;
    let more = values.len().saturating_sub(SHOWN);
    let mut shown: Vec<String> = values.take(SHOWN).map(Value::to_string).collect();
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    shown.join(", ")
}
