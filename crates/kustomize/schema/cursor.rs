//! A place in an object as its schemas see it: moved along while the object is walked.

use super::node::{ListType, Schema};
use super::value::ValueKind;
use capstan_model::finding::Place;

/// Who says something of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaOrigin {
    /// A custom resource definition in the repository: its file and line.
    Repository(Place),
    /// A custom resource definition in `.capstan/crds`: its file and line.
    Capstan(Place),
    /// The table that Capstan brings along.
    BuiltIn,
}

/// How many schemas may speak of one object: a definition and the built-in table, of the version that
/// it has and of the one that it goes to.
const LAYERS: usize = 4;

/// A place in an object, with what each schema says of it. The first that says something decides.
/// Copied as it moves: no path is built, and no schema cloned.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cursor<'s> {
    layers: [Option<(&'s Schema, &'s SchemaOrigin)>; LAYERS],
}

impl<'s> Cursor<'s> {
    /// The root of an object of which these schemas speak, in this order.
    pub(super) const fn new(layers: [Option<(&'s Schema, &'s SchemaOrigin)>; LAYERS]) -> Self {
        Self { layers }
    }

    /// A place of which nothing is known.
    pub const fn nowhere() -> Self {
        Self { layers: [None; LAYERS] }
    }

    /// The field of that name.
    #[must_use]
    pub fn field(self, name: &str) -> Self {
        self.step(|schema| schema.field(name))
    }

    /// An item of the list.
    #[must_use]
    pub fn item(self) -> Self {
        self.step(Schema::item)
    }

    fn step(self, below: impl Fn(&'s Schema) -> Option<&'s Schema>) -> Self {
        Self { layers: self.layers.map(|layer| layer.and_then(|(schema, by)| Some((below(schema)?, by)))) }
    }

    /// How the list here merges, and who says so.
    pub fn list(self) -> Option<(&'s ListType, &'s SchemaOrigin)> {
        self.first(|schema| schema.list.as_ref())
    }

    /// The type of the text here, and the origin of that.
    pub fn value(self) -> Option<(ValueKind, &'s SchemaOrigin)> {
        self.first(|schema| schema.value)
    }

    fn first<T>(self, read: impl Fn(&'s Schema) -> Option<T>) -> Option<(T, &'s SchemaOrigin)> {
        self.layers.into_iter().flatten().find_map(|(schema, by)| Some((read(schema)?, by)))
    }
}
