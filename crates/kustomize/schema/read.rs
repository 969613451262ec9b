//! An OpenAPI schema of a definition, read into its compact form. Bounded in size and depth: a
//! definition is anybody's input.

use super::immutable;
use super::limits::ValueLimits;
use super::node::{LISTS_OF_PARTS, ListType, MapKey, Schema, SchemaParts, SchemaType, Unlisted};
use super::value::ValueKind;
use capstan_yaml::{Entry, Node, Value};

/// How many schemas one file may have in all. The largest known (Cluster API's components) has 25,000.
const SCHEMAS: usize = 400_000;

/// How many schemas one version of a kind may have. The largest known (ClusterClass) has about 2,000.
const SCHEMAS_OF_A_VERSION: usize = 100_000;

/// How deep a schema may be nested: fields of fields, not lines.
const DEPTH: usize = 64;

/// How many values an `enum` may list.
const CHOICES: usize = 1_000;

/// What is understood of parts.
const KEYS_OF_PARTS: [&str; 21] = [
    "type",
    "title",
    "description",
    "properties",
    "additionalProperties",
    "items",
    "required",
    "enum",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
];

/// What may still be read.
#[derive(Debug)]
pub(super) struct ReadBudget(usize);

impl Default for ReadBudget {
    fn default() -> Self {
        Self(SCHEMAS)
    }
}

/// Whether the server drops fields that a definition does not list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pruning {
    /// It does.
    On,
    /// It does not (`preserveUnknownFields`).
    Off,
}

/// Flaws and the nodes that have them.
pub(super) type Flaws<'n> = Vec<(&'n Node, String)>;

/// Reads the schema of an object. What cannot be read counts as unknown, and is a flaw.
pub(super) fn read_schema<'n>(
    node: &'n Node,
    pruning: Pruning,
    budget: &mut ReadBudget,
    flaws: &mut Flaws<'n>,
) -> Schema {
    let mut reader = NodeReader {
        pruning,
        in_part: false,
        is_unread: false,
        left: budget.0.min(SCHEMAS_OF_A_VERSION),
        cut: None,
        flaws,
    };
    let start = reader.left;
    let mut schema = reader.schema(node, "", 0);
    add_object_fields(&mut schema, pruning);
    budget.0 = budget.0.saturating_sub(start - reader.left);
    if let Some(node) = reader.cut {
        let message = format!(
            "this schema is larger than Capstan reads ({SCHEMAS_OF_A_VERSION} fields a version, {DEPTH} deep): the rest is treated as unknown"
        );
        flaws.push((node, message));
    }
    schema
}

struct NodeReader<'r, 'n> {
    pruning: Pruning,
    /// Whether it reads a part, which says nothing of fields that it does not list.
    in_part: bool,
    /// Whether something of a part was passed over.
    is_unread: bool,
    left: usize,
    /// The first schema that was too much.
    cut: Option<&'n Node>,
    flaws: &'r mut Flaws<'n>,
}

impl<'n> NodeReader<'_, 'n> {
    fn schema(&mut self, node: &'n Node, name: &str, depth: usize) -> Schema {
        if self.left == 0 || depth > DEPTH {
            self.cut.get_or_insert(node);
            return unknown();
        }
        self.left -= 1;
        if node.as_mapping().is_none() {
            self.flaws.push((node, "a schema is a mapping: `type: string`, say".to_owned()));
            return unknown();
        }
        let known = |entry: &Entry| KEYS_OF_PARTS.contains(&entry.key.as_str());
        self.is_unread |= self.in_part && !node.as_mapping().unwrap_or_default().iter().all(known);
        let flag = |key: &str| node.get(key).is_some_and(|node| node.value() == true);
        let pattern = node.text_at("pattern");
        let mut schema = Schema {
            kind: self.kind(node),
            nullable: flag("nullable"),
            has_default: node.get("default").is_some(),
            default: node.get("default").and_then(Node::as_scalar).map(|scalar| scalar.text.as_str().into()),
            choices: self.choices(node),
            limits: ValueLimits::of(node),
            immutable: immutable::rules_of(node),
            ..Schema::default()
        };
        let fields: &[Entry] = self.mapping(node, "properties");
        let mut read: Vec<(Box<str>, Schema)> = fields
            .iter()
            .map(|entry| (entry.key.as_str().into(), self.schema(&entry.value, &entry.key, depth + 1)))
            .collect();
        read.sort_by(|(a, _), (b, _)| a.cmp(b));
        read.dedup_by(|(a, _), (b, _)| a == b);
        schema.fields = read.into();
        let others = node.get("additionalProperties");
        schema.values = others
            .filter(|node| node.as_mapping().is_some_and(|entries| !entries.is_empty()))
            .map(|node| Box::new(self.schema(node, name, depth + 1)));
        let keeps_others = others.is_some_and(|node| node.value() != false) && schema.values.is_none();
        let says_nothing = schema.kind == SchemaType::Any && schema.fields.is_empty();
        schema.unlisted = if self.in_part {
            Unlisted::Unknown
        } else if flag("x-kubernetes-preserve-unknown-fields")
            || keeps_others
            || says_nothing
            || self.pruning == Pruning::Off
        {
            Unlisted::Kept
        } else {
            Unlisted::Pruned
        };
        if flag("x-kubernetes-embedded-resource") {
            add_object_fields(&mut schema, self.pruning);
        }
        schema.items = node.get("items").map(|node| Box::new(self.schema(node, "", depth + 1)));
        schema.list = self.list(node, schema.items.as_deref());
        schema.value = value_kind(schema.kind, node, name, pattern);
        schema.parts = self.parts(node, depth);
        let mut below = schema.fields.iter().map(|(_, below)| below);
        schema.guards = !schema.immutable.is_empty()
            || below.any(|below| below.guards)
            || [&schema.values, &schema.items].into_iter().flatten().any(|below| below.guards);
        schema
    }

    fn parts(&mut self, node: &'n Node, depth: usize) -> Box<[SchemaParts]> {
        let was = (std::mem::replace(&mut self.in_part, true), std::mem::take(&mut self.is_unread));
        let flaws = self.flaws.len();
        let mut parts = Vec::new();
        for (key, of) in LISTS_OF_PARTS {
            let list = node.get(key).and_then(Node::as_sequence).unwrap_or_default();
            // Its type says the same.
            let says_types = key == "anyOf" && is_int_or_string(node) && list.iter().all(has_one_key);
            if list.is_empty() || says_types {
                continue;
            }
            parts.push(of(list.iter().map(|part| self.schema(part, "", depth + 1)).collect()));
        }
        parts
            .extend(node.get("not").map(|part| SchemaParts::Not(Box::new(self.schema(part, "", depth + 1)))));
        // Of what is not understood as a whole nobody can say whether it holds.
        if self.is_unread || self.cut.is_some() || self.flaws.len() > flaws {
            parts.clear();
        }
        (self.in_part, self.is_unread) = was;
        parts.into()
    }

    fn kind(&mut self, node: &'n Node) -> SchemaType {
        let int_or_string = node.get("x-kubernetes-int-or-string").is_some_and(|node| node.value() == true);
        let Some(word) = node.get("type") else {
            let has = |key: &str| node.get(key).is_some();
            return if int_or_string || is_int_or_string(node) {
                SchemaType::IntOrString
            } else if has("properties") || has("additionalProperties") {
                SchemaType::Object
            } else if has("items") {
                SchemaType::Array
            } else {
                SchemaType::Any
            };
        };
        match word.as_str() {
            _ if int_or_string => SchemaType::IntOrString,
            Some("object") => SchemaType::Object,
            Some("array") => SchemaType::Array,
            Some("string") => SchemaType::String,
            Some("integer") => SchemaType::Integer,
            Some("number") => SchemaType::Number,
            Some("boolean") => SchemaType::Boolean,
            _ => {
                let known = "object, array, string, integer, number or boolean";
                self.flaws.push((word, format!("a schema's `type` is one of {known}")));
                SchemaType::Any
            }
        }
    }

    fn mapping(&mut self, node: &'n Node, key: &str) -> &'n [Entry] {
        let Some(value) = node.get(key).filter(|value| !value.is_null()) else { return &[] };
        value.as_mapping().unwrap_or_else(|| {
            self.flaws.push((value, format!("`{key}` is a mapping from names to schemas")));
            &[]
        })
    }

    fn choices(&mut self, node: &'n Node) -> Box<[Value]> {
        let Some(list) = node.get("enum") else { return Box::default() };
        match list.as_sequence() {
            Some(items) if items.len() <= CHOICES => items.iter().map(Node::value).collect(),
            // Longer ones are not enforced rather than kept.
            Some(_) => {
                self.is_unread = true;
                Box::default()
            }
            None => {
                self.flaws.push((list, "`enum` is a list of values".to_owned()));
                Box::default()
            }
        }
    }

    fn list(&mut self, node: &'n Node, items: Option<&Schema>) -> Option<ListType> {
        let key = |name: &str| MapKey {
            name: name.into(),
            default: items.and_then(|items| items.listed(name)).and_then(|field| field.default.clone()),
        };
        if let Some(word) = node.get("x-kubernetes-list-type") {
            return match word.as_str() {
                Some("atomic") => Some(ListType::Atomic),
                Some("set") => Some(ListType::Set),
                Some("map") => {
                    let keys = node.get("x-kubernetes-list-map-keys").and_then(Node::as_sequence);
                    let keys: Box<[MapKey]> =
                        keys.unwrap_or_default().iter().filter_map(Node::as_str).map(key).collect();
                    if keys.is_empty() {
                        let message = "a list of type `map` names its keys in `x-kubernetes-list-map-keys`";
                        self.flaws.push((word, message.to_owned()));
                        return None;
                    }
                    Some(ListType::Map(keys))
                }
                _ => {
                    let message = "`x-kubernetes-list-type` is `atomic`, `set` or `map`";
                    self.flaws.push((word, message.to_owned()));
                    None
                }
            };
        }
        let strategy = node.text_at("x-kubernetes-patch-strategy")?;
        let merges = strategy.split(',').any(|word| word.trim() == "merge");
        match node.text_at("x-kubernetes-patch-merge-key") {
            Some(name) if merges => Some(ListType::Map([key(name)].into())),
            None if merges => Some(ListType::Set),
            _ => None,
        }
    }
}

/// Adds what every object has besides its own fields.
pub(super) fn add_object_fields(schema: &mut Schema, pruning: Pruning) {
    if schema.kind == SchemaType::Any && schema.fields.is_empty() {
        return;
    }
    let text = || Schema { kind: SchemaType::String, unlisted: Unlisted::Pruned, ..Schema::default() };
    let mut fields: Vec<_> = std::mem::take(&mut schema.fields).into_vec();
    fields.retain(|(name, _)| !matches!(name.as_ref(), "apiVersion" | "kind" | "metadata"));
    fields.extend([
        ("apiVersion".into(), text()),
        ("kind".into(), text()),
        ("metadata".into(), metadata(pruning)),
    ]);
    fields.sort_by(|(a, _), (b, _)| a.cmp(b));
    schema.fields = fields.into();
}

/// What may be anything: what is beyond the bounds, say, or cannot be read.
pub(super) fn unknown() -> Schema {
    Schema { unlisted: Unlisted::Kept, ..Schema::default() }
}

/// The metadata of an object, of which a definition says only that it is there.
/// <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/>
pub(super) fn metadata(pruning: Pruning) -> Schema {
    let unlisted = if pruning == Pruning::On { Unlisted::Pruned } else { Unlisted::Kept };
    let of = |kind: SchemaType| Schema { kind, unlisted, ..Schema::default() };
    let texts = || Schema { values: Some(Box::new(of(SchemaType::String))), ..of(SchemaType::Object) };
    let list = |items: Schema, list: ListType| Schema {
        items: Some(Box::new(items)),
        list: Some(list),
        ..of(SchemaType::Array)
    };
    let anything = || Schema { unlisted: Unlisted::Kept, ..Schema::default() };
    let uid = MapKey { name: "uid".into(), default: None };
    let mut fields: Vec<(Box<str>, Schema)> = [
        ("creationTimestamp", Schema { nullable: true, ..of(SchemaType::String) }),
        ("deletionGracePeriodSeconds", of(SchemaType::Integer)),
        ("deletionTimestamp", of(SchemaType::String)),
        ("finalizers", list(of(SchemaType::String), ListType::Set)),
        ("generateName", of(SchemaType::String)),
        ("generation", of(SchemaType::Integer)),
        ("annotations", texts()),
        ("labels", texts()),
        ("managedFields", list(anything(), ListType::Atomic)),
        ("name", of(SchemaType::String)),
        ("namespace", of(SchemaType::String)),
        ("ownerReferences", list(anything(), ListType::Map([uid].into()))),
        ("resourceVersion", of(SchemaType::String)),
        ("selfLink", of(SchemaType::String)),
        ("uid", of(SchemaType::String)),
    ]
    .map(|(name, schema)| (name.into(), schema))
    .into();
    fields.sort_by(|(a, _), (b, _)| a.cmp(b));
    Schema { fields: fields.into(), ..of(SchemaType::Object) }
}

fn has_one_key(node: &Node) -> bool {
    node.as_mapping().is_some_and(|entries| entries.len() == 1)
}

/// `anyOf: [{type: integer}, {type: string}]`
fn is_int_or_string(node: &Node) -> bool {
    let choices = node.get("anyOf").and_then(Node::as_sequence).unwrap_or_default();
    let types: Vec<_> = choices.iter().map(|choice| choice.text_at("type").unwrap_or_default()).collect();
    matches!(types.as_slice(), ["integer", "string"] | ["string", "integer"])
}

/// Names that the Go type `metav1.Duration` goes by: a definition made from it says only `string`.
const DURATIONS: [&str; 5] = ["timeout", "interval", "period", "duration", "ttl"];

fn value_kind(kind: SchemaType, node: &Node, name: &str, pattern: Option<&str>) -> Option<ValueKind> {
    let is_text = matches!(kind, SchemaType::String | SchemaType::IntOrString);
    let has = |key: &str| node.get(key).is_some();
    // The patterns that controller-gen and Flux write for quantities and durations.
    let pattern_has = |part: &str| pattern.is_some_and(|pattern| pattern.contains(part));
    if !is_text || has("enum") {
        None
    } else if pattern_has("[KMGTPE]i") {
        Some(ValueKind::Quantity)
    } else if node.text_at("format") == Some("duration") || pattern_has("ms|s|m|h)") {
        Some(ValueKind::Duration)
    } else {
        let lower = name.to_ascii_lowercase();
        let named = DURATIONS.iter().any(|word| lower.ends_with(word));
        (named && kind == SchemaType::String && !has("format") && pattern.is_none())
            .then_some(ValueKind::Duration)
    }
}
