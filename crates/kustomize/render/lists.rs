//! The keys of a list's items where no schema names them.

use std::collections::BTreeSet;

use super::placed::PlacedValue;

/// The fields whose texts identify an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemKey(&'static [&'static str]);

/// Tried in this order: containers, apps, variables, workers; files; taints.
const KEYS: [ItemKey; 3] = [ItemKey(&["name"]), ItemKey(&["path"]), ItemKey(&["key", "effect"])];

impl ItemKey {
    fn of<'a>(&self, item: &'a PlacedValue) -> Option<Vec<&'a str>> {
        self.0.iter().map(|field| item.text_at(&[field])).collect()
    }

    /// Whether two items are the same one.
    pub fn same(&self, one: &PlacedValue, other: &PlacedValue) -> bool {
        let key = self.of(one);
        key.is_some() && key == self.of(other)
    }

    fn unique_in(&self, items: &[PlacedValue]) -> bool {
        let mut seen = BTreeSet::new();
        items.iter().all(|item| self.of(item).is_some_and(|key| seen.insert(key)))
    }
}

/// The key that every item of both lists has, each another; `None` where there is none.
pub fn key_of_both(one: &[PlacedValue], other: &[PlacedValue]) -> Option<ItemKey> {
    if one.is_empty() && other.is_empty() {
        return None;
    }
    KEYS.into_iter().find(|key| key.unique_in(one) && key.unique_in(other))
}
