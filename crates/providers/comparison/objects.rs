//! Objects and definitions of a provider, before and after.

use std::collections::BTreeMap;

use capstan_model::object::ObjectId;
use serde_json::Value;

use super::change::{DefinitionChange, ProviderChange};
use crate::definitions::{CrdDefinition, difference};
use crate::objects::id_of;
use crate::state::RenderedComponents;

/// Definitions are never taken away with a provider: the objects of their kinds would go with them.
const STAYS: &str = "CustomResourceDefinition";

pub(super) fn compare(
    old: Option<&RenderedComponents>,
    new: Option<&RenderedComponents>,
    change: &mut ProviderChange,
) {
    let (old, new) = (index(old), index(new));
    for (id, value) in &new {
        match old.get(id) {
            None => change.objects.add.push(id.clone()),
            Some(before) if before != value => {
                change.objects.change.push(id.clone());
                change.crds.extend(definition(before, value));
            }
            Some(_) => {}
        }
    }
    let gone = old.into_keys().filter(|id| !new.contains_key(id) && id.kind != STAYS);
    change.objects.remove = gone.collect();
}

fn index(components: Option<&RenderedComponents>) -> BTreeMap<ObjectId, &Value> {
    let objects = components.into_iter().flat_map(|components| &components.objects);
    objects.map(|object| (id_of(object), object)).collect()
}

fn definition(before: &Value, after: &Value) -> Option<DefinitionChange> {
    let (before, after) = (CrdDefinition::read(before)?, CrdDefinition::read(after)?);
    let found = difference(&before, &after);
    (!found.is_empty()).then(|| DefinitionChange {
        name: after.name.to_owned(),
        versions: found.versions,
        added: found.added,
        gone: found.gone,
        narrowed: found.narrowed,
    })
}
