//! Images, arguments and feature gates of a provider's containers, before and after.
//!
//! An argument may hold a credential, where its components put a variable there: a value of the config Secret is shown
//! as `${NAME}`.

use std::collections::{BTreeMap, BTreeSet};

use super::change::{ContainerChange, ProviderChange, ValueChange};
use crate::objects::id_of;
use crate::pods::{FEATURE_GATES, containers};
use crate::state::RenderedComponents;
use crate::variables::VariableValues;

/// What is known of containers, by container.
#[derive(Default)]
struct ContainerFacts {
    images: BTreeMap<String, String>,
    arguments: BTreeMap<(String, String), String>,
    gates: BTreeMap<(String, String), String>,
}

pub(super) fn compare(
    old: Option<&RenderedComponents>,
    new: Option<&RenderedComponents>,
    change: &mut ProviderChange,
) {
    let values = |components: Option<&RenderedComponents>| {
        components.map(|one| one.values.clone()).unwrap_or_default()
    };
    let (old_values, new_values) = (values(old), values(new));
    let (old, new) = (ContainerFacts::of(old), ContainerFacts::of(new));
    let images: BTreeSet<ValueChange> =
        differing(&old.images, &new.images).into_iter().map(|(_, change)| change).collect();
    change.images = images.into_iter().collect();
    let of = |((container, name), change): ((String, String), ValueChange)| ContainerChange {
        container,
        name,
        change,
    };
    change.feature_gates = differing(&old.gates, &new.gates).into_iter().map(of).collect();
    let arguments = differing(&old.arguments, &new.arguments).into_iter().map(of);
    change.arguments = arguments
        .map(|mut argument| {
            let ValueChange { from, to } = &mut argument.change;
            *from = from.take().map(|text| concealed(&text, &old_values));
            *to = to.take().map(|text| concealed(&text, &new_values));
            argument
        })
        .collect();
}

fn differing<K: Ord + Clone>(old: &BTreeMap<K, String>, new: &BTreeMap<K, String>) -> Vec<(K, ValueChange)> {
    let keys: BTreeSet<&K> = old.keys().chain(new.keys()).collect();
    let change = |key: &K| {
        let change = ValueChange { from: old.get(key).cloned(), to: new.get(key).cloned() };
        (change.from != change.to).then(|| (key.clone(), change))
    };
    keys.into_iter().filter_map(change).collect()
}

impl ContainerFacts {
    fn of(components: Option<&RenderedComponents>) -> Self {
        let mut known = Self::default();
        for object in components.into_iter().flat_map(|components| &components.objects) {
            let id = id_of(object);
            for container in containers(object) {
                let at = format!("{}/{}/{}", id.kind, id.name, container.name());
                if let Some(image) = container.image() {
                    known.images.insert(at.clone(), image.to_owned());
                }
                for (gate, says) in container.feature_gates() {
                    known.gates.insert((at.clone(), gate.to_owned()), says.to_owned());
                }
                for argument in container.arguments().filter(|text| !text.starts_with(FEATURE_GATES)) {
                    let (name, value) = match argument.split_once('=') {
                        Some((name, value)) if name.starts_with('-') => (name, value),
                        _ => (argument, ""),
                    };
                    // One that is given twice says both.
                    let said = known.arguments.entry((at.clone(), name.to_owned())).or_default();
                    if !said.is_empty() {
                        said.push_str(", ");
                    }
                    said.push_str(value);
                }
            }
        }
        known
    }
}

/// Values as short as these are words of arguments, and no credentials.
const SHORT: usize = 6;

/// A text with the names of variables where their values stand. The longest first: one may hold another.
fn concealed(text: &str, values: &VariableValues) -> String {
    let mut all: Vec<(&str, &str)> = values.iter().filter(|(_, value)| value.len() >= SHORT).collect();
    all.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
    all.into_iter().fold(text.to_owned(), |text, (name, value)| text.replace(value, &format!("${{{name}}}")))
}
