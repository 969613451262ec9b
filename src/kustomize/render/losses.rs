//! What kustomize would lose, or leave standing, of a strategic merge patch.
//!
//! Overlay files without a kustomization are read by nobody but Capstan: there such a patch is told
//! instead of imitated.

use super::directive::{DIRECTIVE, Directive};
use super::list_merge::ListMerge;
use super::placed::{Content, Placed};
use super::schema::{Schemas, Type};
use super::strategic::deletes;
use super::walked::Misfit;

/// Looks through a patch of an object, or one that joins as an object of its own.
pub(super) fn refuse(object: Option<&Placed>, patch: &Placed, schemas: &Schemas) -> Result<(), Misfit> {
    if Directive::of(patch)? == Directive::Replace {
        return Err(Misfit::new(
            &patch.place,
            "kustomize does not replace whole objects (`$patch: replace`): delete the object and add another",
        ));
    }
    let named = object.unwrap_or(patch);
    let text = |key: &str| named.text_at(&[key]).unwrap_or_default();
    let of = schemas.of(text("apiVersion"), text("kind"));
    Check { path: Vec::new() }.mapping(object, patch, of)
}

struct Check {
    path: Vec<String>,
}

impl Check {
    fn mapping(
        &mut self,
        object: Option<&Placed>,
        patch: &Placed,
        of: Option<Type<'_>>,
    ) -> Result<(), Misfit> {
        refuse_unknown(patch)?;
        Directive::of(patch)?;
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
    ) -> Result<(), Misfit> {
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
                        "`$patch` has no meaning here in `{}`: a list without merge key is replaced whole, write it out",
                        self.path.join(".")
                    ),
                ));
            }
        }
        let Some(keys) = keys else { return Ok(()) };
        let old = object.map(Placed::items).unwrap_or_default();
        for (index, key) in keys.iter().enumerate() {
            let have = old.iter().chain(items).filter(|item| item.field(key).is_some()).count();
            if index == 0 {
                if let Some(item) = items.iter().find(|item| item.field(key).is_none()) {
                    return Err(Misfit::new(
                        &item.place,
                        format!(
                            "an item of `{}` is found by `{key}`, and this one has none: add it",
                            self.path.join(".")
                        ),
                    ));
                }
            } else if have > 0 && have < old.len() + items.len() {
                let there = object.map_or(&patch.place, |object| &object.place);
                return Err(Misfit::new(
                    &patch.place,
                    format!(
                        "some items of `{}` have `{key}` and others have not, and kustomize then loses some: give it to all of them, here and in the object ({} line {})",
                        self.path.join("."),
                        there.file(),
                        there.position().line
                    ),
                ));
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
            format!("the directive `{key}` is not supported, by kustomize neither: write the list out"),
        )),
        None => Ok(()),
    }
}
