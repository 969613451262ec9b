//! From a file to a schema, strictly.

use std::sync::Arc;

use capstan_kustomize::schema::SchemaType;
use capstan_model::finding::{Finding, rules};
use capstan_model::spelling::{hint, suggestion};
use capstan_yaml::{DuplicateKey, Entry, Node, Value};
use regex::RegexBuilder;

use super::limits::BoundInclusion;
use super::{ListKind, ValueSchema};
use crate::fields::noun;
use crate::origin::{InventoryLevel, LevelKind};

/// How many values a schema may describe.
const SCHEMAS: usize = 10_000;

/// How deep they may be nested.
const DEPTH: usize = 32;

/// How large a compiled pattern may be, in bytes.
const PATTERN_BYTES: usize = 1 << 20;

/// The keys of a schema: OpenAPI's as far as definitions of custom resources use them, Kubernetes' and Capstan's.
const KEYS: &[&str] = &[
    "type",
    "description",
    "title",
    "properties",
    "additionalProperties",
    "items",
    "default",
    "required",
    "enum",
    "nullable",
    "format",
    "example",
    "externalDocs",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "anyOf",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-capstan-levels",
    "x-capstan-secret",
];

/// Reads the schema of all values of a release.
pub(super) fn read(
    level: &Arc<InventoryLevel>,
    root: &Node,
    duplicate: Option<&DuplicateKey>,
) -> (ValueSchema, Vec<Finding>) {
    let mut reader = SchemaFileReader { level, findings: Vec::new(), left: SCHEMAS };
    if let Some(twice) = duplicate {
        reader.wrong(twice.offset, format!("the key `{}` occurs twice", twice.key));
    }
    let schema = reader.schema(root, 0);
    if root.text_at("type") != Some("object") {
        let at = root.get("type").unwrap_or(root);
        reader.wrong(at.span.start, "the root of a release's schema has `type: object`".to_owned());
    }
    for (name, schema) in &schema.properties {
        if matches!(name.as_str(), "cluster" | "levels" | "clusters") {
            let message = format!("`{name}` is not allowed as a name: in templates it is the cluster itself");
            reader.wrong(schema.offset, message);
        }
    }
    (schema, reader.findings)
}

struct SchemaFileReader<'r> {
    level: &'r Arc<InventoryLevel>,
    findings: Vec<Finding>,
    left: usize,
}

impl SchemaFileReader<'_> {
    /// A wrong schema would let through what it should not: an error.
    fn wrong(&mut self, offset: usize, message: String) {
        let finding = Finding::new(rules::INVALID_DEFINITION, message).blocking();
        self.findings.push(finding.place(self.level.place(offset)));
    }

    fn schema(&mut self, node: &Node, depth: usize) -> ValueSchema {
        let at = node.span.start;
        if self.left == 0 || depth > DEPTH {
            self.wrong(at, format!("a schema may describe {SCHEMAS} values, nested {DEPTH} deep"));
            return ValueSchema::anything();
        }
        self.left -= 1;
        let Some(entries) = node.as_mapping() else {
            self.wrong(at, format!("a schema is a mapping like `type: string`, found {}", noun(node)));
            return ValueSchema::anything();
        };
        for entry in entries.iter().filter(|entry| !KEYS.contains(&entry.key.as_str())) {
            let message = format!(
                "a schema has no key `{}` that Capstan supports{}",
                entry.key,
                suggestion(&entry.key, KEYS.iter().copied())
            );
            self.wrong(entry.key_span.start, message);
        }
        let mut schema = ValueSchema { kind: self.kind(node), offset: at, ..ValueSchema::default() };
        schema.nullable = self.flag(node, "nullable");
        schema.description = node.text_at("description").map(|text| text.trim().to_owned());
        schema.default = node.get("default").filter(|default| !default.is_null()).cloned();
        schema.example = node.get("example").filter(|example| !example.is_null()).cloned();
        schema.secret = self.flag(node, "x-capstan-secret");
        for Entry { key, value, .. } in self.mapping(node, "properties") {
            schema.properties.push((key.clone(), self.schema(value, depth + 1)));
        }
        let others = node.get("additionalProperties");
        schema.others = others
            .filter(|others| others.as_mapping().is_some_and(|entries| !entries.is_empty()))
            .map(|others| Box::new(self.schema(others, depth + 1)));
        let keeps = others.is_some_and(|others| others.value() != false) && schema.others.is_none();
        // What a reference to a store is made of, no schema lists.
        schema.open = keeps
            || schema.secret
            || self.flag(node, "x-kubernetes-preserve-unknown-fields")
            || schema.kind == SchemaType::Any && schema.properties.is_empty();
        schema.items = node.get("items").map(|items| Box::new(self.schema(items, depth + 1)));
        schema.list = self.list(node);
        schema.required = self.required(node, &schema);
        schema.choices = node.get("enum").map(|list| self.choices(list)).unwrap_or_default();
        schema.levels = node.get("x-capstan-levels").map(|list| self.levels(list));
        self.limits(node, &mut schema);
        schema
    }

    fn kind(&mut self, node: &Node) -> SchemaType {
        let either = self.flag(node, "x-kubernetes-int-or-string");
        if node.get("anyOf").is_some() && !either {
            let message = "`anyOf` is supported only with `x-kubernetes-int-or-string: true`".to_owned();
            self.wrong(node.get("anyOf").map_or(node.span.start, |any| any.span.start), message);
        }
        let Some(word) = node.get("type") else {
            return match () {
                () if either => SchemaType::IntOrString,
                () if self.flag(node, "x-kubernetes-preserve-unknown-fields") => SchemaType::Any,
                () => {
                    self.wrong(node.span.start, "a schema needs its `type`".to_owned());
                    SchemaType::Any
                }
            };
        };
        match word.as_str() {
            _ if either => SchemaType::IntOrString,
            Some("object") => SchemaType::Object,
            Some("array") => SchemaType::Array,
            Some("string") => SchemaType::String,
            Some("integer") => SchemaType::Integer,
            Some("number") => SchemaType::Number,
            Some("boolean") => SchemaType::Boolean,
            other => {
                let known = ["object", "array", "string", "integer", "number", "boolean"];
                let message = format!(
                    "a schema's `type` is a word, found {}{}",
                    noun(word),
                    other.map(|word| hint(word, &known)).unwrap_or_default()
                );
                self.wrong(word.span.start, message);
                SchemaType::Any
            }
        }
    }

    fn flag(&mut self, node: &Node, key: &str) -> bool {
        match node.get(key).map(|value| (value.value(), value.span.start)) {
            None => false,
            Some((Value::Bool(flag), _)) => flag,
            Some((_, at)) => {
                self.wrong(at, format!("`{key}` is true or false"));
                false
            }
        }
    }

    fn mapping<'n>(&mut self, node: &'n Node, key: &str) -> &'n [Entry] {
        let Some(value) = node.get(key).filter(|value| !value.is_null()) else { return &[] };
        value.as_mapping().unwrap_or_else(|| {
            self.wrong(value.span.start, format!("`{key}` is a mapping from names to schemas"));
            &[]
        })
    }

    fn texts<'n>(&mut self, list: &'n Node, key: &str) -> Vec<(&'n str, usize)> {
        let items = list.as_sequence();
        let texts = items.and_then(|items| {
            items.iter().map(|item| Some((item.as_str()?, item.span.start))).collect::<Option<Vec<_>>>()
        });
        texts.unwrap_or_else(|| {
            self.wrong(list.span.start, format!("`{key}` is a list of texts"));
            Vec::new()
        })
    }

    fn choices(&mut self, list: &Node) -> Vec<Value> {
        match list.as_sequence() {
            Some(items) if !items.is_empty() => items.iter().map(Node::value).collect(),
            _ => {
                self.wrong(list.span.start, "`enum` is a list of values".to_owned());
                Vec::new()
            }
        }
    }

    fn required(&mut self, node: &Node, schema: &ValueSchema) -> Vec<String> {
        let Some(list) = node.get("required") else { return Vec::new() };
        let mut required = Vec::new();
        for (name, at) in self.texts(list, "required") {
            if schema.property(name).is_none() {
                let known = schema.names();
                self.wrong(at, format!("`{name}` is required but not in `properties`{}", hint(name, &known)));
            } else {
                required.push(name.to_owned());
            }
        }
        required
    }

    fn levels(&mut self, list: &Node) -> Vec<LevelKind> {
        let mut levels = Vec::new();
        for (word, at) in self.texts(list, "x-capstan-levels") {
            match (word, LevelKind::of_word(word)) {
                (_, Some(level)) => levels.push(level),
                ("cluster", _) => {
                    levels.extend([LevelKind::ClusterDefinition, LevelKind::ManagementClusterDefinition]);
                }
                _ => {
                    let known = ["environment", "customer", "site", "infraProvider", "cluster"];
                    self.wrong(at, format!("`{word}` is not a level{}", hint(word, &known)));
                }
            }
        }
        levels
    }

    fn list(&mut self, node: &Node) -> ListKind {
        let Some(word) = node.get("x-kubernetes-list-type") else { return ListKind::Atomic };
        match word.as_str() {
            Some("atomic") => ListKind::Atomic,
            Some("set") => ListKind::Set,
            Some("map") => {
                let keys = node.get("x-kubernetes-list-map-keys");
                let keys =
                    keys.map(|keys| self.texts(keys, "x-kubernetes-list-map-keys")).unwrap_or_default();
                if keys.is_empty() {
                    let message = "a list of type `map` names its keys in `x-kubernetes-list-map-keys`";
                    self.wrong(word.span.start, message.to_owned());
                    return ListKind::Atomic;
                }
                ListKind::Map(keys.into_iter().map(|(key, _)| key.to_owned()).collect())
            }
            _ => {
                let message = "`x-kubernetes-list-type` is `atomic`, `set` or `map`".to_owned();
                self.wrong(word.span.start, message);
                ListKind::Atomic
            }
        }
    }

    fn number(&mut self, node: &Node, key: &str) -> Option<f64> {
        let value = node.get(key)?;
        let number = value.value().as_f64();
        if number.is_none() {
            self.wrong(value.span.start, format!("`{key}` is a number"));
        }
        number
    }

    /// The first of these that is there: a type has one of them.
    fn size(&mut self, node: &Node, keys: [&str; 3]) -> Option<u64> {
        let key = keys.into_iter().find(|key| node.get(key).is_some())?;
        let size = node.get(key)?.value().as_u64();
        if size.is_none() {
            let at = node.get(key).map_or(node.span.start, |value| value.span.start);
            self.wrong(at, format!("`{key}` is a whole number from 0"));
        }
        size
    }

    fn limits(&mut self, node: &Node, schema: &mut ValueSchema) {
        let (low, high) = (self.number(node, "minimum"), self.number(node, "maximum"));
        schema.limits.fewest = self.size(node, ["minLength", "minItems", "minProperties"]);
        schema.limits.most = self.size(node, ["maxLength", "maxItems", "maxProperties"]);
        let bound =
            |exclusive: bool| if exclusive { BoundInclusion::Exclusive } else { BoundInclusion::Inclusive };
        let (above, below) = (self.flag(node, "exclusiveMinimum"), self.flag(node, "exclusiveMaximum"));
        schema.limits.minimum = low.map(|number| (number, bound(above)));
        schema.limits.maximum = high.map(|number| (number, bound(below)));
        let Some(pattern) = node.get("pattern") else { return };
        let built = pattern.as_str().map(|text| RegexBuilder::new(text).size_limit(PATTERN_BYTES).build());
        match built {
            Some(Ok(regex)) => schema.limits.pattern = Some(regex),
            Some(Err(error)) => {
                let reason = error.to_string();
                let reason = reason.lines().last().unwrap_or_default().trim();
                self.wrong(pattern.span.start, format!("this pattern cannot be used: {reason}"));
            }
            None => self.wrong(pattern.span.start, "`pattern` is a text".to_owned()),
        }
    }
}
