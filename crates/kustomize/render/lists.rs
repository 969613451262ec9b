//! By what the items of a list are told apart where no schema says it.

use std::collections::BTreeSet;

use super::placed::Placed;

/// The fields whose texts identify an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemKey(&'static [&'static str]);

/// Tried in this order: containers, apps, variables, workers; files; taints.
const KEYS: [ItemKey; 3] = [ItemKey(&["name"]), ItemKey(&["path"]), ItemKey(&["key", "effect"])];

impl ItemKey {
    fn of<'a>(&self, item: &'a Placed) -> Option<Vec<&'a str>> {
        self.0.iter().map(|field| item.text_at(&[field])).collect()
    }

    /// Whether two items are the same one.
    pub fn same(&self, one: &Placed, other: &Placed) -> bool {
        let key = self.of(one);
        key.is_some() && key == self.of(other)
    }

    fn unique_in(&self, items: &[Placed]) -> bool {
        let mut seen = BTreeSet::new();
        items.iter().all(|item| self.of(item).is_some_and(|key| seen.insert(key)))
    }
}

/// The key that every item of both lists has, each another; `None` where there is none.
pub fn key_of_both(one: &[Placed], other: &[Placed]) -> Option<ItemKey> {
    if one.is_empty() && other.is_empty() {
        return None;
    }
    KEYS.into_iter().find(|key| key.unique_in(one) && key.unique_in(other))
}
