//! Fields that a transformer reaches: which kinds, which path, and whether it is made where it is missing.

use super::id::Gvk;
use crate::render::budget::{RenderBudget, ValueSize, refuse_deeper};
use crate::render::error::RenderError;
use crate::render::placed::{PlacedContent, PlacedValue, SourceOffset};
use crate::render::resource::RenderedResource;
use crate::render::shared::SharedNode;
use crate::render::spread::share;

/// One such field, as kustomize's configuration writes it: `spec/template/metadata/labels`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::render) struct FieldSpec {
    pub(super) gvk: Gvk,
    pub(super) path: String,
    pub(super) create: Create,
}

/// Whether a missing field is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Create {
    Yes,
    No,
}

/// What a transformer makes of a field that is missing or null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blank {
    /// It makes none.
    Nothing,
    Mapping,
    Text,
}

/// What is done with a field that was found.
pub(super) type Set<'f> = dyn FnMut(&mut PlacedValue) -> Result<(), RenderError> + 'f;

/// Two specifications of one field that disagree.
pub(super) struct Conflict;

impl FieldSpec {
    pub(super) fn new(gvk: Gvk, path: &str, create: Create) -> Self {
        Self { gvk, path: path.to_owned(), create }
    }

    /// Calls `set` with every field of the object that this means.
    pub(super) fn visit(
        &self,
        object: &mut RenderedResource,
        blank: Blank,
        place: &SourceOffset,
        budget: &RenderBudget,
        set: &mut Set<'_>,
    ) -> Result<(), RenderError> {
        if !Gvk::of(&object.value).fits(&self.gvk) {
            return Ok(());
        }
        let steps = split_path(&self.path, '/');
        let mut found = 0_usize;
        let walk = FieldWalk { create: self.create, blank, place, budget };
        walk.walk(&mut object.value, 0, &steps, &mut |field| {
            found += 1;
            set(field)
        })?;
        if found > 0 {
            object.spread();
        }
        Ok(())
    }

    /// Adds one to others, unless they have it.
    pub(super) fn merge_one(all: &mut Vec<Self>, new: &Self) -> Result<(), Conflict> {
        match all.iter().find(|known| known.gvk.fits(&new.gvk) && known.path == new.path) {
            Some(known) if known.create != new.create => Err(Conflict),
            Some(_) => Ok(()),
            None => {
                all.push(new.clone());
                Ok(())
            }
        }
    }

    pub(super) fn merge_all(all: &mut Vec<Self>, new: &[Self]) -> Result<(), Conflict> {
        new.iter().try_for_each(|one| Self::merge_one(all, one))
    }
}

struct FieldWalk<'a> {
    create: Create,
    blank: Blank,
    place: &'a SourceOffset,
    budget: &'a RenderBudget,
}

impl FieldWalk<'_> {
    /// `depth` are the steps from the object to the value.
    fn walk(
        &self,
        value: &mut PlacedValue,
        depth: usize,
        steps: &[String],
        set: &mut Set<'_>,
    ) -> Result<(), RenderError> {
        let Some((step, rest)) = steps.split_first() else { return set(value) };
        match &mut value.content {
            PlacedContent::Scalar(scalar) if scalar.value().is_null() => Ok(()),
            PlacedContent::Scalar(_) => Err(RenderError::malformed(
                &value.place,
                format!("a mapping or a list with a field `{step}` is required here: correct the object"),
            )),
            PlacedContent::Sequence(items) => {
                items.iter_mut().try_for_each(|item| self.walk(item, depth + 1, steps, set))
            }
            PlacedContent::Mapping(_) => self.walk_mapping(value, depth, step, rest, set),
        }
    }

    fn walk_mapping(
        &self,
        value: &mut PlacedValue,
        depth: usize,
        step: &str,
        rest: &[String],
        set: &mut Set<'_>,
    ) -> Result<(), RenderError> {
        let (name, is_list) = step.strip_suffix("[]").map_or((step, false), |name| (name, true));
        let creates = self.create == Create::Yes && self.blank != Blank::Nothing && !is_list;
        let blank = match (is_list, rest.is_empty(), self.blank) {
            (true, ..) => Some(PlacedContent::Sequence(Vec::new())),
            _ if !creates => None,
            (false, true, Blank::Text) => Some(PlacedContent::Scalar(serde_json::Value::from("").into())),
            _ => Some(PlacedContent::Mapping(Vec::new())),
        };
        if creates
            && value.field(name).is_none()
            && let Some(content) = &blank
        {
            // What is made is a mapping at most.
            refuse_deeper(depth + 2, self.place)?;
            self.budget.size(ValueSize { values: 1, bytes: name.len(), height: 1 }, self.place)?;
            value.set(name, PlacedValue { place: self.place.clone(), content: content.clone() });
        }
        let Some(field) = value.field_mut(name) else { return Ok(()) };
        if field.is_null()
            && let Some(content) = blank
        {
            match content {
                // Kustomize forgets that it is null, and keeps the text.
                PlacedContent::Scalar(_) => *field = PlacedValue::open(&field.written(), &field.place),
                content => field.content = content,
            }
        }
        self.walk(field, depth + 1, rest, set)
    }
}

/// The parts of a path; a delimiter after a backslash does not count.
pub(super) fn split_path(path: &str, delimiter: char) -> Vec<String> {
    let path = path.strip_prefix(delimiter).unwrap_or(path);
    let mut parts: Vec<String> = Vec::new();
    for part in path.split(delimiter) {
        match parts.last_mut() {
            Some(last) if last.ends_with('\\') => {
                last.pop();
                last.push(delimiter);
                last.push_str(part);
            }
            _ => parts.push(part.to_owned()),
        }
    }
    parts
}

/// Puts a scalar in the place of one; kustomize sets nothing else there.
pub(super) fn put_scalar(field: &mut PlacedValue, new: PlacedValue) -> Result<(), RenderError> {
    match field.content {
        PlacedContent::Scalar(_) => {
            field.replace_scalar(new);
            Ok(())
        }
        PlacedContent::Mapping(_) | PlacedContent::Sequence(_) => Err(RenderError::malformed(
            &field.place,
            "a single value is required here: correct the object or the field's path",
        )),
    }
}

/// Whether an entry was there before it was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MapEntry {
    New,
    Known,
}

/// Sets an entry of a mapping; null gets none, as in kustomize. A new one is a place of that node.
pub(super) fn put_entry(
    field: &mut PlacedValue,
    key: &str,
    new: &PlacedValue,
    node: SharedNode,
) -> Result<MapEntry, RenderError> {
    if field.is_null() {
        return Ok(MapEntry::Known);
    }
    if let Some(old) = field.field_mut(key) {
        old.replace_scalar(new.clone());
        return Ok(MapEntry::Known);
    }
    let mut new = new.clone();
    share(&mut new, Some(node));
    if field.set(key, new) {
        return Ok(MapEntry::New);
    }
    Err(RenderError::malformed(
        &field.place,
        format!("a mapping with `{key}` is required here: correct the object"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_split_at_delimiters_that_no_backslash_escapes() {
        let cases = [
            ("a/b", vec!["a", "b"]),
            ("/a/b", vec!["a", "b"]),
            (r"metadata/annotations/x.io\/y", vec!["metadata", "annotations", "x.io/y"]),
            ("a[]/b", vec!["a[]", "b"]),
        ];
        for (path, parts) in cases {
            assert_eq!(split_path(path, '/'), parts, "{path}");
        }
    }
}
