//! One schema: the content of a field, and how it is merged and compared.
//!
//! The compact form of an OpenAPI v3 schema as custom resource definitions use it. Descriptions and formats that
//! decide nothing here are left out.

use super::value::ValueKind;
use capstan_model::object::{FieldPath, Step};
use capstan_yaml::Value;

/// What is known of one field, or of an object as a whole.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Schema {
    /// The field's type.
    pub kind: SchemaType,
    /// Whether `null` is a value of its own.
    pub nullable: bool,
    /// What happens to fields that [`Self::fields`] does not list.
    pub unlisted: Unlisted,
    /// Its fields, ordered by name.
    pub(super) fields: Box<[(Box<str>, Self)]>,
    /// The schema of fields that are not listed (`additionalProperties`).
    pub(super) values: Option<Box<Self>>,
    /// The schema of a list's items.
    pub(super) items: Option<Box<Self>>,
    /// How a list merges; `None` where the schema does not say.
    pub list: Option<ListType>,
    /// How its text compares as a value.
    pub value: Option<ValueKind>,
    /// The values allowed; empty where any is.
    pub choices: Box<[Value]>,
    /// What else is asked of it; `None` where nothing is.
    pub limits: Option<Box<super::limits::ValueLimits>>,
    /// What is asked of it by parts.
    pub parts: Box<[SchemaParts]>,
    /// Whether the server fills it in where it is absent.
    pub has_default: bool,
    /// The value that the server fills in, where that is a string (keys of lists need it).
    pub default: Option<Box<str>>,
    /// The rules that forbid changing it or fields below it.
    pub immutable: Box<[super::immutable::Immutable]>,
    /// Whether it or a schema below has such a rule.
    pub guards: bool,
}

/// Types of fields.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum SchemaType {
    /// Nothing is said.
    #[default]
    Any,
    /// A mapping.
    Object,
    /// A sequence.
    Array,
    /// A string.
    String,
    /// A number without a fraction.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// An integer or a string (`x-kubernetes-int-or-string`).
    IntOrString,
}

impl SchemaType {
    /// Whether a scalar is of this type.
    pub fn takes(self, scalar: &Value) -> bool {
        let is_whole = || {
            scalar.is_i64() || scalar.is_u64() || scalar.as_f64().is_some_and(|number| number.fract() == 0.0)
        };
        match self {
            Self::Any => true,
            Self::Object | Self::Array => false,
            Self::String => scalar.is_string(),
            Self::Integer => is_whole(),
            Self::Number => scalar.is_number(),
            Self::Boolean => scalar.is_boolean(),
            Self::IntOrString => scalar.is_string() || is_whole(),
        }
    }

    /// The type in words: `a string`.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Any => "anything",
            Self::Object => "a mapping",
            Self::Array => "a list",
            Self::String => "a string",
            Self::Integer => "a whole number",
            Self::Number => "a number",
            Self::Boolean => "true or false",
            Self::IntOrString => "a whole number or a string",
        }
    }
}

/// What happens to fields that the schema does not list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Unlisted {
    /// Unknown: the schema is incomplete (the built-in table).
    #[default]
    Unknown,
    /// The server drops them.
    Pruned,
    /// The server keeps them (`x-kubernetes-preserve-unknown-fields`, `additionalProperties: true`).
    Kept,
}

/// How a list merges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListType {
    /// One value.
    Atomic,
    /// Items without order, each once.
    Set,
    /// Items with these fields as their key.
    Map(Box<[MapKey]>),
}

/// A field that tells the items of a list apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapKey {
    /// The field.
    pub name: Box<str>,
    /// What an item without it has.
    pub default: Option<Box<str>>,
}

impl Schema {
    /// The schema of a field; a listed one first, else that of all others.
    pub fn field(&self, name: &str) -> Option<&Self> {
        self.listed(name).or(self.values.as_deref())
    }

    /// The schema of a field that is listed.
    pub fn listed(&self, name: &str) -> Option<&Self> {
        let at = self.fields.binary_search_by(|(known, _)| known.as_ref().cmp(name)).ok()?;
        self.fields.get(at).map(|(_, schema)| schema)
    }

    pub(super) fn listed_mut(&mut self, name: &str) -> Option<&mut Self> {
        let at = self.fields.binary_search_by(|(known, _)| known.as_ref().cmp(name)).ok()?;
        self.fields.get_mut(at).map(|(_, schema)| schema)
    }

    /// The schema of a list's items.
    pub fn item(&self) -> Option<&Self> {
        self.items.as_deref()
    }

    /// The schema at a path below.
    pub fn at(&self, path: &FieldPath) -> Option<&Self> {
        path.steps().iter().try_fold(self, |schema, step| match step {
            Step::Key(key) => schema.field(key),
            Step::Index(_) | Step::New => schema.item(),
        })
    }

    /// Whether a list or mapping may hold nothing.
    pub fn may_be_empty(&self) -> bool {
        self.limits.as_ref().is_none_or(|limits| limits.items.holds(0) && limits.properties.holds(0))
    }

    /// The fields that are listed, ordered by name.
    pub fn listed_fields(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.fields.iter().map(|(name, schema)| (name.as_ref(), schema))
    }
}

/// Parts of a definition: what a value must be besides (`allOf`), at least one of several (`anyOf`), exactly one of them
/// (`oneOf`), or not (`not`).
///
/// In a definition of Kubernetes they contain only limits: types, fields and defaults are in the schema
/// around them.
/// <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema>
#[derive(Debug, Clone, PartialEq)]
pub enum SchemaParts {
    /// All must hold.
    All(Box<[Schema]>),
    /// At least one must hold.
    Any(Box<[Schema]>),
    /// One must hold, and no other.
    One(Box<[Schema]>),
    /// It must not hold.
    Not(Box<Schema>),
}

/// Parts that a list holds.
type OfList = fn(Box<[Schema]>) -> SchemaParts;

/// The lists of parts, by their keys.
pub(super) const LISTS_OF_PARTS: [(&str, OfList); 3] =
    [("allOf", SchemaParts::All), ("anyOf", SchemaParts::Any), ("oneOf", SchemaParts::One)];
