//! A map that holds no more than so many bytes.

use std::collections::HashMap;
use std::hash::Hash;

/// Values with their size. When there is no room, what the present round did not ask for goes; a value
/// for which that makes no room is not kept. So a round that asks for more than fits, always in the
/// same order, finds again what did fit, where "the oldest goes first" would find nothing.
pub(super) struct Bounded<K, V> {
    budget: usize,
    used: usize,
    round: u64,
    /// The round in which the others were last thrown out.
    swept: u64,
    entries: HashMap<K, Entry<V>>,
    /// Groups that were asked for as a whole, and when.
    groups: HashMap<usize, u64>,
}

struct Entry<V> {
    value: V,
    bytes: usize,
    round: u64,
    group: usize,
}

impl<K: Eq + Hash, V: Clone> Bounded<K, V> {
    pub(super) fn new(budget: usize) -> Self {
        Self { budget, used: 0, round: 1, swept: 0, entries: HashMap::new(), groups: HashMap::new() }
    }

    pub(super) const fn begin_round(&mut self) {
        self.round += 1;
    }

    pub(super) fn get(&mut self, key: &K) -> Option<V> {
        let entry = self.entries.get_mut(key)?;
        entry.round = self.round;
        Some(entry.value.clone())
    }

    /// Asks for all values of a group at once, whoever holds them.
    pub(super) fn want_group(&mut self, group: usize) {
        self.groups.insert(group, self.round);
    }

    pub(super) fn keep(&mut self, key: K, value: V, bytes: usize, group: usize) {
        if let Some(old) = self.entries.remove(&key) {
            self.used -= old.bytes;
        }
        if self.used + bytes > self.budget && self.swept < self.round {
            self.swept = self.round;
            let round = self.round;
            self.groups.retain(|_, asked| *asked == round);
            self.entries.retain(|_, entry| entry.round == round || self.groups.contains_key(&entry.group));
            self.used = self.entries.values().map(|entry| entry.bytes).sum();
        }
        if self.used + bytes <= self.budget {
            self.used += bytes;
            self.entries.insert(key, Entry { value, bytes, round: self.round, group });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_present_round_did_not_ask_for_makes_room() {
        let mut map = Bounded::new(30);
        map.keep("a", 1, 10, 0);
        map.keep("b", 2, 10, 0);
        map.begin_round();
        assert_eq!(map.get(&"b"), Some(2));
        map.keep("c", 3, 15, 0);
        assert_eq!((map.get(&"a"), map.get(&"b"), map.get(&"c")), (None, Some(2), Some(3)));
        map.keep("d", 4, 10, 0);
        assert_eq!(map.get(&"d"), None, "there is no room left in this round");
    }

    #[test]
    fn a_round_that_does_not_fit_finds_again_what_did() {
        let mut map = Bounded::new(30);
        for _ in 0..3 {
            map.begin_round();
            for key in 0..5 {
                if map.get(&key).is_none() {
                    map.keep(key, key, 10, 0);
                }
            }
        }
        assert_eq!([0, 1, 2, 3, 4].map(|key| map.get(&key).is_some()), [true, true, true, false, false]);
    }

    #[test]
    fn a_group_that_was_asked_for_as_a_whole_stays() {
        let mut map = Bounded::new(30);
        map.keep("a", 1, 10, 7);
        map.keep("b", 2, 10, 8);
        map.begin_round();
        map.want_group(7);
        map.keep("c", 3, 15, 7);
        assert_eq!((map.get(&"a"), map.get(&"b"), map.get(&"c")), (Some(1), None, Some(3)));
    }

    #[test]
    fn a_new_value_takes_the_place_of_the_old_one() {
        let mut map = Bounded::new(10);
        map.keep("a", 1, 10, 0);
        map.keep("a", 2, 9, 0);
        assert_eq!(map.get(&"a"), Some(2));
        map.keep("a", 3, 11, 0);
        assert_eq!(map.get(&"a"), None);
    }
}
