//! A cluster's values, merged and evaluated, against its release's schema: types, what must be there, what may be.

use std::sync::Arc;

use capstan_kustomize::schema::SchemaType;
use capstan_model::finding::{Finding, RuleEntry, rules};
use capstan_model::object::FieldPath;
use capstan_model::spelling::hint;
use capstan_yaml::scalar::ScalarReading;
use capstan_yaml::{Scalar, ScalarStyle, Value};

use super::fields::shortened;
use super::merge::{MergedKind, MergedValue};
use super::origin::InventoryLevel;
use super::schema::{ReleaseSchema, ValueSchema};

/// What is wrong with the values.
pub(crate) fn check(values: &MergedValue, schema: &ReleaseSchema) -> Vec<Finding> {
    let mut checker = Checker { schema: &schema.level, findings: Vec::new() };
    checker.value(&FieldPath::root(), values, &schema.root);
    checker.findings
}

struct Checker<'c> {
    schema: &'c Arc<InventoryLevel>,
    findings: Vec<Finding>,
}

impl Checker<'_> {
    fn wrong(&mut self, rule: &'static RuleEntry, path: &FieldPath, value: &MergedValue, message: String) {
        self.findings.push(Finding::new(rule, message).place(value.origin.place()).path(path));
    }

    fn value(&mut self, path: &FieldPath, value: &MergedValue, schema: &ValueSchema) {
        if schema.secret {
            return self.reference(path, value);
        }
        match (&value.kind, schema.kind) {
            (MergedKind::Absent, _) => return,
            (MergedKind::Scalar(scalar), _) => {
                if !self.scalar(path, value, scalar, schema) {
                    return;
                }
            }
            (MergedKind::Map(_), SchemaType::Object | SchemaType::Any)
            | (MergedKind::List(_), SchemaType::Array | SchemaType::Any) => {}
            (kind, wanted) => {
                let message = format!(
                    "`{path}` must be {}, found {}{}",
                    wanted.noun(),
                    kind.noun(),
                    self.described(schema)
                );
                return self.wrong(rules::INVENTORY_TYPE, path, value, message);
            }
        }
        self.bounds(path, value, schema);
        match &value.kind {
            MergedKind::Map(entries) => {
                self.required(path, value, entries, schema);
                for (key, below) in entries {
                    if let Some(schema) = schema.value(key) {
                        self.value(&path.key(key), below, schema);
                    }
                }
            }
            MergedKind::List(items) => {
                for (at, item) in items.iter().enumerate() {
                    if let Some(schema) = schema.items.as_deref() {
                        self.value(&path.index(at), item, schema);
                    }
                }
            }
            MergedKind::Absent | MergedKind::Scalar(_) => {}
        }
    }

    /// Whether a scalar is of its type.
    fn scalar(
        &mut self,
        path: &FieldPath,
        value: &MergedValue,
        scalar: &Scalar,
        schema: &ValueSchema,
    ) -> bool {
        let reading = scalar.reading();
        let fits = matches!(
            (schema.kind, reading),
            (_, ScalarReading::Null)
                | (SchemaType::Any, _)
                | (SchemaType::String | SchemaType::IntOrString, ScalarReading::String(_))
                | (SchemaType::Boolean, ScalarReading::Bool(_))
                | (
                    SchemaType::Integer | SchemaType::Number | SchemaType::IntOrString,
                    ScalarReading::Integer(_) | ScalarReading::Unsigned(_)
                )
                | (SchemaType::Number, ScalarReading::Float(_))
        );
        if !fits {
            let found = match reading {
                ScalarReading::Null => "nothing".to_owned(),
                ScalarReading::Bool(truth) => format!("`{}`, which is {truth}", scalar.text),
                ScalarReading::Integer(_) | ScalarReading::Unsigned(_) | ScalarReading::Float(_) => {
                    let number = scalar.value().to_string();
                    if number == scalar.text {
                        format!("the number {number}")
                    } else {
                        format!("`{}`, which is the number {number}", scalar.text)
                    }
                }
                ScalarReading::String(text) => format!("the text `{}`", shortened(text)),
            };
            let message = format!(
                "`{path}` must be {}, found {found}{}{}",
                schema.kind.noun(),
                advice(scalar, schema.kind),
                self.described(schema)
            );
            self.wrong(rules::INVENTORY_TYPE, path, value, message);
        }
        fits
    }

    fn bounds(&mut self, path: &FieldPath, value: &MergedValue, schema: &ValueSchema) {
        let Some(json) = value.value() else { return };
        if !schema.choices.is_empty() && !schema.choices.contains(&json) {
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let known: Vec<String> = schema.choices.iter().map(text).collect();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let message = format!(
                "`{path}` has no value `{}`{}{}",
                shortened(&text(&json)),
                hint(&text(&json), &known),
                self.described(schema)
            );
            return self.wrong(rules::INVENTORY_TYPE, path, value, message);
        }
        if let Some(broken) = schema.limits.broken_by(&json) {
            let message = format!("`{path}` {broken}{}", self.described(schema));
            self.wrong(rules::INVENTORY_TYPE, path, value, message);
        }
    }

    fn required(
        &mut self,
        path: &FieldPath,
        value: &MergedValue,
        entries: &[(String, MergedValue)],
        schema: &ValueSchema,
    ) {
        for name in &schema.required {
            let below = path.key(name);
            let said = entries.iter().find(|(key, _)| key == name).map(|(_, value)| value);
            let described = schema.property(name).map(|schema| self.described(schema)).unwrap_or_default();
            match said {
                Some(said) if matches!(said.kind, MergedKind::Absent) => {
                    let before = said
                        .overrides
                        .first()
                        .map_or_else(String::new, |before| format!(", overriding {}", before.origin));
                    let message = format!(
                        "`{below}` must be set, but {} removes it with `null`{before}{described}",
                        said.origin.level
                    );
                    self.wrong(rules::INVENTORY_REQUIRED, &below, said, message);
                }
                Some(_) => {}
                None => {
                    let message =
                        format!("`{below}` must be set: no level sets it, and it has no default{described}");
                    self.wrong(rules::INVENTORY_REQUIRED, &below, value, message);
                }
            }
        }
    }

    /// A secret value, which only names where the secret is kept. It is never shown.
    fn reference(&mut self, path: &FieldPath, value: &MergedValue) {
        let is_reference = match &value.kind {
            MergedKind::Absent => true,
            MergedKind::Map(entries) => {
                let text = |name: &str| {
                    entries
                        .iter()
                        .any(|(key, value)| key == name && matches!(value.value(), Some(Value::String(_))))
                };
                let known = ["store", "mount", "path", "key", "version"];
                text("path") && text("key") && entries.iter().all(|(key, _)| known.contains(&key.as_str()))
            }
            MergedKind::Scalar(scalar) => scalar.reading() == ScalarReading::Null,
            MergedKind::List(_) => false,
        };
        if !is_reference {
            let message = format!(
                "`{path}` is secret: it may only be a reference to a store, like `{{store: eu, mount: kv, path: acme/fra1, key: token}}`. Remove the value from Git, and replace the secret where it is used"
            );
            self.wrong(rules::INVENTORY_TYPE, path, value, message);
        }
    }

    /// What the schema says of a value, and where.
    fn described(&self, schema: &ValueSchema) -> String {
        let place = self.schema.place(schema.offset);
        match &schema.description {
            Some(text) => format!(". It is: {} ({place})", shortened(text).trim_end_matches('.')),
            None => format!(" ({place})"),
        }
    }
}

/// What to write where text is wanted, and a plain scalar is read as something else; and the other way round.
fn advice(scalar: &Scalar, wanted: SchemaType) -> String {
    match (scalar.style, wanted) {
        (ScalarStyle::Plain, SchemaType::String) => format!(": in quotes it is text, `\"{}\"`", scalar.text),
        (
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted,
            SchemaType::Integer | SchemaType::Number | SchemaType::Boolean,
        ) => {
            let plain = Scalar::plain(scalar.text.as_str());
            let fits = match wanted {
                SchemaType::Boolean => matches!(plain.reading(), ScalarReading::Bool(_)),
                _ => matches!(plain.reading(), ScalarReading::Integer(_) | ScalarReading::Float(_)),
            };
            if fits { format!(": without quotes it is one, `{}`", scalar.text) } else { String::new() }
        }
        _ => String::new(),
    }
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
