//! Lists that a strategic merge patch merges item by item.
//!
//! Kustomize's own algorithm, step for step
//! (<https://github.com/kubernetes-sigs/kustomize/blob/master/kyaml/yaml/walk/associative_sequence.go>):
//! what it does with items that lack a key, or have it twice, follows from the steps and from nothing else.

use super::budget::RenderBudget;
use super::directive::{DIRECTIVE, Directive};
use super::list_merge::ListMerge;
use super::placed::{PlacedContent, PlacedValue};
use super::walked::{PatchMisfit, Unapplied, Walked};

/// Merges an item of the patch into the object's.
type MergeItem<'m> =
    dyn FnMut(Option<&mut PlacedValue>, Option<&PlacedValue>) -> Result<Walked, Unapplied> + 'm;

/// Steps of looking at an item of a list, moving it included.
const LOOKS: usize = 8;

/// Texts of an item, one for each key; empty where it has none.
type ItemTexts = Vec<String>;

/// Merges a list of the patch, or the object's alone, into the object's, item by item.
pub(super) fn walk(
    merge_item: &mut MergeItem<'_>,
    object: Option<&mut PlacedValue>,
    patch: Option<&PlacedValue>,
    how: &ListMerge,
    budget: &RenderBudget,
) -> Result<Walked, Unapplied> {
    let Some(object) = object.filter(|value| !value.is_null()) else {
        return patch.map_or(Ok(Walked::Gone), |patch| on_its_own(merge_item, patch, how, budget));
    };
    let Some(patch) = patch else {
        merge_items(merge_item, object, None, how, budget)?;
        return Ok(Walked::Same);
    };
    if patch.is_null() {
        return Ok(Walked::Gone);
    }
    match Directive::of_list(patch.items())? {
        Some(Directive::Delete) => Ok(Walked::Gone),
        Some(Directive::Replace) => on_its_own(merge_item, &without_directive(patch), how, budget),
        Some(Directive::Merge) => {
            merge_items(merge_item, object, Some(without_directive(patch).items()), how, budget)?;
            Ok(Walked::Same)
        }
        None => {
            merge_items(merge_item, object, Some(patch.items()), how, budget)?;
            Ok(Walked::Same)
        }
    }
}

fn without_directive(list: &PlacedValue) -> PlacedValue {
    let items = list.items().iter().filter(|item| item.field(DIRECTIVE).is_none()).cloned().collect();
    PlacedValue { place: list.place.clone(), content: PlacedContent::Sequence(items) }
}

/// A list that is new is merged with itself.
fn on_its_own(
    merge_item: &mut MergeItem<'_>,
    patch: &PlacedValue,
    how: &ListMerge,
    budget: &RenderBudget,
) -> Result<Walked, Unapplied> {
    let mut list = patch.clone();
    merge_items(merge_item, &mut list, Some(patch.items()), how, budget)?;
    Ok(Walked::Other(list))
}

fn merge_items(
    merge_item: &mut MergeItem<'_>,
    object: &mut PlacedValue,
    patch: Option<&[PlacedValue]>,
    how: &ListMerge,
    budget: &RenderBudget,
) -> Result<(), Unapplied> {
    let place = patch.and_then(<[PlacedValue]>::first).map_or(&object.place, |item| &item.place).clone();
    let PlacedContent::Sequence(items) = &mut object.content else { return Ok(()) };
    // Every item is looked for among all, by each key.
    let count = items.len() + patch.map_or(0, <[PlacedValue]>::len);
    budget.pairs(count, count.saturating_mul(LOOKS), &place)?;
    let keys = match how {
        ListMerge::ByKey(keys) => keys.clone(),
        ListMerge::Union => vec![String::new()],
    };
    let mut all = texts_of(patch.unwrap_or_default(), items, &keys);
    if keys.len() > 1 {
        unify(&mut all);
    }
    let mut merged: Vec<PlacedValue> = Vec::new();
    let mut used = keys.clone();
    for texts in &all {
        let (valid, wanted) = valid_keys(&all, texts, &keys);
        let (some, some_texts) = valid_keys(std::slice::from_ref(&wanted), &wanted, &valid);
        let there = find(items, &some, &some_texts);
        let new = patch.and_then(|patch| patch.get(find(patch, &some, &some_texts)?));
        let walked = merge_item(there.and_then(|at| items.get_mut(at)), new)?;
        used.clone_from(&valid);
        let value = match walked {
            Walked::Gone => None,
            Walked::Same => {
                there.and_then(|at| items.get_mut(at)).map(|item| with_keys(item, &valid, &wanted).clone())
            }
            Walked::Other(mut value) => Some(with_keys(&mut value, &valid, &wanted).clone()),
        };
        match value.filter(|value| !is_missing(value)) {
            Some(value) => set(&mut merged, Some(&value), &valid, &wanted, budget)?,
            None => set(items, None, &valid, &wanted, budget)?,
        }
    }
    if !all.is_empty() {
        append(&mut merged, items, &used, budget)?;
        *items = merged;
    }
    Ok(())
}

/// The keys of both lists' items, each once, the patch's first.
fn texts_of(patch: &[PlacedValue], object: &[PlacedValue], keys: &[String]) -> Vec<ItemTexts> {
    let mut all: Vec<ItemTexts> = Vec::new();
    for item in patch.iter().chain(object) {
        let text = |key: &String| match key.as_str() {
            "" => item.written().into_owned(),
            key => item
                .field(key)
                .filter(|value| !value.is_empty())
                .map_or_else(String::new, |value| value.written().into_owned()),
        };
        let texts: ItemTexts = keys.iter().map(text).collect();
        if !all.contains(&texts) {
            all.push(texts);
        }
    }
    all
}

/// Two that agree in one key, and in the others as far as both have them, are one.
fn unify(all: &mut [ItemTexts]) {
    for one in 0..all.len() {
        let Some(first) = all.get(one).cloned() else { continue };
        for other in 0..all.len() {
            let Some(second) = all.get(other) else { continue };
            if let Some(both) = united(&first, second) {
                for at in [one, other] {
                    if let Some(texts) = all.get_mut(at) {
                        texts.clone_from(&both);
                    }
                }
            }
        }
    }
}

fn united(one: &ItemTexts, other: &ItemTexts) -> Option<ItemTexts> {
    let mut both = ItemTexts::with_capacity(one.len());
    let mut common = false;
    for (a, b) in one.iter().zip(other) {
        if a == b {
            common = true;
        } else if !a.is_empty() && !b.is_empty() {
            return None;
        }
        both.push(if a.is_empty() { b.clone() } else { a.clone() });
    }
    common.then_some(both)
}

/// The keys that some item has, and this item's texts for them; all keys where no item has any.
fn valid_keys(all: &[ItemTexts], texts: &ItemTexts, keys: &[String]) -> (Vec<String>, ItemTexts) {
    let is_valid = |at: usize| all.iter().any(|texts| texts.get(at).is_some_and(|text| !text.is_empty()));
    if !(0..keys.len()).any(is_valid) {
        return (keys.to_vec(), texts.clone());
    }
    let chosen: Vec<usize> = (0..keys.len()).filter(|at| is_valid(*at)).collect();
    let pick = |from: &[String]| chosen.iter().filter_map(|at| from.get(*at).cloned()).collect();
    (pick(keys), pick(texts))
}

/// The first item that has these texts.
fn find(items: &[PlacedValue], keys: &[String], texts: &ItemTexts) -> Option<usize> {
    let first = keys.first().map_or("", String::as_str);
    items.iter().position(|item| {
        if first.is_empty() {
            return texts.first().is_some_and(|text| item.written() == text.as_str());
        }
        item.is_mapping()
            && keys
                .iter()
                .zip(texts)
                .all(|(key, text)| item.field(key).is_some_and(|value| value.written() == text.as_str()))
    })
}

/// The item with its keys written out.
fn with_keys<'i>(item: &'i mut PlacedValue, keys: &[String], texts: &ItemTexts) -> &'i mut PlacedValue {
    if item.is_mapping() && !is_missing(item) {
        let place = item.place.clone();
        for (key, text) in keys.iter().zip(texts) {
            if item.field(key).is_none() && !text.is_empty() {
                let content = PlacedContent::Scalar(super::scalar::resolve(text));
                item.set(key, PlacedValue { place: place.clone(), content });
            }
        }
    }
    item
}

fn is_missing(item: &PlacedValue) -> bool {
    item.is_null() || (item.is_mapping() && item.entries().is_empty())
}

/// Puts an item in the place of those that have these texts, or at the end; without an item those are
/// taken out.
fn set(
    list: &mut Vec<PlacedValue>,
    new: Option<&PlacedValue>,
    keys: &[String],
    texts: &[String],
    budget: &RenderBudget,
) -> Result<(), Unapplied> {
    let of_mappings =
        keys.first().is_some_and(|key| !key.is_empty()) && texts.first().is_some_and(|text| !text.is_empty());
    let mut kept = Vec::with_capacity(list.len() + 1);
    let mut found = false;
    for item in list.drain(..) {
        if is_missing(&item) {
            continue;
        }
        if !item.is_mapping() && of_mappings {
            kept.push(item);
            continue;
        }
        if matches(&item, keys, texts)? {
            if let Some(new) = new {
                // It takes the place of another, and then of more.
                if found {
                    budget.value(new, &new.place)?;
                }
                kept.push(new.clone());
            }
            found = true;
        } else if !texts.is_empty() {
            kept.push(item);
        }
    }
    if let Some(new) = new.filter(|_| !found) {
        kept.push(new.clone());
    }
    *list = kept;
    Ok(())
}

fn matches(item: &PlacedValue, keys: &[String], texts: &[String]) -> Result<bool, PatchMisfit> {
    let mut last = false;
    for (at, key) in keys.iter().enumerate() {
        if let Some(text) = texts.get(at) {
            last = if key.is_empty() {
                if !matches!(item.content, PlacedContent::Scalar(_)) {
                    return Err(PatchMisfit::new(
                        &item.place,
                        "this list has single values, but this is not one: make them agree",
                    ));
                }
                item.written() == text.as_str()
            } else {
                if !item.is_mapping() {
                    return Err(PatchMisfit::new(
                        &item.place,
                        "the items of this list are mappings, but this is not one",
                    ));
                }
                item.field(key).is_some_and(|value| text.is_empty() || value.written() == text.as_str())
            };
        }
        if !last {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Puts the object's items behind the merged ones, or in their place where they have the same texts.
fn append(
    merged: &mut Vec<PlacedValue>,
    items: &[PlacedValue],
    keys: &[String],
    budget: &RenderBudget,
) -> Result<(), Unapplied> {
    for item in items {
        if keys.first().is_some_and(String::is_empty) {
            set(merged, Some(item), keys, &[item.written().into_owned()], budget)?;
            continue;
        }
        if !item.is_null() && !item.is_mapping() {
            let why = "the items of this list are mappings, but this is not one";
            return Err(PatchMisfit::new(&item.place, why).into());
        }
        let mut texts = ItemTexts::new();
        for key in keys {
            match item.field(key) {
                Some(value) => texts.push(value.written().into_owned()),
                // Once for each key that it lacks.
                None => {
                    budget.value(item, &item.place)?;
                    merged.push(item.clone());
                }
            }
        }
        if keys.len() > 1 {
            set(merged, None, keys, &texts, budget)?;
        }
        set(merged, Some(item), keys, &texts, budget)?;
    }
    Ok(())
}
