//! JSON patches (RFC 6902) on values that remember their places.

use super::error::RenderError;
use super::placed::{Content, Placed};
use super::walked::Misfit;

/// One operation.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    action: Action,
    /// The operation's own value, for its place.
    place: super::SourceOffset,
}

#[derive(Debug, Clone)]
enum Action {
    Add(Pointer, Placed),
    Remove(Pointer),
    Replace(Pointer, Placed),
    Move(Pointer, Pointer),
    Copy(Pointer, Pointer),
    Test(Pointer, Placed),
}

/// A JSON Pointer: its text, and its parts with escapes resolved.
#[derive(Debug, Clone)]
struct Pointer {
    text: String,
    parts: Vec<String>,
}

/// Reads the operations of a patch.
pub(super) fn parse(patch: &Placed) -> Result<Vec<Operation>, RenderError> {
    patch.items().iter().map(parse_operation).collect()
}

fn parse_operation(item: &Placed) -> Result<Operation, RenderError> {
    let wants = |what: &str| {
        RenderError::malformed(&item.place, format!("this operation of a JSON patch has no `{what}`: add it"))
    };
    let pointer = |field: &str| {
        let value = item.field(field).ok_or_else(|| wants(field))?;
        let text =
            value.as_str().filter(|text| text.is_empty() || text.starts_with('/')).ok_or_else(|| {
                RenderError::malformed(
                    &value.place,
                    format!("`{field}` is a JSON Pointer and starts with `/`"),
                )
            })?;
        let parts = text.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~"));
        Ok(Pointer { text: text.to_owned(), parts: parts.collect() })
    };
    let value = || item.field("value").cloned().ok_or_else(|| wants("value"));
    let op = item.field("op").ok_or_else(|| wants("op"))?;
    let action = match op.as_str() {
        Some("add") => Action::Add(pointer("path")?, value()?),
        Some("remove") => Action::Remove(pointer("path")?),
        Some("replace") => Action::Replace(pointer("path")?, value()?),
        Some("move") => Action::Move(pointer("from")?, pointer("path")?),
        Some("copy") => Action::Copy(pointer("from")?, pointer("path")?),
        Some("test") => Action::Test(pointer("path")?, value()?),
        _ => {
            return Err(RenderError::malformed(
                &op.place,
                "`op` is one of `add`, `remove`, `replace`, `move`, `copy` and `test`: write one of them",
            ));
        }
    };
    Ok(Operation { action, place: item.place.clone() })
}

/// Applies all operations in order. On an error the object may be half patched: patch a copy.
pub(super) fn apply(object: &mut Placed, operations: &[Operation]) -> Result<(), Misfit> {
    operations.iter().try_for_each(|operation| {
        operation.apply(object).map_err(|message| Misfit::new(&operation.place, message))
    })
}

impl Operation {
    fn apply(&self, object: &mut Placed) -> Result<(), String> {
        match &self.action {
            Action::Add(path, value) => add(object, path, value.clone()),
            Action::Remove(path) => remove(object, path).map(drop),
            Action::Replace(path, value) => {
                *find(object, path)? = value.clone();
                Ok(())
            }
            Action::Move(from, path) => {
                let value = remove(object, from)?;
                add(object, path, value)
            }
            Action::Copy(from, path) => {
                let value = find(object, from)?.clone();
                add(object, path, value)
            }
            Action::Test(path, value) => {
                let found = find(object, path)?;
                if found.to_value() == value.to_value() {
                    Ok(())
                } else {
                    Err(format!("the test of `{}` finds another value", path.text))
                }
            }
        }
    }
}

fn nothing(path: &Pointer) -> String {
    format!("the object has nothing at `{}`", path.text)
}

fn find<'a>(object: &'a mut Placed, path: &Pointer) -> Result<&'a mut Placed, String> {
    walk(object, &path.parts).ok_or_else(|| nothing(path))
}

fn walk<'a>(object: &'a mut Placed, parts: &[String]) -> Option<&'a mut Placed> {
    let mut value = object;
    for part in parts {
        value = match &mut value.content {
            Content::Mapping(entries) => {
                entries.iter_mut().find(|(key, _)| key == part).map(|(_, value)| value)?
            }
            Content::Sequence(items) => items.get_mut(index(part)?)?,
            Content::Scalar(_) => return None,
        };
    }
    Some(value)
}

/// Digits without a leading zero, as RFC 6901 has it.
fn index(part: &str) -> Option<usize> {
    let plain = part == "0" || !part.starts_with('0');
    (plain && part.bytes().all(|byte| byte.is_ascii_digit())).then(|| part.parse().ok())?
}

fn add(object: &mut Placed, path: &Pointer, value: Placed) -> Result<(), String> {
    let Some((last, way)) = path.parts.split_last() else {
        *object = value;
        return Ok(());
    };
    let parent = walk(object, way)
        .ok_or_else(|| format!("the object has nothing that `{}` could be added to", path.text))?;
    match &mut parent.content {
        Content::Mapping(_) => {
            parent.set(last, value);
            Ok(())
        }
        Content::Sequence(items) => {
            let at = if last == "-" { Some(items.len()) } else { index(last) };
            match at.filter(|at| *at <= items.len()) {
                Some(at) => {
                    items.insert(at, value);
                    Ok(())
                }
                None => Err(format!("`{}` lies outside a list of {} items", path.text, items.len())),
            }
        }
        Content::Scalar(_) => Err(format!("`{}` would lie inside a single value", path.text)),
    }
}

fn remove(object: &mut Placed, path: &Pointer) -> Result<Placed, String> {
    let Some((last, way)) = path.parts.split_last() else {
        return Err("the whole object cannot be removed by a JSON patch: use `$patch: delete`".to_owned());
    };
    let parent = walk(object, way).ok_or_else(|| nothing(path))?;
    let removed = match &mut parent.content {
        Content::Mapping(_) => parent.remove(last),
        Content::Sequence(items) => index(last).filter(|at| *at < items.len()).map(|at| items.remove(at)),
        Content::Scalar(_) => None,
    };
    removed.ok_or_else(|| nothing(path))
}
