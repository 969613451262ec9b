//! What is known of the field at hand, moved along while an object is walked: its name for the own
//! table, its schemas for the rest ([U6], [U7]).
//!
//! [U6]: crate::merge::values#u6
//! [U7]: crate::merge::lists#u7

use capstan_kustomize::schema::Cursor;
use capstan_model::object::{FieldPath, Step};

/// What is known of one field.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Knowledge<'a> {
    pub(super) schema: Cursor<'a>,
    /// The key of the field; of a list's item, the list's.
    pub(super) key: &'a str,
    /// The key of the mapping that holds the field.
    pub(super) parent: &'a str,
    /// Whether this is an item of a list.
    pub(super) is_item: bool,
}

impl<'a> Knowledge<'a> {
    /// An object as a whole.
    pub(crate) const fn of(schema: Cursor<'a>) -> Self {
        Self { schema, key: "", parent: "", is_item: false }
    }

    /// The field of that name.
    pub(crate) fn field<'b>(&self, key: &'b str) -> Knowledge<'b>
    where
        'a: 'b,
    {
        Knowledge { schema: self.schema.field(key), key, parent: self.key, is_item: false }
    }

    /// An item of the list.
    pub(crate) fn item(&self) -> Self {
        Self { schema: self.schema.item(), is_item: true, ..*self }
    }
}

/// A field of an object: its path and what is known of it.
#[derive(Debug, Clone)]
pub(crate) struct Field<'a> {
    pub(crate) path: FieldPath,
    pub(crate) known: Knowledge<'a>,
}

impl<'a> Field<'a> {
    /// An object as a whole.
    pub(crate) const fn root(known: Knowledge<'a>) -> Self {
        Self { path: FieldPath::root(), known }
    }

    /// The field of that name below this one.
    pub(crate) fn key<'b>(&self, key: &'b str) -> Field<'b>
    where
        'a: 'b,
    {
        Field { path: self.path.key(key), known: self.known.field(key) }
    }

    /// An item of this list.
    pub(crate) fn index(&self, index: usize) -> Self {
        Self { path: self.path.index(index), known: self.known.item() }
    }

    /// An item that the upgrade adds to this list.
    pub(crate) fn new_item(&self) -> Self {
        Self { path: self.path.join(Step::New), known: self.known.item() }
    }
}
