//! Strategic merge patches, as kustomize applies them.
//!
//! Mappings are merged, `null` removes, lists of Kubernetes' own kinds are merged by key (the patch's
//! items come first), all other lists are replaced. `$patch: delete | replace | merge` is honoured where
//! kustomize honours it (tried with kustomize 5.5);
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
            return Err(Misfit::new(
                &patch.place,
                "kustomize does not replace whole objects (`$patch: replace`): delete the object and add another",
            ));
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

fn replaces(item: &Placed) -> bool {
    item.text_at(&[DIRECTIVE]) == Some("replace")
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
        if let Some(item) = patch.items().iter().find(|item| item.field(DIRECTIVE).is_some()) {
            let alone = item.entries().len() == 1 && item.text_at(&[DIRECTIVE]) == Some("replace");
            match how {
                ListMerge::ByKey(_) if alone => {
                    let rest: Vec<Placed> =
                        patch.items().iter().filter(|other| !replaces(other)).cloned().collect();
                    old.content = Content::Sequence(strip_items(&rest)?);
                    return Ok(());
                }
                ListMerge::ByKey(_) if deletes(item) => {}
                // Kustomize would write the directive out, or drop the item.
                _ => {
                    return Err(Misfit::new(
                        &item.place,
                        format!(
                            "`$patch` has no meaning here in `{}`: a list without merge key is replaced whole, write it out",
                            self.path.join(".")
                        ),
                    ));
                }
            }
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

    /// Kustomize uses a further key (`protocol`) where all items have it; where only some have, it
    /// loses items.
    fn keys_in_use<'k>(
        &self,
        old: &Placed,
        patch: &Placed,
        keys: &[&'k str],
    ) -> Result<Vec<&'k str>, Misfit> {
        let mut used = Vec::new();
        for (index, key) in keys.iter().enumerate() {
            let all = || old.items().iter().chain(patch.items());
            let have = all().filter(|item| item.field(key).is_some()).count();
            if index == 0 || have == all().count() {
                used.push(*key);
            } else if have > 0 {
                return Err(Misfit::new(
                    &patch.place,
                    format!(
                        "some items of `{}` have `{key}` and others have not, and kustomize then loses some: give it to all of them, here and in the object ({} line {})",
                        self.path.join("."),
                        old.place.file(),
                        old.place.position().line
                    ),
                ));
            }
        }
        Ok(used)
    }

    /// Kustomize puts the patch's items first, in the patch's order, then the others of the object;
    /// where several keys count it leaves the object's items in their order behind the new ones.
    fn keyed(&mut self, old: &mut Placed, patch: &Placed, keys: &[&str]) -> Result<(), Misfit> {
        let mut rest = old.items().to_vec();
        let mut merged = Vec::new();
        let keys = self.keys_in_use(old, patch, keys)?;
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
            let at = rest.iter().position(|other| same_keys(item, other, &keys));
            match (directive(item)?, at) {
                (Directive::Delete, Some(at)) => drop(rest.remove(at)),
                (Directive::Delete, None) => {}
                (_, None) => merged.push(stripped(item)?),
                (_, Some(at)) if keys.len() > 1 => {
                    if let Some(target) = rest.get_mut(at) {
                        self.mappings(target, item)?;
                    }
                }
                (_, Some(at)) => {
                    let mut target = rest.remove(at);
                    self.mappings(&mut target, item)?;
                    merged.push(target);
                }
            }
        }
        merged.extend(rest);
        old.content = Content::Sequence(merged);
        Ok(())
    }
}

fn same_keys(one: &Placed, other: &Placed, keys: &[&str]) -> bool {
    keys.iter().all(|key| one.field(key).map(Placed::to_value) == other.field(key).map(Placed::to_value))
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
