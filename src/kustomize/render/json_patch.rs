//! JSON patches (RFC 6902) on values that remember their places.

use std::sync::Arc;

use super::budget::{Budget, Size, refuse_deeper};
use super::error::RenderError;
use super::placed::{Content, Placed, Source, SourceOffset};
use super::walked::{Misfit, Unapplied};
use capstan_model::tree::RepoPath;
use capstan_yaml::YamlFile;

/// One operation.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    action: Action,
    /// The operation's own value, for its place.
    place: SourceOffset,
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
pub(super) fn apply(object: &mut Placed, operations: &[Operation], budget: &Budget) -> Result<(), Unapplied> {
    operations.iter().try_for_each(|operation| {
        Step { place: &operation.place, budget }.apply(object, &operation.action).map_err(|refused| {
            match refused {
                Refused::Misfit(message) => Misfit::new(&operation.place, message).into(),
                Refused::TooLarge(error) => error.into(),
            }
        })
    })
}

/// Why an operation cannot be done.
enum Refused {
    Misfit(String),
    TooLarge(RenderError),
}

impl From<String> for Refused {
    fn from(message: String) -> Self {
        Self::Misfit(message)
    }
}

impl From<RenderError> for Refused {
    fn from(error: RenderError) -> Self {
        Self::TooLarge(error)
    }
}

/// One operation as it is done to one object: what it adds is charged before it is there.
struct Step<'s> {
    place: &'s SourceOffset,
    budget: &'s Budget,
}

impl Step<'_> {
    fn apply(&self, object: &mut Placed, action: &Action) -> Result<(), Refused> {
        match action {
            Action::Add(path, value) => {
                self.charge(Size::of(value), path)?;
                self.add(object, path, value.clone())
            }
            Action::Remove(path) => self.remove(object, path).map(drop),
            Action::Replace(path, value) => {
                self.charge(Size::of(value), path)?;
                *self.find(object, path)? = value.clone();
                Ok(())
            }
            Action::Move(from, path) => {
                let value = self.remove(object, from)?;
                if path.parts.len() > from.parts.len() {
                    let size = Size::of(&value);
                    self.budget.steps(size.values, self.place)?;
                    refuse_deeper(path.parts.len() + size.height, self.place)?;
                }
                self.add(object, path, value)
            }
            Action::Copy(from, path) => {
                let value = self.find(object, from)?;
                self.charge(Size::of(value), path)?;
                let value = value.clone();
                self.add(object, path, value)
            }
            Action::Test(path, value) => {
                let found = self.find(object, path)?;
                self.budget.copy(found, self.place)?;
                self.budget.copy(value, self.place)?;
                if found.to_value() == value.to_value() {
                    Ok(())
                } else {
                    Err(format!("the test of `{}` finds another value", path.text).into())
                }
            }
        }
    }

    /// For a value that comes to stand at a path, and its key there.
    fn charge(&self, size: Size, path: &Pointer) -> Result<(), RenderError> {
        refuse_deeper(path.parts.len() + size.height, self.place)?;
        let key = path.parts.last().map_or(0, String::len);
        self.budget.size(Size { bytes: size.bytes + key, ..size }, self.place)
    }

    fn find<'a>(&self, object: &'a mut Placed, path: &Pointer) -> Result<&'a mut Placed, Refused> {
        self.walk(object, &path.parts)?.ok_or_else(|| nothing(path).into())
    }

    fn walk<'a>(
        &self,
        object: &'a mut Placed,
        parts: &[String],
    ) -> Result<Option<&'a mut Placed>, RenderError> {
        let mut value = object;
        for part in parts {
            let next = match &mut value.content {
                Content::Mapping(entries) => {
                    self.budget.steps(entries.len(), self.place)?;
                    entries.iter_mut().find(|(key, _)| key == part).map(|(_, value)| value)
                }
                Content::Sequence(items) => index(part).and_then(|at| items.get_mut(at)),
                Content::Scalar(_) => None,
            };
            match next {
                Some(next) => value = next,
                None => return Ok(None),
            }
        }
        Ok(Some(value))
    }

    fn add(&self, object: &mut Placed, path: &Pointer, value: Placed) -> Result<(), Refused> {
        let Some((last, way)) = path.parts.split_last() else {
            *object = value;
            return Ok(());
        };
        let parent = self
            .walk(object, way)?
            .ok_or_else(|| format!("the object has nothing that `{}` could be added to", path.text))?;
        self.budget.steps(width(parent), self.place)?;
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
                    None => {
                        Err(format!("`{}` lies outside a list of {} items", path.text, items.len()).into())
                    }
                }
            }
            Content::Scalar(_) => Err(format!("`{}` would lie inside a single value", path.text).into()),
        }
    }

    fn remove(&self, object: &mut Placed, path: &Pointer) -> Result<Placed, Refused> {
        let Some((last, way)) = path.parts.split_last() else {
            let why = "the whole object cannot be removed by a JSON patch: use `$patch: delete`";
            return Err(why.to_owned().into());
        };
        let parent = self.walk(object, way)?.ok_or_else(|| nothing(path))?;
        self.budget.steps(width(parent), self.place)?;
        let removed = match &mut parent.content {
            Content::Mapping(_) => parent.remove(last),
            Content::Sequence(items) => index(last).filter(|at| *at < items.len()).map(|at| items.remove(at)),
            Content::Scalar(_) => None,
        };
        removed.ok_or_else(|| nothing(path).into())
    }
}

/// How many entries or items are looked through, or moved.
fn width(value: &Placed) -> usize {
    value.entries().len() + value.items().len()
}

fn nothing(path: &Pointer) -> String {
    format!("the object has nothing at `{}`", path.text)
}

/// Digits without a leading zero, as RFC 6901 has it.
fn index(part: &str) -> Option<usize> {
    let plain = part == "0" || !part.starts_with('0');
    (plain && part.bytes().all(|byte| byte.is_ascii_digit())).then(|| part.parse().ok())?
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
    let nowhere = SourceOffset::new(Arc::new(Source::new(RepoPath::root(), file)), 0);
    let operations = parse(&Placed::from_value(patch, &nowhere)).map_err(|error| error.to_string())?;
    let mut patched = Placed::from_value(value, &nowhere);
    match apply(&mut patched, &operations, &Budget::default()) {
        Ok(()) => Ok(patched.to_value()),
        Err(Unapplied::Misfit(misfit)) => Err(misfit.message),
        Err(Unapplied::TooLarge(error)) => Err(error.to_string()),
    }
}
