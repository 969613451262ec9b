//! Strategic merge patches, as kustomize applies them.
//!
//! Mappings are merged, `null` removes, lists of kinds whose schema has keys are merged by them (the
//! patch's items come first), all other lists are replaced. `$patch: delete | replace | merge` works where
//! kustomize knows it; it knows no other directive
//! (<https://github.com/kubernetes-sigs/kustomize/tree/master/kyaml/yaml/merge2>).
//!
//! This is kustomize's meaning to the letter, its losses included. Where no kustomization asks for it,
//! [`super::losses`] looks first.

use super::associative;
use super::budget::RenderBudget;
use super::directive::{DIRECTIVE, Directive};
use super::list_merge::ListMerge;
use super::placed::{PlacedContent, PlacedValue};
use super::schema::{KnownType, Schemas};
use super::walked::{PatchMisfit, Unapplied, Walked};

/// What a patch leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatchOutcome {
    /// The object, patched.
    Kept,
    /// Nothing: the patch deletes the object.
    Deleted,
}

/// Applies a patch to an object. On an error the object may be half patched: patch a copy.
///
/// Objects get no deeper by it than they or the patch are, and no larger than both, but for items of lists, which
/// are charged where they are copied.
pub(super) fn apply(
    object: &mut PlacedValue,
    patch: &PlacedValue,
    schemas: &Schemas,
    budget: &RenderBudget,
) -> Result<PatchOutcome, Unapplied> {
    budget.value(patch, &patch.place)?;
    budget.copy(object, &patch.place)?;
    let mut merge = StrategicMerge { schemas, budget, path: Vec::new(), alone: Alone::No };
    Ok(match merge.walk(Some(object), Some(patch), MergeSchema::default())? {
        Walked::Gone => PatchOutcome::Deleted,
        // `$patch: replace` of a whole object: kustomize makes another one and drops it.
        Walked::Same | Walked::Other(_) => PatchOutcome::Kept,
    })
}

/// A patch that finds no object and joins as an object of its own: without directives and nulls.
pub(super) fn as_object(
    patch: &PlacedValue,
    schemas: &Schemas,
    budget: &RenderBudget,
) -> Result<PlacedValue, Unapplied> {
    let mut merge = StrategicMerge { schemas, budget, path: Vec::new(), alone: Alone::No };
    match merge.walk(None, Some(patch), MergeSchema::default())? {
        Walked::Other(value) => Ok(value),
        Walked::Same | Walked::Gone => Ok(patch.clone()),
    }
}

/// Whether a document says outright that it deletes.
pub(super) fn deletes(patch: &PlacedValue) -> bool {
    patch.text_at(&[DIRECTIVE]) == Some("delete")
}

/// What is known about the value that is being merged.
#[derive(Debug, Clone, Default)]
struct MergeSchema<'a> {
    of: Option<KnownType<'a>>,
    list: Option<ListMerge>,
}

struct StrategicMerge<'a> {
    schemas: &'a Schemas,
    budget: &'a RenderBudget,
    path: Vec<String>,
    alone: Alone,
}

/// Whether a patch is being merged with itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alone {
    Yes,
    No,
}

impl<'a> StrategicMerge<'a> {
    /// Merges one value of the patch, or of the object alone, into the object's.
    fn walk(
        &mut self,
        object: Option<&mut PlacedValue>,
        patch: Option<&PlacedValue>,
        known: MergeSchema<'a>,
    ) -> Result<Walked, Unapplied> {
        let present = object.as_deref().filter(|value| !value.is_null());
        if let (Some(one), Some(other)) = (present, patch.filter(|patch| !patch.is_null()))
            && std::mem::discriminant(&one.content) != std::mem::discriminant(&other.content)
        {
            return Err(self.mismatch(one, other).into());
        }
        let leads = present.or_else(|| patch.filter(|patch| !patch.is_null()));
        match (leads.map(|value| &value.content), known.list) {
            (Some(PlacedContent::Sequence(_)), Some(merge)) => {
                let budget = self.budget;
                let mut item = |object: Option<&mut PlacedValue>, patch: Option<&PlacedValue>| {
                    self.walk(object, patch, MergeSchema { of: known.of, list: None })
                };
                associative::walk(&mut item, object, patch, &merge, budget)
            }
            (Some(PlacedContent::Mapping(_)) | None, _) => self.walk_mapping(object, patch, known.of),
            (Some(PlacedContent::Sequence(_) | PlacedContent::Scalar(_)), _) => Ok(match patch {
                Some(patch) if patch.is_null() => Walked::Gone,
                Some(patch) => Walked::Other(patch.clone()),
                None => Walked::Same,
            }),
        }
    }

    fn walk_mapping(
        &mut self,
        object: Option<&mut PlacedValue>,
        patch: Option<&PlacedValue>,
        of: Option<KnownType<'a>>,
    ) -> Result<Walked, Unapplied> {
        // An object inside an object whose type is not known is looked up by its own kind.
        let of = of.or_else(|| {
            let leads = object.as_deref().filter(|value| !value.is_null()).or(patch)?;
            self.schemas.of(&leads.at(&["apiVersion"])?.written(), &leads.at(&["kind"])?.written())
        });
        match (object, patch) {
            (None, None) => Ok(Walked::Gone),
            (Some(object), None) if object.is_null() => {
                // A null that somebody wrote stays, and so does an empty text that kustomize set without
                // saying what it is; a field without a value goes.
                let is_open =
                    matches!(&object.content, PlacedContent::Scalar(scalar) if !scalar.is_known_null());
                Ok(if object.written().is_empty() && !is_open { Walked::Gone } else { Walked::Same })
            }
            (Some(object), Some(patch)) if !object.is_null() => {
                if patch.is_null() {
                    return Ok(Walked::Gone);
                }
                match Directive::of(patch)? {
                    Directive::Delete => Ok(Walked::Gone),
                    Directive::Replace => self.on_its_own(patch, of),
                    Directive::Merge => {
                        self.walk_fields(object, Some(patch), of)?;
                        Ok(Walked::Same)
                    }
                }
            }
            (Some(object), None) => {
                self.walk_fields(object, None, of)?;
                Ok(Walked::Same)
            }
            (_, Some(patch)) if patch.is_null() || Directive::of(patch).ok() == Some(Directive::Delete) => {
                Ok(Walked::Gone)
            }
            (_, Some(patch)) => self.on_its_own(patch, of),
        }
    }

    /// What is new loses its directives and nulls: kustomize merges it with itself.
    fn on_its_own(&mut self, patch: &PlacedValue, of: Option<KnownType<'a>>) -> Result<Walked, Unapplied> {
        let mut source = patch.clone();
        if Directive::of(patch).is_ok() {
            source.remove(DIRECTIVE);
        }
        let mut value = source.clone();
        let outside = std::mem::replace(&mut self.alone, Alone::Yes);
        let walked = self.walk_fields(&mut value, Some(&source), of);
        self.alone = outside;
        walked?;
        Ok(Walked::Other(value))
    }

    fn walk_fields(
        &mut self,
        object: &mut PlacedValue,
        patch: Option<&PlacedValue>,
        of: Option<KnownType<'a>>,
    ) -> Result<(), Unapplied> {
        let mut names: Vec<String> = object.entries().iter().map(|(name, _)| name.clone()).collect();
        let new = patch.map(PlacedValue::entries).unwrap_or_default();
        // Each field is looked for by its name.
        let fields = names.len() + new.len();
        self.budget.pairs(fields, fields, patch.map_or(&object.place, |patch| &patch.place))?;
        for (name, _) in new {
            if name != DIRECTIVE && object.field(name).is_none() {
                names.push(name.clone());
            }
        }
        for name in names {
            let (inner, list) = of.map_or((None, None), |of| of.field(&name));
            let new = patch.and_then(|patch| patch.field(&name));
            self.path.push(name);
            let walked = self.walk(
                object.field_mut(self.path.last().map_or("", String::as_str)),
                new,
                MergeSchema { of: inner, list },
            )?;
            let name = self.path.pop().unwrap_or_default();
            match walked {
                Walked::Gone => drop(object.remove(&name)),
                Walked::Same => {
                    // Kustomize sets it again, and puts in quotes what old YAML takes for something else.
                    if let Some(PlacedContent::Scalar(scalar)) =
                        object.field_mut(&name).map(|field| &mut field.content)
                    {
                        scalar.quote();
                    }
                }
                Walked::Other(value) => match object.field_mut(&name) {
                    Some(field) if self.alone == Alone::No => field.replace_scalar(value),
                    _ => drop(object.set(&name, value.into_new_value())),
                },
            }
        }
        Ok(())
    }

    fn mismatch(&self, object: &PlacedValue, patch: &PlacedValue) -> PatchMisfit {
        PatchMisfit::new(
            &patch.place,
            format!(
                "`{}` is {} here, but {} in the object ({} line {}): a patch cannot change that, so make them agree",
                self.path.join("."),
                noun(patch),
                noun(object),
                object.place.file(),
                object.place.position().line
            ),
        )
    }
}

fn noun(value: &PlacedValue) -> &'static str {
    match value.content {
        PlacedContent::Scalar(_) => "a single value",
        PlacedContent::Mapping(_) => "a mapping",
        PlacedContent::Sequence(_) => "a list",
    }
}
