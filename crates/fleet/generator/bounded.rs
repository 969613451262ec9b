//! A map with a limit in bytes.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::time::{Duration, Instant};

/// Values that nobody asked for in this time are dropped: each repository is checked more often than that.
const IDLE: Duration = Duration::from_secs(6 * 60);
/// Of a group that another one took the place of: hardly anybody asks for it again.
const SUPERSEDED: Duration = Duration::from_secs(60);
/// How often it is looked for.
const LOOK: Duration = Duration::from_secs(60);

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
    groups: HashMap<usize, LastUse>,
    /// Groups that others took the place of.
    superseded: HashSet<usize>,
    /// When idle values were last dropped.
    looked: Instant,
}

struct Entry<V> {
    value: V,
    bytes: usize,
    asked: LastUse,
    group: usize,
}

/// When something was used last.
#[derive(Clone, Copy)]
struct LastUse {
    round: u64,
    at: Instant,
}

impl<K: Eq + Hash, V: Clone> Bounded<K, V> {
    pub(super) fn new(budget: usize) -> Self {
        let (entries, groups, superseded) = (HashMap::new(), HashMap::new(), HashSet::new());
        Self { budget, used: 0, round: 1, swept: 0, entries, groups, superseded, looked: Instant::now() }
    }

    pub(super) fn begin_round(&mut self) {
        self.round += 1;
        if self.looked.elapsed() >= LOOK {
            self.forget_idle(Instant::now());
        }
    }

    fn forget_idle(&mut self, now: Instant) {
        self.looked = now;
        let is_asked_within = |asked: &LastUse, time| now.saturating_duration_since(asked.at) < time;
        self.groups.retain(|_, asked| is_asked_within(asked, IDLE));
        let superseded = std::mem::take(&mut self.superseded);
        self.retain(|entry, groups| {
            let time = if superseded.contains(&entry.group) { SUPERSEDED } else { IDLE };
            is_asked_within(&entry.asked, time) || groups.contains_key(&entry.group)
        });
        let left: HashSet<usize> = self.entries.values().map(|entry| entry.group).collect();
        self.superseded = superseded.intersection(&left).copied().collect();
    }

    fn retain(&mut self, stays: impl Fn(&Entry<V>, &HashMap<usize, LastUse>) -> bool) {
        let groups = &self.groups;
        self.entries.retain(|_, entry| stays(entry, groups));
        self.used = self.entries.values().map(|entry| entry.bytes).sum();
    }

    fn now(&self) -> LastUse {
        LastUse { round: self.round, at: Instant::now() }
    }

    pub(super) fn get(&mut self, key: &K) -> Option<V> {
        let asked = self.now();
        let entry = self.entries.get_mut(key)?;
        entry.asked = asked;
        Some(entry.value.clone())
    }

    /// Marks all values of a group as asked for.
    pub(super) fn want_group(&mut self, group: usize) {
        self.superseded.remove(&group);
        self.groups.insert(group, self.now());
    }

    /// Another group takes the place of this one.
    pub(super) fn supersede(&mut self, group: usize) {
        self.groups.remove(&group);
        self.superseded.insert(group);
    }

    pub(super) fn keep(&mut self, key: K, value: V, bytes: usize, group: usize) {
        if let Some(old) = self.entries.remove(&key) {
            self.used -= old.bytes;
        }
        if self.used + bytes > self.budget && self.swept < self.round {
            self.swept = self.round;
            let round = self.round;
            self.groups.retain(|_, asked| asked.round == round);
            self.retain(|entry, groups| entry.asked.round == round || groups.contains_key(&entry.group));
        }
        if self.used + bytes <= self.budget {
            self.used += bytes;
            let asked = self.now();
            self.entries.insert(key, Entry { value, bytes, asked, group });
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
    fn what_nobody_asks_for_any_more_goes_though_there_is_room() {
        let mut map = Bounded::new(100);
        map.keep("a", 1, 10, 1);
        map.keep("b", 2, 10, 2);
        map.want_group(2);
        let now = Instant::now();
        map.forget_idle(now + IDLE / 2);
        assert_eq!(map.used, 20);
        map.groups.get_mut(&2).unwrap().at = now + IDLE / 2;
        map.forget_idle(now + IDLE + Duration::from_secs(1));
        assert_eq!((map.get(&"a"), map.get(&"b"), map.used), (None, Some(2), 10));
    }

    #[test]
    fn a_group_that_was_superseded_goes_soon_unless_it_is_asked_for_again() {
        let mut map = Bounded::new(100);
        for (group, key) in [(1, "a"), (2, "b"), (3, "c")] {
            map.keep(key, group, 10, group);
            map.want_group(group);
        }
        map.supersede(1);
        map.supersede(2);
        map.want_group(2);
        map.forget_idle(Instant::now() + SUPERSEDED / 2);
        assert_eq!(map.used, 30);
        map.forget_idle(Instant::now() + SUPERSEDED + Duration::from_secs(1));
        assert_eq!((map.get(&"a"), map.get(&"b"), map.get(&"c")), (None, Some(2), Some(3)));
        assert!(map.superseded.is_empty());
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
