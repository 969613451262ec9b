//! How objects fit their definitions: fields that these do not know, values of another type, and broken limits.
//!
//! Where several files define the same version of a kind, only what fits none of them is a misfit:
//! nobody here knows which of them is installed where. Cluster API's own kinds fit the built-in definition
//! where no file defines them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::mem::discriminant;

use super::other_version::{OtherVersion, other_version};
use super::parts::{BrokenPart, broken};
use capstan_kustomize::render::{PlacedContent, PlacedValue, RenderedObject, SourceOffset};
use capstan_kustomize::schema::{
    CLUSTER_API_MINOR, ListType, MapKey, Range, Schema, SchemaOrigin, SchemaType, Schemas, Unlisted,
    ValueLimits, is_filled_in,
};
use capstan_model::object::{FieldPath, Step};
use capstan_model::spelling::nearest;
use capstan_yaml::Value;

/// How many misfits of one object are reported.
const MOST: usize = 50;

/// Something in an object that does not fit.
#[derive(Debug)]
pub(super) struct ObjectMisfit<'a> {
    pub(super) object: &'a RenderedObject,
    pub(super) path: FieldPath,
    pub(super) place: &'a SourceOffset,
    pub(super) kind: MisfitKind<'a>,
    /// The definition.
    pub(super) origin: &'a SchemaOrigin,
}

/// What does not fit.
#[derive(Debug)]
pub(super) enum MisfitKind<'a> {
    /// A field that the definition does not list.
    UnknownField(Stray),
    /// A value of another type.
    Type { wanted: SchemaType, found: &'a PlacedValue },
    /// A value that is not among the allowed ones.
    Choice { allowed: &'a [Value], found: &'a Value },
    /// A limit that is broken.
    Limit(BrokenLimit<'a>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum BrokenLimit<'a> {
    /// A field is not there.
    Missing,
    Items(usize, Range<u64>),
    Properties(usize, Range<u64>),
    Length(usize, Range<u64>),
    Number(Range<f64>),
    Pattern(&'a str),
    /// An item that repeats an earlier one, in a list whose items have to differ (as a whole, or in their keys).
    Twin(usize, &'a ListType),
    Parts(BrokenPart<'a>),
}

/// What is known of a field that a definition does not list.
#[derive(Debug)]
pub(super) struct Stray {
    /// The field that was most likely meant.
    pub(super) meant: Option<FieldPath>,
    /// The API version of the kind that has the field.
    pub(super) other: Option<OtherVersion>,
}

/// What does not fit in one object; nothing where no definition is known.
pub(super) fn misfits_of<'a>(object: &'a RenderedObject, schemas: &'a Schemas) -> Vec<ObjectMisfit<'a>> {
    let mut found: Option<Vec<ObjectMisfit<'_>>> = None;
    for (schema, origin) in schemas.judges(&object.id.kind, &object.api_version) {
        let mut walk = FittingWalk { object, root: schema, origin, found: Vec::new() };
        walk.value(schema, &object.placed, &Trail::Root);
        found = Some(match found {
            None => walk.found,
            Some(mut known) => {
                let same = |a: &ObjectMisfit<'_>, b: &ObjectMisfit<'_>| {
                    a.path == b.path && is_alike(&a.kind, &b.kind)
                };
                known.retain(|one| walk.found.iter().any(|other| same(one, other)));
                known
            }
        });
    }
    found.unwrap_or_default()
}

/// Whether two definitions find fault with the same.
fn is_alike(one: &MisfitKind<'_>, other: &MisfitKind<'_>) -> bool {
    match (one, other) {
        (MisfitKind::Limit(one), MisfitKind::Limit(other)) => discriminant(one) == discriminant(other),
        _ => discriminant(one) == discriminant(other),
    }
}

/// The way to a value while an object is walked: a path is made of it only where there is something to say.
#[derive(Debug, Clone, Copy)]
pub(super) enum Trail<'t> {
    Root,
    Key(&'t Self, &'t str),
    Index(&'t Self, usize),
}

impl Trail<'_> {
    pub(super) fn path(&self) -> FieldPath {
        let mut steps = Vec::new();
        let mut here = self;
        loop {
            here = match here {
                Self::Root => break,
                Self::Key(above, key) => {
                    steps.push(Step::Key((*key).to_owned()));
                    above
                }
                Self::Index(above, index) => {
                    steps.push(Step::Index(*index));
                    above
                }
            };
        }
        steps.into_iter().rev().collect()
    }
}

struct FittingWalk<'a> {
    object: &'a RenderedObject,
    root: &'a Schema,
    origin: &'a SchemaOrigin,
    found: Vec<ObjectMisfit<'a>>,
}

impl<'a> FittingWalk<'a> {
    fn value(&mut self, schema: &'a Schema, value: &'a PlacedValue, path: &Trail<'_>) {
        if self.found.len() >= MOST {
            return;
        }
        if let Some(limits) = &schema.limits {
            self.limits(schema, limits, value, path);
        }
        for broken in broken(schema, value) {
            self.tell(path, value, MisfitKind::Limit(BrokenLimit::Parts(broken)));
        }
        match (&value.content, schema.kind) {
            (PlacedContent::Mapping(entries), SchemaType::Object | SchemaType::Any) => {
                for (name, below) in entries {
                    self.field(schema, name, below, path);
                }
            }
            (PlacedContent::Sequence(items), SchemaType::Array | SchemaType::Any) => {
                self.twins(schema, items, path);
                let Some(schema) = schema.item() else { return };
                for (at, item) in items.iter().enumerate() {
                    let path = Trail::Index(path, at);
                    // A field that is null is absent. An item is there.
                    if item.is_null() && !schema.nullable && schema.kind != SchemaType::Any {
                        self.tell(&path, item, MisfitKind::Type { wanted: schema.kind, found: item });
                    } else {
                        self.value(schema, item, &path);
                    }
                }
            }
            (PlacedContent::Scalar(scalar), wanted) => {
                self.scalar(schema, wanted, scalar.value(), value, path)
            }
            (_, wanted) => self.tell(path, value, MisfitKind::Type { wanted, found: value }),
        }
    }

    fn limits(
        &mut self,
        schema: &'a Schema,
        limits: &'a ValueLimits,
        value: &'a PlacedValue,
        path: &Trail<'_>,
    ) {
        let count = |items: usize| u64::try_from(items).unwrap_or(u64::MAX);
        let broken = match &value.content {
            PlacedContent::Sequence(items) if !limits.items.holds(count(items.len())) => {
                BrokenLimit::Items(items.len(), limits.items)
            }
            PlacedContent::Mapping(entries) => {
                for name in &limits.required {
                    self.required(schema, name, value, path);
                }
                if limits.properties.holds(count(entries.len())) {
                    return;
                }
                BrokenLimit::Properties(entries.len(), limits.properties)
            }
            PlacedContent::Scalar(scalar) => match scalar.value() {
                // A variable may become anything.
                Value::String(text) if text.contains("${") => return,
                Value::String(text) => {
                    let length = text.chars().count();
                    let pattern = limits.pattern.as_ref().filter(|pattern| pattern.fits(text) == Some(false));
                    match pattern {
                        _ if !limits.length.holds(count(length)) => {
                            BrokenLimit::Length(length, limits.length)
                        }
                        Some(pattern) => BrokenLimit::Pattern(pattern.as_str()),
                        None => return,
                    }
                }
                Value::Number(number) if number.as_f64().is_some_and(|it| !limits.number.holds(it)) => {
                    BrokenLimit::Number(limits.number)
                }
                _ => return,
            },
            PlacedContent::Sequence(_) => return,
        };
        self.tell(path, value, MisfitKind::Limit(broken));
    }

    /// Items of a list that the server tells apart by their keys, or by themselves.
    fn twins(&mut self, schema: &'a Schema, items: &'a [PlacedValue], path: &Trail<'_>) {
        // Kubernetes itself takes those of an object's metadata.
        if let Trail::Key(Trail::Key(Trail::Root, "metadata"), _) = path {
            return;
        }
        let Some(list @ (ListType::Map(_) | ListType::Set)) = &schema.list else { return };
        let mut known: HashMap<String, usize> = HashMap::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            let Some(identity) = identity(list, item) else { continue };
            match known.entry(identity) {
                Entry::Vacant(free) => {
                    free.insert(at);
                }
                Entry::Occupied(first) => {
                    let twin = MisfitKind::Limit(BrokenLimit::Twin(*first.get(), list));
                    self.tell(&Trail::Index(path, at), item, twin);
                }
            }
        }
    }

    fn required(&mut self, schema: &'a Schema, name: &'a str, value: &'a PlacedValue, path: &Trail<'_>) {
        let of_object = matches!(path, Trail::Root) && matches!(name, "apiVersion" | "kind" | "metadata");
        let is_there = value.field(name).is_some_and(|field| !field.is_null());
        if !of_object && !is_there {
            self.absent(schema.field(name), value, &Trail::Key(path, name));
        }
    }

    /// A required field that is not there. One that is filled in holds nothing then, and what it requires is not there.
    fn absent(&mut self, schema: Option<&'a Schema>, value: &'a PlacedValue, path: &Trail<'_>) {
        let object = self.object;
        if !is_filled_in(&object.id.kind, &object.api_version, &path.path()) {
            return self.tell(path, value, MisfitKind::Limit(BrokenLimit::Missing));
        }
        let Some(schema) = schema else { return };
        for name in schema.limits.iter().flat_map(|limits| &limits.required) {
            self.absent(schema.field(name), value, &Trail::Key(path, name));
        }
    }

    fn field(&mut self, schema: &'a Schema, name: &str, value: &'a PlacedValue, path: &Trail<'_>) {
        // Controllers write `status`; people do not.
        if matches!(path, Trail::Root) && name == "status" {
            return;
        }
        let path = Trail::Key(path, name);
        match schema.field(name) {
            Some(below) => self.value(below, value, &path),
            None if schema.unlisted == Unlisted::Pruned => {
                let at = path.path();
                let meant = self.meant(schema, name, &at);
                let other = other_version(self.object, &at, value);
                self.tell(&path, value, MisfitKind::UnknownField(Stray { meant, other }));
            }
            None => {}
        }
    }

    fn scalar(
        &mut self,
        schema: &'a Schema,
        wanted: SchemaType,
        scalar: &'a Value,
        value: &'a PlacedValue,
        path: &Trail<'_>,
    ) {
        // Null is absent, and a variable may become anything.
        if scalar.is_null() || scalar.as_str().is_some_and(|text| text.contains("${")) {
            return;
        }
        if !wanted.takes(scalar) {
            self.tell(path, value, MisfitKind::Type { wanted, found: value });
        } else if !schema.choices.is_empty() && !schema.choices.contains(scalar) {
            self.tell(path, value, MisfitKind::Choice { allowed: &schema.choices, found: scalar });
        }
    }

    fn tell(&mut self, path: &Trail<'_>, value: &'a PlacedValue, kind: MisfitKind<'a>) {
        if self.found.len() < MOST {
            let (object, origin) = (self.object, self.origin);
            self.found.push(ObjectMisfit { object, path: path.path(), place: &value.place, kind, origin });
        }
    }

    /// The field that was most likely meant: a neighbour of nearly that name, else the nearest one of exactly that name
    /// anywhere in the object (the field is one level off, or was moved).
    fn meant(&self, schema: &'a Schema, name: &str, path: &FieldPath) -> Option<FieldPath> {
        let parent = path.parent()?;
        if let Some(neighbour) = nearest(name, schema.listed_fields().map(|(name, _)| name)) {
            return Some(parent.key(neighbour));
        }
        let mut best: Option<(usize, FieldPath)> = None;
        elsewhere(self.root, name, &FieldPath::root(), &mut |found: FieldPath| {
            let shared =
                found.steps().iter().zip(path.steps()).take_while(|(one, other)| one == other).count();
            let way = (found.steps().len() - shared) + (path.steps().len() - shared);
            if best.as_ref().is_none_or(|(least, _)| way < *least) {
                best = Some((way, found));
            }
        });
        best.map(|(_, path)| path)
    }
}

/// Calls with the path of every field of that name, lists' items as new ones. What merely reports is
/// left out.
fn elsewhere(schema: &Schema, name: &str, path: &FieldPath, found: &mut dyn FnMut(FieldPath)) {
    for (field, below) in schema.listed_fields() {
        let reports = path.is_root() && matches!(field, "status" | "metadata" | "apiVersion" | "kind");
        if reports {
            continue;
        }
        let path = path.key(field);
        elsewhere(below, name, &path, found);
        if field == name {
            found(path);
        }
    }
    if let Some(item) = schema.item() {
        elsewhere(item, name, &path.join(Step::New), found);
    }
}

/// What tells an item from the others of its list; `None` where that is not known.
fn identity(list: &ListType, item: &PlacedValue) -> Option<String> {
    // Null is absent, and a variable may become anything.
    let text = |value: &PlacedValue| match value.to_value() {
        Value::Null => None,
        Value::String(text) => (!text.contains("${")).then_some(text),
        other => Some(other.to_string()).filter(|text| !text.contains("${")),
    };
    let ListType::Map(keys) = list else { return text(item) };
    let key = |key: &MapKey| match item.field(&key.name) {
        Some(found) => text(found),
        None => key.default.as_ref().map(ToString::to_string),
    };
    let texts: Option<Vec<String>> = keys.iter().map(key).collect();
    texts.map(|texts| texts.join("\0"))
}

/// `defined in crds/a.yaml`
pub(super) fn defined_in(origin: &SchemaOrigin) -> String {
    match origin {
        SchemaOrigin::Repository(place) | SchemaOrigin::Capstan(place) => {
            format!("defined in {}", place.file())
        }
        SchemaOrigin::BuiltIn => format!("as Cluster API 1.{CLUSTER_API_MINOR} defines it"),
    }
}
