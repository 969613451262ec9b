//! What is known of the field at hand, moved along while an object is walked: its name for the own
//! table, its schemas for the rest ([U6], [U7]).
//!
//! [U6]: crate::merge::values#u6
//! [U7]: crate::merge::lists#u7

use super::nodes::text;
use capstan_kustomize::schema::{Cursor, Schemas};
use capstan_model::object::{FieldPath, Step};
use capstan_yaml::Node;

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

/// What is known of an object of which these are sides: the first kind, all their versions.
pub(crate) fn known_object<'s>(schemas: &'s Schemas, sides: &[Option<&Node>]) -> Knowledge<'s> {
    let sides = || sides.iter().copied().flatten();
    let kind = sides().find_map(|side| text(side, "kind")).unwrap_or_default();
    Knowledge::of(schemas.object(kind, sides().filter_map(|side| text(side, "apiVersion"))))
}

/// A field of an object, as a walk reaches it: the way there on each side, and what is known of it. A path is made
/// only when it is needed: for most fields there is nothing to report.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MergedField<'a> {
    /// `None` of an object as a whole.
    above: Option<(&'a MergedField<'a>, FieldWay<'a>)>,
    pub(crate) known: Knowledge<'a>,
}

/// The last step of the way to a field.
#[derive(Debug, Clone, Copy)]
enum FieldWay<'a> {
    Key(&'a str),
    Item(Item),
}

/// The index of one item in the lists of the old release, the cluster and the new release, from 0; `None` in a list
/// that lacks it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Item {
    pub(crate) old: Option<usize>,
    pub(crate) own: Option<usize>,
    pub(crate) new: Option<usize>,
}

impl<'a> MergedField<'a> {
    /// An object as a whole.
    pub(crate) const fn root(known: Knowledge<'a>) -> Self {
        Self { above: None, known }
    }

    /// The field of that name below this one.
    pub(crate) fn key<'b>(&'b self, key: &'b str) -> MergedField<'b>
    where
        'a: 'b,
    {
        MergedField { above: Some((self, FieldWay::Key(key))), known: self.known.field(key) }
    }

    /// An item of this list.
    pub(crate) fn item<'b>(&'b self, item: Item) -> MergedField<'b>
    where
        'a: 'b,
    {
        MergedField { above: Some((self, FieldWay::Item(item))), known: self.known.item() }
    }

    /// An item of the cluster's list.
    pub(crate) fn index(&self, own: usize) -> MergedField<'_> {
        self.item(Item { own: Some(own), ..Item::default() })
    }

    /// An item that the upgrade adds to this list.
    pub(crate) fn new_item(&self) -> MergedField<'_> {
        self.item(Item::default())
    }

    /// Whether this is a field of the object itself, and of nothing in it.
    pub(crate) fn is_of_object(&self) -> bool {
        self.above.is_some_and(|(above, _)| above.above.is_none())
    }

    /// The field, with the indexes of the cluster's lists.
    pub(crate) fn path(&self) -> FieldPath {
        self.path_by(|item| Some(item.own.map_or(Step::New, Step::Index)))
    }

    /// The field with the indexes of the old release's lists. The path ends at a list that lacks the item.
    pub(crate) fn path_in_old(&self) -> FieldPath {
        self.path_by(|item| item.old.map(Step::Index))
    }

    /// The same of the new release.
    pub(crate) fn path_in_new(&self) -> FieldPath {
        self.path_by(|item| item.new.map(Step::Index))
    }

    fn path_by(&self, index: impl Fn(&Item) -> Option<Step>) -> FieldPath {
        let step = |way: &FieldWay<'_>| match way {
            FieldWay::Key(key) => Some(Step::Key((*key).to_owned())),
            FieldWay::Item(item) => index(item),
        };
        let fields = std::iter::successors(Some(self), |field| field.above.as_ref().map(|(above, _)| *above));
        let mut steps: Vec<Option<Step>> =
            fields.filter_map(|field| field.above.as_ref().map(|(_, way)| step(way))).collect();
        steps.reverse();
        steps.into_iter().map_while(|step| step).collect()
    }
}
