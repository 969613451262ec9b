//! A rendered object in another API version of its kind, so that what two versions spell differently
//! compares as what it means (U7a, in `capstan_plan::merge::converted`).

use std::borrow::Cow;
use std::collections::HashMap;

use super::placed::{PlacedValue, SourceOffset};
use super::rendered::RenderedObject;
use crate::conversion::{apply, convert};
use crate::render::placed::PlacedContent;
use crate::schema::Schemas;
use capstan_model::object::{FieldPath, ObjectId};
use capstan_yaml::Node;

/// Objects before a change, in the API versions that they have after it: each in that of the same object,
/// or of all of its kind (a template that got another name). What cannot be brought there stays.
pub fn in_versions_of<'o>(
    before: &'o [RenderedObject],
    after: &[RenderedObject],
    schemas: &Schemas,
) -> Cow<'o, [RenderedObject]> {
    let mut of_object: HashMap<&ObjectId, &str> = HashMap::with_capacity(after.len());
    let mut of_kind: HashMap<(&str, &str), Option<&str>> = HashMap::new();
    for object in after {
        let version = object.api_version.as_str();
        of_object.insert(&object.id, version);
        let known = of_kind.entry((&object.id.group, &object.id.kind)).or_insert(Some(version));
        *known = known.filter(|known| *known == version);
    }
    let mut all = Cow::Borrowed(before);
    for (at, object) in before.iter().enumerate() {
        let of_kind = || *of_kind.get(&(object.id.group.as_str(), object.id.kind.as_str()))?;
        let wanted = of_object.get(&object.id).copied().or_else(of_kind);
        if let Some(converted) = wanted.and_then(|version| object.in_version(version, schemas)) {
            all.to_mut()[at] = converted;
        }
    }
    all
}

/// An object before and after a change, both in one API version: in that after it; where no way leads there, in
/// that before it (steps are known from older versions to newer ones alone, and a change may go back); each in its
/// own where neither is known.
pub fn in_one_version<'o>(
    before: &'o RenderedObject,
    after: &'o RenderedObject,
    schemas: &Schemas,
) -> (Cow<'o, RenderedObject>, Cow<'o, RenderedObject>) {
    if let Some(converted) = before.in_version(&after.api_version, schemas) {
        return (Cow::Owned(converted), Cow::Borrowed(after));
    }
    let back = after.in_version(&before.api_version, schemas);
    (Cow::Borrowed(before), back.map_or(Cow::Borrowed(after), Cow::Owned))
}

impl RenderedObject {
    /// The object in that version; `None` where it has that version already, or cannot be converted. Its
    /// fields keep their places.
    pub fn in_version(&self, api_version: &str, schemas: &Schemas) -> Option<Self> {
        if self.api_version == api_version {
            return None;
        }
        let mut node = Node::from_value(&self.value);
        let conversion = convert(&node, api_version, schemas).ok()?;
        apply(&mut node, &conversion);
        let mut placed = PlacedValue::from_value(&node.value(), &self.placed.place);
        let place = |path: &FieldPath| self.placed.nearest(&conversion.before(path)).place.clone();
        put(&mut placed, &FieldPath::root(), &place);
        let value = placed.to_value();
        let (id, former_names) = (self.id.clone(), self.former_names.clone());
        Some(Self { id, api_version: api_version.to_owned(), value, placed, former_names })
    }
}

/// Gives every part its own place.
fn put(value: &mut PlacedValue, path: &FieldPath, place: &dyn Fn(&FieldPath) -> SourceOffset) {
    value.place = place(path);
    match &mut value.content {
        PlacedContent::Scalar(_) => {}
        PlacedContent::Mapping(entries) => {
            entries.iter_mut().for_each(|(key, value)| put(value, &path.key(key), place));
        }
        PlacedContent::Sequence(items) => {
            items.iter_mut().enumerate().for_each(|(at, item)| put(item, &path.index(at), place));
        }
    }
}
