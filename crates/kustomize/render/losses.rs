//! What kustomize would lose, or leave standing, of a strategic merge patch.
//!
//! Only Capstan reads overlay files without a kustomization: there such a patch is reported instead of
//! imitated.

use super::budget::RenderBudget;
use super::directive::{DIRECTIVE, Directive};
use super::list_merge::ListMerge;
use super::placed::{PlacedContent, PlacedValue};
use super::schema::{KnownType, Schemas};
use super::strategic::deletes;
use super::walked::{PatchMisfit, Unapplied};

/// Looks through a patch of an object, or one that joins as an object of its own.
pub(super) fn refuse(
    object: Option<&PlacedValue>,
    patch: &PlacedValue,
    schemas: &Schemas,
    budget: &RenderBudget,
) -> Result<(), Unapplied> {
    if Directive::of(patch)? == Directive::Replace {
        return Err(PatchMisfit::new(
            &patch.place,
            "kustomize does not replace whole objects (`$patch: replace`): delete the object and add another",
        )
        .into());
    }
    let named = object.unwrap_or(patch);
    let text = |key: &str| named.text_at(&[key]).unwrap_or_default();
    let of = schemas.of(text("apiVersion"), text("kind"));
    LossCheck { path: Vec::new(), budget }.mapping(object, patch, of)
}

struct LossCheck<'b> {
    path: Vec<String>,
    budget: &'b RenderBudget,
}

impl LossCheck<'_> {
    fn mapping(
        &mut self,
        object: Option<&PlacedValue>,
        patch: &PlacedValue,
        of: Option<KnownType<'_>>,
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
                PlacedContent::Mapping(_) => self.mapping(old, value, inner)?,
                PlacedContent::Sequence(items) => self.list(old, value, items, list.as_ref(), inner)?,
                PlacedContent::Scalar(_) => {}
            }
            self.path.pop();
        }
        Ok(())
    }

    fn list(
        &mut self,
        object: Option<&PlacedValue>,
        patch: &PlacedValue,
        items: &[PlacedValue],
        how: Option<&ListMerge>,
        of: Option<KnownType<'_>>,
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
                return Err(PatchMisfit::new(
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
        let old = object.map(PlacedValue::items).unwrap_or_default();
        self.budget.pairs(old.len(), items.len(), &patch.place)?;
        for (index, key) in keys.iter().enumerate() {
            let have = old.iter().chain(items).filter(|item| item.field(key).is_some()).count();
            if index == 0 {
                if let Some(item) = items.iter().find(|item| item.field(key).is_none()) {
                    return Err(PatchMisfit::new(
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
                return Err(PatchMisfit::new(
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
            let same = |other: &&PlacedValue| {
                other.field(first).map(PlacedValue::written) == item.field(first).map(PlacedValue::written)
            };
            self.mapping(old.iter().find(same), item, of)?;
        }
        Ok(())
    }
}

fn refuse_unknown(patch: &PlacedValue) -> Result<(), PatchMisfit> {
    let known = ["$retainKeys", "$setElementOrder/", "$deleteFromPrimitiveList/"];
    match patch.entries().iter().find(|(key, _)| known.iter().any(|start| key.starts_with(start))) {
        Some((key, value)) => Err(PatchMisfit::new(
            &value.place,
            format!("the directive `{key}` is not supported, also not by kustomize: write the list out"),
        )),
        None => Ok(()),
    }
}
