//! Strategic merge patches, as kustomize applies them.
//!
//! Mappings are merged, `null` removes, lists of Kubernetes' own kinds are merged by key (the patch's
//! items come first), all other lists are replaced. `$patch: delete | replace | merge` is honoured;
//! other directives are refused, since kustomize does not know them either.

use serde_json::Value;

use super::placed::{Content, Place, Placed};
use super::resource::Identity;
use super::schema::{ListMerge, list_merge};

/// What a patch leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The object, patched.
    Kept,
    /// Nothing: the patch deletes the object.
    Deleted,
}

/// Why a patch does not fit its object.
#[derive(Debug, Clone)]
pub(super) struct Misfit {
    pub(super) place: Place,
    pub(super) message: String,
}

impl Misfit {
    pub(super) fn new(place: &Place, message: impl Into<String>) -> Self {
        Self { place: place.clone(), message: message.into() }
    }
}

/// Whether a patch may change what an object is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct MayChange {
    pub(super) name: Allowed,
    pub(super) kind: Allowed,
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Allowed {
    #[default]
    No,
    Yes,
}

const DIRECTIVE: &str = "$patch";

/// Applies a patch to an object. On an error the object may be half patched: patch a copy.
pub(super) fn apply(
    object: &mut Placed,
    patch: &Placed,
    identity: &Identity,
    may_change: MayChange,
) -> Result<Outcome, Misfit> {
    let patch = without_identity(patch, may_change);
    let mut merge = Merge { group: identity.group(), kind: &identity.kind, path: Vec::new() };
    match directive(&patch)? {
        Directive::Delete => return Ok(Outcome::Deleted),
        Directive::Replace => {
            let kept = identity_fields(object);
            object.content = stripped(&patch)?.content;
            restore(object, kept);
        }
        Directive::Merge => merge.mappings(object, &patch)?,
    }
    Ok(Outcome::Kept)
}

/// A patch that finds no object and joins as an object of its own: without directives and nulls.
pub(super) fn as_object(patch: &Placed) -> Result<Placed, Misfit> {
    stripped(patch)
}

/// Whether a document says outright that it deletes.
pub(super) fn deletes(patch: &Placed) -> bool {
    patch.text_at(&[DIRECTIVE]) == Some("delete")
}

/// The patch keeps its hands off what makes the object the same object.
fn without_identity(patch: &Placed, may_change: MayChange) -> Placed {
    let mut patch = patch.clone();
    if may_change.kind == Allowed::No {
        patch.remove("apiVersion");
        patch.remove("kind");
    }
    if may_change.name == Allowed::No
        && let Some(metadata) = patch.field_mut("metadata")
    {
        metadata.remove("name");
        metadata.remove("namespace");
    }
    patch
}

fn identity_fields(object: &Placed) -> Vec<(&'static [&'static str], Placed)> {
    const FIELDS: [&[&str]; 4] =
        [&["apiVersion"], &["kind"], &["metadata", "name"], &["metadata", "namespace"]];
    FIELDS.into_iter().filter_map(|keys| Some((keys, object.at(keys)?.clone()))).collect()
}

fn restore(object: &mut Placed, fields: Vec<(&'static [&'static str], Placed)>) {
    for (keys, value) in fields {
        let place = value.place.clone();
        if let Some((last, way)) = keys.split_last()
            && let Some(mapping) = object.mapping_at(way, &place)
        {
            mapping.set(last, value);
        }
    }
}

enum Directive {
    Merge,
    Replace,
    Delete,
}

fn directive(patch: &Placed) -> Result<Directive, Misfit> {
    if let Some((key, value)) =
        patch.entries().iter().find(|(key, _)| key.starts_with('$') && key != DIRECTIVE && is_directive(key))
    {
        return Err(Misfit::new(
            &value.place,
            format!("the directive `{key}` is not supported, by kustomize neither: write the list out"),
        ));
    }
    match patch.field(DIRECTIVE) {
        None => Ok(Directive::Merge),
        Some(value) => match value.as_str() {
            Some("merge") => Ok(Directive::Merge),
            Some("replace") => Ok(Directive::Replace),
            Some("delete") => Ok(Directive::Delete),
            _ => Err(Misfit::new(
                &value.place,
                "`$patch` is one of `merge`, `replace` and `delete`: write one of them",
            )),
        },
    }
}

fn is_directive(key: &str) -> bool {
    ["$retainKeys", "$setElementOrder/", "$deleteFromPrimitiveList/"]
        .iter()
        .any(|known| key.starts_with(known))
}

struct Merge<'a> {
    group: &'a str,
    kind: &'a str,
    path: Vec<String>,
}

impl Merge<'_> {
    fn mappings(&mut self, target: &mut Placed, patch: &Placed) -> Result<(), Misfit> {
        for (key, value) in patch.entries().iter().filter(|(key, _)| key != DIRECTIVE) {
            self.path.push(key.clone());
            self.field(target, key, value)?;
            self.path.pop();
        }
        Ok(())
    }

    fn field(&mut self, target: &mut Placed, key: &str, patch: &Placed) -> Result<(), Misfit> {
        if patch.is_null() {
            target.remove(key);
            return Ok(());
        }
        if patch.is_mapping() {
            match directive(patch)? {
                Directive::Merge => {}
                Directive::Replace => {
                    target.set(key, stripped(patch)?);
                    return Ok(());
                }
                Directive::Delete => {
                    target.remove(key);
                    return Ok(());
                }
            }
        }
        let Some(old) = target.field_mut(key).filter(|old| !old.is_null()) else {
            target.set(key, stripped(patch)?);
            return Ok(());
        };
        match (&old.content, &patch.content) {
            (Content::Mapping(_), Content::Mapping(_)) => self.mappings(old, patch),
            (Content::Sequence(_), Content::Sequence(_)) => self.lists(old, patch),
            (Content::Scalar(_), Content::Scalar(_)) => {
                *old = patch.clone();
                Ok(())
            }
            _ => Err(Misfit::new(
                &patch.place,
                format!(
                    "`{}` is {} here, but {} in the object ({} line {}): a patch cannot change that, make them agree",
                    self.path.join("."),
                    noun(patch),
                    noun(old),
                    old.place.file(),
                    old.place.position().line
                ),
            )),
        }
    }

    fn lists(&mut self, old: &mut Placed, patch: &Placed) -> Result<(), Misfit> {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let how = list_merge(self.group, self.kind, &path);
        if let Some(at) = patch.items().iter().position(|item| item.text_at(&[DIRECTIVE]) == Some("replace"))
        {
            let mut items = patch.items().to_vec();
            items.remove(at);
            old.content = Content::Sequence(strip_items(&items)?);
            return Ok(());
        }
        match how {
            ListMerge::Replace => *old = stripped(patch)?,
            ListMerge::Union => {
                let mut items = patch.items().to_vec();
                let known: Vec<Value> = items.iter().map(Placed::to_value).collect();
                items.extend(old.items().iter().filter(|item| !known.contains(&item.to_value())).cloned());
                old.content = Content::Sequence(items);
            }
            ListMerge::ByKey(keys) => self.keyed(old, patch, keys)?,
        }
        Ok(())
    }

    /// Kustomize puts the patch's items first, in the patch's order, then the others of the object.
    fn keyed(&mut self, old: &mut Placed, patch: &Placed, keys: &[&str]) -> Result<(), Misfit> {
        let mut rest = old.items().to_vec();
        let mut merged = Vec::new();
        for item in patch.items() {
            if keys.first().is_none_or(|key| item.field(key).is_none()) {
                return Err(Misfit::new(
                    &item.place,
                    format!(
                        "an item of `{}` is found by `{}`, and this one has none: add it",
                        self.path.join("."),
                        keys.first().copied().unwrap_or_default()
                    ),
                ));
            }
            let at = rest.iter().position(|other| same_keys(item, other, keys));
            let old_item = at.map(|at| rest.remove(at));
            match directive(item)? {
                Directive::Delete => {}
                Directive::Replace => merged.push(stripped(item)?),
                Directive::Merge => match old_item {
                    Some(mut target) => {
                        self.mappings(&mut target, item)?;
                        merged.push(target);
                    }
                    None => merged.push(stripped(item)?),
                },
            }
        }
        merged.extend(rest);
        old.content = Content::Sequence(merged);
        Ok(())
    }
}

/// The first key decides; of the others (`protocol`) only those that both items have.
fn same_keys(one: &Placed, other: &Placed, keys: &[&str]) -> bool {
    keys.iter().enumerate().all(|(index, key)| match (one.field(key), other.field(key)) {
        (Some(a), Some(b)) => a.to_value() == b.to_value(),
        _ => index > 0,
    })
}

fn noun(value: &Placed) -> &'static str {
    match value.content {
        Content::Scalar(_) => "a single value",
        Content::Mapping(_) => "a mapping",
        Content::Sequence(_) => "a list",
    }
}

/// What is new in an object has no nulls and no directives.
fn stripped(value: &Placed) -> Result<Placed, Misfit> {
    let content = match &value.content {
        Content::Scalar(scalar) => Content::Scalar(scalar.clone()),
        Content::Sequence(items) => Content::Sequence(strip_items(items)?),
        Content::Mapping(entries) => {
            directive(value)?;
            let mut kept = Vec::with_capacity(entries.len());
            for (key, field) in entries.iter().filter(|(key, _)| key != DIRECTIVE) {
                let gone = field.is_null() || deletes(field);
                if !gone {
                    kept.push((key.clone(), stripped(field)?));
                }
            }
            Content::Mapping(kept)
        }
    };
    Ok(Placed { place: value.place.clone(), content })
}

fn strip_items(items: &[Placed]) -> Result<Vec<Placed>, Misfit> {
    items.iter().filter(|item| !deletes(item)).map(stripped).collect()
}
