//! The semantic difference of two renders: objects by identity, fields by path, lists by key.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::lists;
use super::placed::{PlacedContent, PlacedValue, SourceOffset};
use super::rendered::RenderedObject;
use capstan_model::object::{FieldPath, ObjectId, Step};

/// One field, or one whole object, that differs.
#[derive(Debug, Clone)]
pub struct FieldDifference {
    /// The object.
    pub object: ObjectId,
    /// The field; the root for a whole object. Indexes count the items before, `-` is an item that
    /// is new.
    pub path: FieldPath,
    /// The `name`, or else the `key`, beside the field in its mapping.
    pub beside: Option<String>,
    /// Value before; `None` = absent.
    pub old: Option<Value>,
    /// Value after; `None` = absent.
    pub new: Option<Value>,
    /// Where the value before was written.
    pub old_place: Option<SourceOffset>,
    /// Where the value after is written.
    pub new_place: Option<SourceOffset>,
}

/// What differs between two renders, in the order of their objects and fields: first what `before`
/// has, then the objects that are new.
///
/// Lists of which every item has a unique `name` (or `path` for files, `key` and `effect` for
/// taints) are compared by that and not by position; of other lists the items are compared one by
/// one where both have equally many, else the list differs as a whole. `null` equals absent.
pub fn diff(before: &[RenderedObject], after: &[RenderedObject]) -> Vec<FieldDifference> {
    let mut found = Vec::new();
    let by_id: BTreeMap<&ObjectId, &RenderedObject> =
        after.iter().map(|object| (&object.id, object)).collect();
    let known: BTreeSet<&ObjectId> = before.iter().map(|object| &object.id).collect();
    for object in before {
        let new = by_id.get(&object.id).map(|object| &object.placed);
        ObjectComparison { object: &object.id, around: None, found: &mut found }.compare(
            &FieldPath::root(),
            Some(&object.placed),
            new,
        );
    }
    for object in after.iter().filter(|object| !known.contains(&object.id)) {
        ObjectComparison { object: &object.id, around: None, found: &mut found }.compare(
            &FieldPath::root(),
            None,
            Some(&object.placed),
        );
    }
    found
}

/// What differs between two states of one object, whatever their names.
pub fn diff_placed(object: &ObjectId, before: &PlacedValue, after: &PlacedValue) -> Vec<FieldDifference> {
    let mut found = Vec::new();
    ObjectComparison { object, around: None, found: &mut found }.compare(
        &FieldPath::root(),
        Some(before),
        Some(after),
    );
    found
}

struct ObjectComparison<'a, 'f> {
    object: &'a ObjectId,
    /// The mappings whose fields are compared.
    around: Option<[&'a PlacedValue; 2]>,
    found: &'f mut Vec<FieldDifference>,
}

impl<'a> ObjectComparison<'a, '_> {
    fn compare(&mut self, path: &FieldPath, old: Option<&'a PlacedValue>, new: Option<&'a PlacedValue>) {
        let old = old.filter(|value| !value.is_null());
        let new = new.filter(|value| !value.is_null());
        let (Some(before), Some(after)) = (old, new) else {
            if old.is_some() || new.is_some() {
                self.report(path, old, new);
            }
            return;
        };
        match (&before.content, &after.content) {
            (PlacedContent::Mapping(fields), PlacedContent::Mapping(others)) => {
                let outer = self.around.replace([before, after]);
                for (key, value) in fields {
                    self.compare(&path.key(key), Some(value), after.field(key));
                }
                for (key, value) in others.iter().filter(|(key, _)| before.field(key).is_none()) {
                    self.compare(&path.key(key), None, Some(value));
                }
                self.around = outer;
            }
            (PlacedContent::Sequence(items), PlacedContent::Sequence(others)) => {
                self.compare_lists(path, (before, items), (after, others));
            }
            (PlacedContent::Scalar(one), PlacedContent::Scalar(other)) if one == other => {}
            _ => self.report(path, old, new),
        }
    }

    fn compare_lists(
        &mut self,
        path: &FieldPath,
        (before, items): (&'a PlacedValue, &'a [PlacedValue]),
        (after, others): (&'a PlacedValue, &'a [PlacedValue]),
    ) {
        if let Some(key) = lists::key_of_both(items, others) {
            for (index, item) in items.iter().enumerate() {
                let same = others.iter().find(|other| key.same(item, other));
                self.compare(&path.index(index), Some(item), same);
            }
            for other in others.iter().filter(|other| !items.iter().any(|item| key.same(item, other))) {
                self.compare(&path.join(Step::New), None, Some(other));
            }
        } else if items.len() == others.len() {
            for (index, (item, other)) in items.iter().zip(others).enumerate() {
                self.compare(&path.index(index), Some(item), Some(other));
            }
        } else {
            self.report(path, Some(before), Some(after));
        }
    }

    fn report(&mut self, path: &FieldPath, old: Option<&PlacedValue>, new: Option<&PlacedValue>) {
        self.found.push(FieldDifference {
            object: self.object.clone(),
            path: path.clone(),
            beside: self.around.and_then(|mappings| mappings.into_iter().rev().find_map(name_of)),
            old: old.map(PlacedValue::to_value),
            new: new.map(PlacedValue::to_value),
            old_place: old.map(|value| value.place.clone()),
            new_place: new.map(|value| value.place.clone()),
        });
    }
}

/// What a mapping is called, where one of its fields says so.
fn name_of(mapping: &PlacedValue) -> Option<String> {
    ["name", "key"].iter().find_map(|key| Some(mapping.field(key)?.to_value().as_str()?.to_owned()))
}
