//! JSON patches (RFC 6902) on values that remember their places, as kustomize applies them.
//!
//! Its library (<https://github.com/evanphx/json-patch/tree/v4.13.0>) is more generous than the RFC: a
//! mapping has every key, with null for a missing one, so that `replace` adds, `test` finds null and `copy`
//! takes it; `add` and `replace` without a value bring null; a negative index counts from the end; and of a
//! pointer that does not begin with `/` the first part is ignored. It has no `add`, `move` or `copy` of the
//! whole object.

use std::sync::Arc;

use super::budget::{RenderBudget, ValueSize, refuse_deeper};
use super::error::RenderError;
use super::placed::{PlacedContent, PlacedValue, RenderSource, SourceOffset};
use super::walked::{PatchMisfit, Unapplied};
use capstan_model::tree::RepoPath;
use capstan_yaml::YamlFile;

/// One operation.
#[derive(Debug, Clone)]
pub(super) struct PatchOperation {
    action: Action,
    /// The operation's own value, for its place.
    place: SourceOffset,
}

#[derive(Debug, Clone)]
enum Action {
    Add(Pointer, PlacedValue),
    Remove(Pointer),
    Replace(Pointer, PlacedValue),
    Move(Pointer, Pointer),
    Copy(Pointer, Pointer),
    Test(Pointer, PlacedValue),
}

/// A JSON Pointer: its text, and its parts with escapes resolved.
#[derive(Debug, Clone)]
struct Pointer {
    text: String,
    parts: Vec<String>,
}

/// Reads the operations of a patch.
pub(super) fn parse(patch: &PlacedValue) -> Result<Vec<PatchOperation>, RenderError> {
    patch.items().iter().map(parse_operation).collect()
}

fn parse_operation(item: &PlacedValue) -> Result<PatchOperation, RenderError> {
    let wants = |what: &str| {
        RenderError::malformed(&item.place, format!("this operation of a JSON patch has no `{what}`: add it"))
    };
    let pointer = |field: &str| {
        let value = item.field(field).ok_or_else(|| wants(field))?;
        let text = value.as_str().ok_or_else(|| {
            RenderError::malformed(
                &value.place,
                format!("`{field}` must be a JSON Pointer as text: quote it"),
            )
        })?;
        let parts = text.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~"));
        Ok(Pointer { text: text.to_owned(), parts: parts.collect() })
    };
    let value = || {
        let null = || PlacedValue::from_value(&serde_json::Value::Null, &item.place);
        item.field("value").cloned().unwrap_or_else(null)
    };
    let op = item.field("op").ok_or_else(|| wants("op"))?;
    let action = match op.as_str() {
        Some("add") => Action::Add(pointer("path")?, value()),
        Some("remove") => Action::Remove(pointer("path")?),
        Some("replace") => Action::Replace(pointer("path")?, value()),
        Some("move") => Action::Move(pointer("from")?, pointer("path")?),
        Some("copy") => Action::Copy(pointer("from")?, pointer("path")?),
        Some("test") => {
            Action::Test(pointer("path")?, item.field("value").cloned().ok_or_else(|| wants("value"))?)
        }
        _ => {
            return Err(RenderError::malformed(
                &op.place,
                "`op` must be `add`, `remove`, `replace`, `move`, `copy` or `test`",
            ));
        }
    };
    Ok(PatchOperation { action, place: item.place.clone() })
}

/// Applies all operations in order. On an error the object may be half patched: patch a copy.
pub(super) fn apply(
    object: &mut PlacedValue,
    operations: &[PatchOperation],
    budget: &RenderBudget,
) -> Result<(), Unapplied> {
    operations.iter().try_for_each(|operation| {
        PatchStep { place: &operation.place, budget }.apply(object, &operation.action).map_err(|refused| {
            match refused {
                RefusedOperation::Misfit(message) => PatchMisfit::new(&operation.place, message).into(),
                RefusedOperation::TooLarge(error) => error.into(),
            }
        })
    })
}

/// Why an operation cannot be done.
enum RefusedOperation {
    Misfit(String),
    TooLarge(RenderError),
}

impl From<String> for RefusedOperation {
    fn from(message: String) -> Self {
        Self::Misfit(message)
    }
}

impl From<RenderError> for RefusedOperation {
    fn from(error: RenderError) -> Self {
        Self::TooLarge(error)
    }
}

/// One operation as it is done to one object: what it adds is charged before it is there.
struct PatchStep<'s> {
    place: &'s SourceOffset,
    budget: &'s RenderBudget,
}

impl PatchStep<'_> {
    fn apply(&self, object: &mut PlacedValue, action: &Action) -> Result<(), RefusedOperation> {
        match action {
            Action::Add(path, value) => {
                self.charge(ValueSize::of(value), path)?;
                self.add(object, path, value.clone())
            }
            Action::Remove(path) => self.remove(object, path).map(drop),
            Action::Replace(path, value) => {
                self.charge(ValueSize::of(value), path)?;
                self.replace(object, path, value.clone())
            }
            Action::Move(from, path) => {
                let value = self.remove(object, from)?;
                if path.parts.len() > from.parts.len() {
                    let size = ValueSize::of(&value);
                    self.budget.steps(size.values, self.place)?;
                    refuse_deeper(path.parts.len() + size.height, self.place)?;
                }
                self.add(object, path, value)
            }
            Action::Copy(from, path) => {
                let null = PlacedValue::from_value(&serde_json::Value::Null, self.place);
                let value = self.find(object, from)?.unwrap_or(&null);
                self.charge(ValueSize::of(value), path)?;
                let value = value.clone();
                self.add(object, path, value)
            }
            Action::Test(path, value) => {
                let found = if path.text.is_empty() { Some(&*object) } else { self.find(object, path)? };
                let is_same = match found.filter(|found| !found.is_null()) {
                    None => value.is_null(),
                    Some(found) => {
                        self.budget.copy(found, self.place)?;
                        self.budget.copy(value, self.place)?;
                        found.to_value() == value.to_value()
                    }
                };
                if is_same {
                    Ok(())
                } else {
                    Err(format!("the test of `{}` finds another value", path.text).into())
                }
            }
        }
    }

    /// For a value that comes to stand at a path, and its key there.
    fn charge(&self, size: ValueSize, path: &Pointer) -> Result<(), RenderError> {
        refuse_deeper(path.parts.len() + size.height, self.place)?;
        let key = path.parts.last().map_or(0, String::len);
        self.budget.size(ValueSize { bytes: size.bytes + key, ..size }, self.place)
    }

    /// The mapping or sequence around the last part of a path, and that part.
    fn container<'a, 'p>(
        &self,
        object: &'a mut PlacedValue,
        path: &'p Pointer,
    ) -> Result<(&'a mut PlacedValue, &'p str), RefusedOperation> {
        let nothing = || format!("the object has no parent for `{}`", path.text);
        let (last, way) = path.parts.split_last().ok_or_else(nothing)?;
        let mut value = object;
        for part in way {
            let next = match &mut value.content {
                PlacedContent::Mapping(entries) => {
                    self.budget.steps(entries.len(), self.place)?;
                    entries.iter_mut().find(|(key, _)| key == part).map(|(_, value)| value)
                }
                PlacedContent::Sequence(items) => index(part, items.len()).and_then(|at| items.get_mut(at)),
                PlacedContent::Scalar(_) => None,
            };
            value = next.ok_or_else(nothing)?;
        }
        if matches!(value.content, PlacedContent::Scalar(_)) {
            return Err(nothing().into());
        }
        self.budget.steps(width(value), self.place)?;
        Ok((value, last))
    }

    /// The value at a path: it may be missing in a mapping, but not in a list.
    fn find<'a>(
        &self,
        object: &'a mut PlacedValue,
        path: &Pointer,
    ) -> Result<Option<&'a PlacedValue>, RefusedOperation> {
        let (parent, last) = self.container(object, path)?;
        match &parent.content {
            PlacedContent::Sequence(items) => Ok(items.get(item(last, items.len(), path)?)),
            _ => Ok(parent.field(last)),
        }
    }

    fn replace(
        &self,
        object: &mut PlacedValue,
        path: &Pointer,
        value: PlacedValue,
    ) -> Result<(), RefusedOperation> {
        if path.text.is_empty() {
            if !value.is_mapping() {
                return Err("the whole object can only be replaced by a mapping".to_owned().into());
            }
            *object = value;
            return Ok(());
        }
        let (parent, last) = self.container(object, path)?;
        match &mut parent.content {
            PlacedContent::Sequence(items) => {
                let at = item(last, items.len(), path)?;
                if let Some(old) = items.get_mut(at) {
                    *old = value;
                }
            }
            _ => drop(parent.set(last, value)),
        }
        Ok(())
    }

    fn add(
        &self,
        object: &mut PlacedValue,
        path: &Pointer,
        value: PlacedValue,
    ) -> Result<(), RefusedOperation> {
        let (parent, last) = self.container(object, path)?;
        match &mut parent.content {
            PlacedContent::Sequence(items) => {
                // The place behind the last item counts too.
                let places = items.len() + 1;
                let at = if last == "-" { items.len() } else { item(last, places, path)? };
                items.insert(at, value);
            }
            _ => drop(parent.set(last, value)),
        }
        Ok(())
    }

    fn remove(&self, object: &mut PlacedValue, path: &Pointer) -> Result<PlacedValue, RefusedOperation> {
        let (parent, last) = self.container(object, path)?;
        match &mut parent.content {
            PlacedContent::Sequence(items) => {
                let at = item(last, items.len(), path)?;
                Ok(items.remove(at))
            }
            _ => {
                parent.remove(last).ok_or_else(|| format!("the object has nothing at `{}`", path.text).into())
            }
        }
    }
}

/// How many entries or items are looked through, or moved.
fn width(value: &PlacedValue) -> usize {
    value.entries().len() + value.items().len()
}

/// The item of a list of that length which a path ends with.
fn item(part: &str, length: usize, path: &Pointer) -> Result<usize, RefusedOperation> {
    index(part, length).ok_or_else(|| format!("`{}` is not an item of the list", path.text).into())
}

/// A number as Go reads it; one below zero counts from the end.
fn index(part: &str, length: usize) -> Option<usize> {
    let at: isize = part.parse().ok()?;
    let at = if at < 0 { at.checked_add_unsigned(length)? } else { at };
    usize::try_from(at).ok().filter(|at| *at < length)
}

/// A plain value with a JSON patch applied; what is asked for is bounded as in a render.
///
/// # Errors
/// No JSON patch, or one that does not fit: what was found and what to do, without a place.
pub fn apply_json_patch(
    value: &serde_json::Value,
    patch: &serde_json::Value,
) -> Result<serde_json::Value, String> {
    let file = YamlFile::read("").map_err(|error| error.to_string())?;
    let nowhere = SourceOffset::new(Arc::new(RenderSource::new(RepoPath::root(), file)), 0);
    let operations = parse(&PlacedValue::from_value(patch, &nowhere)).map_err(|error| error.to_string())?;
    let mut patched = PlacedValue::from_value(value, &nowhere);
    match apply(&mut patched, &operations, &RenderBudget::default()) {
        Ok(()) => Ok(patched.to_value()),
        Err(Unapplied::Misfit(misfit)) => Err(misfit.message),
        Err(Unapplied::TooLarge(error)) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::apply_json_patch;

    /// Operations, and what kubectl makes of `object()` with them; `None` where it stops.
    fn cases() -> Vec<(Value, Option<Value>)> {
        let with = |key: &str, value: Value| {
            let mut object = object();
            object[key] = value;
            Some(object)
        };
        let op = |op: &str, path: &str, value: Value| json!([{"op": op, "path": path, "value": value}]);
        let from = |op: &str, from: &str, path: &str| json!([{"op": op, "from": from, "path": path}]);
        vec![
            (op("replace", "/new", json!(1)), with("new", json!(1))),
            (op("replace", "/null", json!(1)), with("null", json!(1))),
            (op("replace", "/none/new", json!(1)), None),
            (op("replace", "/null/new", json!(1)), None),
            (op("replace", "/text/new", json!(1)), None),
            (op("replace", "/list/1", json!("z")), with("list", json!(["a", "z"]))),
            (op("replace", "/list/-1", json!("z")), with("list", json!(["a", "z"]))),
            (op("replace", "/list/2", json!("z")), None),
            (op("replace", "/list/x", json!("z")), None),
            (op("replace", "", json!({"a": 1})), Some(json!({"a": 1}))),
            (op("replace", "", json!("a")), None),
            (op("add", "/list/-", json!("z")), with("list", json!(["a", "b", "z"]))),
            (op("add", "/list/-1", json!("z")), with("list", json!(["a", "b", "z"]))),
            (op("add", "/list/-3", json!("z")), with("list", json!(["z", "a", "b"]))),
            (op("add", "/list/01", json!("z")), with("list", json!(["a", "z", "b"]))),
            (op("add", "/list/3", json!("z")), None),
            (op("add", "", json!({"a": 1})), None),
            (op("add", "spec/new", json!(1)), with("new", json!(1))),
            (op("add", "new", json!(1)), None),
            (op("add", "/a~1b~0c", json!(1)), with("a/b~c", json!(1))),
            (op("test", "/none", json!(null)), Some(object())),
            (op("test", "/null", json!(null)), Some(object())),
            (op("test", "/none", json!(1)), None),
            (op("test", "/text", json!(null)), None),
            (op("test", "/none/deeper", json!(null)), None),
            (op("test", "/list/2", json!(null)), None),
            (op("test", "", object()), Some(object())),
            (json!([{"op": "test", "path": "/none"}]), None),
            (json!([{"op": "add", "path": "/new"}]), with("new", json!(null))),
            (from("copy", "/none", "/new"), with("new", json!(null))),
            (from("copy", "/list/-1", "/new"), with("new", json!("b"))),
            (from("copy", "", "/new"), None),
            (from("move", "/none", "/new"), None),
            (from("move", "/list/-1", "/list/0"), with("list", json!(["b", "a"]))),
            (json!([{"op": "remove", "path": "/none"}]), None),
            (json!([{"op": "remove", "path": "/list/-1"}]), with("list", json!(["a"]))),
            (json!([{"op": "remove", "path": ""}]), None),
        ]
    }

    fn object() -> Value {
        json!({"list": ["a", "b"], "null": null, "text": "t"})
    }

    #[test]
    fn operations_do_what_kustomizes_library_does() {
        for (patch, expected) in cases() {
            assert_eq!(apply_json_patch(&object(), &patch).ok(), expected, "{patch}");
        }
    }
}
