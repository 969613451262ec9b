//! Whether an object that a version took still fits, place by place.

use capstan_kustomize::render::{PlacedContent, PlacedValue, SourceOffset};
use capstan_model::object::{FieldPath, Step};
use serde_json::Value;

use super::narrowing::{
    BoundKeyword, BoundSide, BoundSubject, Narrowing, field, items, keeps_unlisted, limits, newly_required,
    values, word,
};
use super::path::Path;

/// A field of an object that a version takes no longer.
#[derive(Debug, Clone)]
pub(crate) struct DroppedField<'v> {
    /// Where it is written.
    pub(crate) written: &'v SourceOffset,
    /// The field.
    pub(crate) path: FieldPath,
    /// The node of the schema: `spec.taints[].key`.
    pub(crate) node: String,
    /// What, in plain words.
    pub(crate) what: String,
    pub(crate) certainty: Certainty,
}

/// Whether an API server refuses, or drops, what is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Certainty {
    Certain,
    /// It depends on a pattern or an expression.
    May,
}

/// What of an object fits the old schema's limits and not the new one's, in the order of its fields.
pub(crate) fn misfits<'v>(old: &Value, new: &Value, object: &'v PlacedValue) -> Vec<DroppedField<'v>> {
    let mut search = FittingSearch { steps: Vec::new(), found: Vec::new() };
    search.node(old, new, object, Path::Root);
    search.found
}

struct FittingSearch<'v> {
    steps: Vec<Step>,
    found: Vec<DroppedField<'v>>,
}

impl<'v> FittingSearch<'v> {
    fn node(&mut self, old: &Value, new: &Value, value: &'v PlacedValue, path: Path<'_>) {
        for (limit, what) in limits(old, new) {
            match limit {
                Narrowing::Required => self.missing(old, new, value, path),
                Narrowing::May if !value.is_null() => self.add(value, path, what, Certainty::May),
                _ if breaks(limit, new, value) => self.add(value, path, what, Certainty::Certain),
                _ => {}
            }
        }
        match &value.content {
            PlacedContent::Mapping(entries) => {
                for (name, below) in entries {
                    self.steps.push(Step::Key(name.clone()));
                    self.entry(old, new, name, below, path);
                    self.steps.pop();
                }
            }
            PlacedContent::Sequence(list) => {
                if let (Some(old), Some(new)) = (items(old), items(new)) {
                    for (at, item) in list.iter().enumerate() {
                        self.steps.push(Step::Index(at));
                        self.node(old, new, item, Path::Items(&path));
                        self.steps.pop();
                    }
                }
            }
            PlacedContent::Scalar(_) => {}
        }
    }

    fn entry(&mut self, old: &Value, new: &Value, name: &str, value: &'v PlacedValue, path: Path<'_>) {
        // An API server answers for these itself.
        if matches!((path, name), (Path::Root, "apiVersion" | "kind" | "metadata")) {
            return;
        }
        match (field(old, name), field(new, name)) {
            (Some(old), Some(new)) => self.node(old, new, value, Path::Field(&path, name)),
            (Some(_), None) if !keeps_unlisted(new) && !value.is_null() => {
                let what =
                    "the field is gone: the API server drops it, or refuses it with strict field validation";
                self.add(value, Path::Field(&path, name), what.to_owned(), Certainty::Certain);
            }
            (None, None) => {
                if let (Some(old), Some(new)) = (values(old), values(new)) {
                    self.node(old, new, value, Path::Values(&path));
                }
            }
            _ => {}
        }
    }

    /// Fields that must be there now.
    fn missing(&mut self, old: &Value, new: &Value, value: &'v PlacedValue, path: Path<'_>) {
        let PlacedContent::Mapping(entries) = &value.content else { return };
        let has = |name: &str| entries.iter().any(|(key, value)| key == name && !value.is_null());
        for name in newly_required(old, new).into_iter().filter(|name| !has(name)) {
            self.add(value, path, format!("it must have `{name}`"), Certainty::Certain);
        }
    }

    fn add(&mut self, value: &'v PlacedValue, path: Path<'_>, what: String, certainty: Certainty) {
        let written = &value.place;
        let misfit = DroppedField {
            written,
            path: self.steps.iter().cloned().collect(),
            node: path.to_string(),
            what,
            certainty,
        };
        self.found.push(misfit);
    }
}

fn breaks(limit: Narrowing, new: &Value, value: &PlacedValue) -> bool {
    if value.is_null() {
        return limit == Narrowing::Null;
    }
    match limit {
        Narrowing::Type => !is_of_type(new, value),
        Narrowing::Unlisted => value.entries().iter().any(|(name, _)| field(new, name).is_none()),
        Narrowing::Enum => {
            let choices = new.get("enum").and_then(Value::as_array);
            choices.is_some_and(|choices| !choices.contains(&value.to_value()))
        }
        Narrowing::Bound(bound) => passes(bound, new, value),
        Narrowing::Null | Narrowing::Required | Narrowing::May => false,
    }
}

fn is_of_type(schema: &Value, value: &PlacedValue) -> bool {
    let scalar = match &value.content {
        PlacedContent::Mapping(_) => return matches!(word(schema), "a mapping" | "anything"),
        PlacedContent::Sequence(_) => return matches!(word(schema), "a list" | "anything"),
        PlacedContent::Scalar(scalar) => scalar.value(),
    };
    match word(schema) {
        "anything" => true,
        "a string" => scalar.is_string(),
        "a whole number" => scalar.as_f64().is_some_and(|number| number.fract() == 0.0),
        "a number" => scalar.is_number(),
        "true or false" => scalar.is_boolean(),
        "a whole number or a string" => scalar.is_string() || scalar.is_i64() || scalar.is_u64(),
        _ => false,
    }
}

fn passes(bound: BoundKeyword, schema: &Value, value: &PlacedValue) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "lengths of texts and lists are far below 2^52")]
    let length = |length: usize| length as f64;
    let found = match (bound.of, &value.content) {
        (BoundSubject::Number, PlacedContent::Scalar(scalar)) => scalar.value().as_f64(),
        (BoundSubject::Letters, PlacedContent::Scalar(_)) => {
            value.as_str().map(|text| length(text.chars().count()))
        }
        (BoundSubject::Items, PlacedContent::Sequence(items)) => Some(length(items.len())),
        (BoundSubject::Fields, PlacedContent::Mapping(entries)) => Some(length(entries.len())),
        _ => None,
    };
    let limit = schema.get(bound.keyword).and_then(Value::as_f64);
    let (Some(found), Some(limit)) = (found, limit) else { return false };
    let excludes = |key: &str| {
        bound.of == BoundSubject::Number && schema.get(key).and_then(Value::as_bool) == Some(true)
    };
    match bound.side {
        BoundSide::Least if excludes("exclusiveMinimum") => found <= limit,
        BoundSide::Least => found < limit,
        BoundSide::Most if excludes("exclusiveMaximum") => found >= limit,
        BoundSide::Most => found > limit,
    }
}
