//! What kustomize would lose, or leave standing, of a strategic merge patch.
//!
//! Overlay files without a kustomization are read by nobody but Capstan: there such a patch is told
//! instead of imitated.

use super::budget::Budget;
use super::directive::{DIRECTIVE, Directive};
use super::list_merge::ListMerge;
use super::placed::{Content, Placed};
use super::schema::{Schemas, Type};
use super::strategic::deletes;
use super::walked::{Misfit, Unapplied};

/// Looks through a patch of an object, or one that joins as an object of its own.
pub(super) fn refuse(
    object: Option<&Placed>,
    patch: &Placed,
    schemas: &Schemas,
    budget: &Budget,
) -> Result<(), Unapplied> {
    if Directive::of(patch)? == Directive::Replace {
        return Err(Misfit::new(
            &patch.place,
            "kustomize does not replace whole objects (`$patch: replace`): delete the object and add another",
        )
        .into());
    }
    let named = object.unwrap_or(patch);
    let text = |key: &str| named.text_at(&[key]).unwrap_or_default();
    let of = schemas.of(text("apiVersion"), text("kind"));
    Check { path: Vec::new(), budget }.mapping(object, patch, of)
}

struct Check<'b> {
    path: Vec<String>,
    budget: &'b Budget,
}

impl Check<'_> {
    fn mapping(
        &mut self,
        object: Option<&Placed>,
        patch: &Placed,
        of: Option<Type<'_>>,
    ) -> Result<(), Unapplied> {
        refuse_unknown(patch)?;
        Directive::of(patch)?;
        let fields = object.map_or(0, |object| object.entries().len());
        self.budget.pairs(fields, patch.entries().len(), &patch.place)?;
        for (name, value) in patch.entries().iter().filter(|(name, _)| name != DIRECTIVE) {
            let (inner, list) = of.map_or((None, None), |of| of.field(name));
            let old = object.and_then(|object| object.field(name));
            self.path.push(name.clone());
            match &value.content {
                Content::Mapping(_) => self.mapping(old, value, inner)?,
                Content::Sequence(items) => self.list(old, value, items, list.as_ref(), inner)?,
                Content::Scalar(_) => {}
            }
            self.path.pop();
        }
        Ok(())
    }

    fn list(
        &mut self,
        object: Option<&Placed>,
        patch: &Placed,
        items: &[Placed],
        how: Option<&ListMerge>,
        of: Option<Type<'_>>,
    ) -> Result<(), Unapplied> {
        let keys = match how {
            Some(ListMerge::ByKey(keys)) => Some(keys),
            Some(ListMerge::Union) | None => None,
        };
        for item in items.iter().filter(|item| item.field(DIRECTIVE).is_some()) {
            let alone = item.entries().len() == 1 && Directive::of(item)? == Directive::Replace;
            if keys.is_some() && alone {
                return Ok(());
            }
            // Kustomize would write the directive out, or drop the item.
            if keys.is_none() || !deletes(item) {
                return Err(Misfit::new(
                    &item.place,
                    format!(
                        "`$patch` has no meaning here in `{}`: a list without a merge key is replaced as a whole, so write it out",
                        self.path.join(".")
                    ),
                )
                .into());
            }
        }
        let Some(keys) = keys else { return Ok(()) };
        let old = object.map(Placed::items).unwrap_or_default();
        self.budget.pairs(old.len(), items.len(), &patch.place)?;
        for (index, key) in keys.iter().enumerate() {
            let have = old.iter().chain(items).filter(|item| item.field(key).is_some()).count();
            if index == 0 {
                if let Some(item) = items.iter().find(|item| item.field(key).is_none()) {
                    return Err(Misfit::new(
                        &item.place,
                        format!(
                            "an item of `{}` is found by `{key}`, but this one has none: add it",
                            self.path.join(".")
                        ),
                    )
                    .into());
                }
            } else if have > 0 && have < old.len() + items.len() {
                let there = object.map_or(&patch.place, |object| &object.place);
                return Err(Misfit::new(
                    &patch.place,
                    format!(
                        "some items of `{}` have `{key}` but others do not, and kustomize then loses some: add it to all of them, here and in the object ({} line {})",
                        self.path.join("."),
                        there.file(),
                        there.position().line
                    ),
                )
                .into());
            }
        }
        let first = keys.first().map_or("", String::as_str);
        for item in items.iter().filter(|item| item.is_mapping()) {
            let same = |other: &&Placed| {
                other.field(first).map(Placed::written) == item.field(first).map(Placed::written)
            };
            self.mapping(old.iter().find(same), item, of)?;
        }
        Ok(())
    }
}

fn refuse_unknown(patch: &Placed) -> Result<(), Misfit> {
    let known = ["$retainKeys", "$setElementOrder/", "$deleteFromPrimitiveList/"];
    match patch.entries().iter().find(|(key, _)| known.iter().any(|start| key.starts_with(start))) {
        Some((key, value)) => Err(Misfit::new(
            &value.place,
            format!("the directive `{key}` is not supported, also not by kustomize: write the list out"),
        )),
        None => Ok(()),
    }
}
