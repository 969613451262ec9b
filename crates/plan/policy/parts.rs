//! Whether a value is what a part of a definition asks for.
//!
//! A value with a variable is unknown, and so is a field that the server fills in: nothing is reported about these.

use capstan_kustomize::render::{PlacedContent, PlacedValue};
use capstan_kustomize::schema::{Range, Schema, SchemaParts, SchemaType, ValueLimits};
use capstan_model::wording::{fitting, list};
use capstan_yaml::Value;

/// How a value breaks parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum BrokenPart<'a> {
    /// It is not what this part asks for.
    Part(&'a Schema),
    /// It is what none of these asks for.
    None(&'a [Schema]),
    /// It is what this many of these ask for; only one is allowed.
    Several(usize, &'a [Schema]),
    /// It is what it must not be.
    Excluded(&'a Schema),
}

/// How a value breaks the parts of its schema.
pub(super) fn broken<'a>(schema: &'a Schema, value: &'a PlacedValue) -> Vec<BrokenPart<'a>> {
    schema.parts.iter().flat_map(|parts| broken_by(parts, schema, value)).collect()
}

fn broken_by<'a>(parts: &'a SchemaParts, whole: &'a Schema, value: &'a PlacedValue) -> Vec<BrokenPart<'a>> {
    let is = |part: &Schema, wanted: bool| holds(part, Some(whole), value) == Some(wanted);
    match parts {
        SchemaParts::All(all) => all.iter().filter(|part| is(part, false)).map(BrokenPart::Part).collect(),
        SchemaParts::Not(part) => is(part, true).then_some(BrokenPart::Excluded(part)).into_iter().collect(),
        SchemaParts::Any(parts) | SchemaParts::One(parts) if parts.iter().all(|part| is(part, false)) => {
            vec![BrokenPart::None(parts)]
        }
        SchemaParts::Any(_) => Vec::new(),
        SchemaParts::One(parts) => match parts.iter().filter(|part| is(part, true)).count() {
            0 | 1 => Vec::new(),
            several => vec![BrokenPart::Several(several, parts)],
        },
    }
}

/// All of them: false where one is, unknown where one is and none is false.
fn all(results: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    let mut known = Some(true);
    for result in results {
        match result {
            Some(true) => {}
            Some(false) => return Some(false),
            None => known = None,
        }
    }
    known
}

/// Whether a part holds for a value; `whole` is the schema round the part, which knows the defaults.
fn holds(part: &Schema, whole: Option<&Schema>, value: &PlacedValue) -> Option<bool> {
    let unknown = match &value.content {
        PlacedContent::Scalar(scalar) => match scalar.value() {
            Value::Null => true,
            Value::String(text) => text.contains("${"),
            _ => false,
        },
        _ => false,
    };
    if unknown {
        return None;
    }
    let is_type = match (&value.content, part.kind) {
        (_, SchemaType::Any) => true,
        (PlacedContent::Mapping(_), wanted) => wanted == SchemaType::Object,
        (PlacedContent::Sequence(_), wanted) => wanted == SchemaType::Array,
        (PlacedContent::Scalar(scalar), wanted) => wanted.takes(scalar.value()),
    };
    if !is_type {
        return Some(false);
    }
    let is_choice = match &value.content {
        PlacedContent::Scalar(scalar) => part.choices.is_empty() || part.choices.contains(scalar.value()),
        _ => part.choices.is_empty(),
    };
    let limits = part.limits.as_deref().map_or(Some(true), |limits| within(limits, whole, value));
    let of = |name: &str| whole.and_then(|whole| whole.field(name));
    let fields = part.listed_fields().map(|(name, below)| match value.field(name) {
        Some(found) => holds(below, of(name), found),
        None if is_filled_in(whole, name) => None,
        None => Some(true),
    });
    let others = value.entries().iter().filter(|(name, _)| part.listed(name).is_none());
    let others =
        others.filter_map(|(name, found)| part.field(name).map(|below| holds(below, of(name), found)));
    let item = whole.and_then(Schema::item);
    let items = part.item().map(|below| all(value.items().iter().map(|found| holds(below, item, found))));
    let parts = part.parts.iter().map(|parts| hold(parts, whole, value));
    all([Some(is_choice), limits].into_iter().chain(fields).chain(others).chain(items).chain(parts))
}

fn hold(parts: &SchemaParts, whole: Option<&Schema>, value: &PlacedValue) -> Option<bool> {
    let not = |result: Option<bool>| result.map(|holds| !holds);
    let of = |part| holds(part, whole, value);
    match parts {
        SchemaParts::All(parts) => all(parts.iter().map(of)),
        SchemaParts::Any(parts) => not(all(parts.iter().map(|part| not(of(part))))),
        SchemaParts::Not(part) => not(of(part)),
        SchemaParts::One(parts) => {
            let found: Vec<Option<bool>> = parts.iter().map(of).collect();
            let hold = found.iter().filter(|one| **one == Some(true)).count();
            match found.contains(&None) {
                true if hold < 2 => None,
                _ => Some(hold == 1),
            }
        }
    }
}

fn within(limits: &ValueLimits, whole: Option<&Schema>, value: &PlacedValue) -> Option<bool> {
    let count = |items: usize| u64::try_from(items).unwrap_or(u64::MAX);
    match &value.content {
        PlacedContent::Sequence(items) => Some(limits.items.holds(count(items.len()))),
        PlacedContent::Mapping(entries) => {
            let required = limits.required.iter().map(|name| match value.field(name) {
                Some(found) if found.is_null() => None,
                found => Some(found.is_some() || is_filled_in(whole, name)),
            });
            let is_counted = limits.properties.holds(count(entries.len()));
            let may_grow = whole.is_some_and(|whole| {
                whole.listed_fields().any(|(name, field)| field.has_default && value.field(name).is_none())
            });
            let counted = (limits.properties == Range::default() || !may_grow).then_some(is_counted);
            all(required.chain([counted]))
        }
        PlacedContent::Scalar(scalar) => match scalar.value() {
            Value::String(text) => {
                let pattern = limits.pattern.as_ref().map_or(Some(true), |pattern| pattern.fits(text));
                all([Some(limits.length.holds(count(text.chars().count()))), pattern])
            }
            Value::Number(number) => number.as_f64().map(|number| limits.number.holds(number)),
            _ => Some(true),
        },
    }
}

fn is_filled_in(whole: Option<&Schema>, name: &str) -> bool {
    whole.and_then(|whole| whole.listed(name)).is_some_and(|field| field.has_default)
}

/// What a part asks for, in words: ``the field `a` and `b` with one of "x", "y"``; nothing where it takes more to say it.
pub(super) fn in_words(part: &Schema) -> String {
    if !part.parts.is_empty() {
        return String::new();
    }
    let mut said: Vec<String> = Vec::new();
    let required = part.limits.as_ref().map(|limits| limits.required.as_ref()).unwrap_or_default();
    let names: Vec<String> = required.iter().map(|name| format!("`{name}`")).collect();
    if !names.is_empty() {
        said.push(format!("the {} {}", fitting(names.len(), "field", "fields"), list(&names)));
    }
    if !part.choices.is_empty() {
        let choices: Vec<String> = part.choices.iter().take(12).map(Value::to_string).collect();
        said.push(format!("one of {}", choices.join(", ")));
    }
    if let Some(limits) = &part.limits {
        let of =
            |range: &Range<u64>, many: &str| (*range != Range::default()).then(|| format!("{range} {many}"));
        said.extend(limits.pattern.as_ref().map(|pattern| format!("what matches `{}`", pattern.as_str())));
        said.extend((limits.number != Range::default()).then(|| limits.number.to_string()));
        said.extend(of(&limits.length, "characters"));
        said.extend(of(&limits.items, "items"));
        said.extend(of(&limits.properties, "fields"));
    }
    if said.is_empty() && !matches!(part.kind, SchemaType::Any | SchemaType::Object) {
        said.push(part.kind.noun().to_owned());
    }
    for (name, below) in part.listed_fields() {
        let words = in_words(below);
        if !words.is_empty() {
            said.push(format!("`{name}` with {words}"));
        }
    }
    list(&said)
}
