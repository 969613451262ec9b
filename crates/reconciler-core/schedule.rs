//! When which cluster is reconciled. Times and random numbers are passed in.

use std::collections::BTreeMap;
use std::ops::{Add, Sub};
use std::time::Duration;

use capstan_model::doubling::Doubling;
use capstan_model::ids::ClusterId;

use crate::requeue::Requeue;

/// Several changes in a row give one reconciliation.
const SETTLE: Duration = Duration::from_secs(1);
/// The pauses before the reconciliations of a cluster whose objects are changed again and again: by a controller that writes
/// to them all the time, or one that wants something else than Git.
const SETTLES: Doubling = Doubling::new(SETTLE, Duration::from_secs(30));
/// Changes that are followed by a reconciliation at once; each further one doubles the pause.
const AT_ONCE: u32 = 3;
/// For so long nothing may have changed for the next change to be a first one.
const CALM: Duration = Duration::from_secs(60);
/// Somebody waits for machines, or for something that passes by itself.
const SOON: Duration = Duration::from_secs(15);
/// The first pause after a failure.
const FIRST_BACKOFF: Duration = Duration::from_secs(5);
/// 5 s, 10 s, 20 s … 10 min.
const BACKOFFS: Doubling = Doubling::new(FIRST_BACKOFF, Duration::from_secs(600));

/// A point in time, as a clock tells it.
pub trait Time: Copy + Ord + Add<Duration, Output = Self> + Sub<Self, Output = Duration> {}

impl<T: Copy + Ord + Add<Duration, Output = T> + Sub<T, Output = Duration>> Time for T {}

/// Turns of all clusters of a Fleet.
#[derive(Debug)]
pub struct Schedule<T> {
    entries: BTreeMap<ClusterId, ScheduleEntry<T>>,
}

impl<T> Default for Schedule<T> {
    fn default() -> Self {
        Self { entries: BTreeMap::new() }
    }
}

#[derive(Debug)]
struct ScheduleEntry<T> {
    due: T,
    state: EntryState,
    failures: u32,
    stirs: Stirs<T>,
}

/// Changes of live objects that have led to reconciliations.
#[derive(Debug, Clone, Copy)]
struct Stirs<T> {
    count: u32,
    last: Option<T>,
    /// The reconciliation for the last one has not begun.
    is_pending: bool,
}

impl<T> ScheduleEntry<T> {
    const fn new(due: T) -> Self {
        Self {
            due,
            state: EntryState::Waiting,
            failures: 0,
            stirs: Stirs { count: 0, last: None, is_pending: false },
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryState {
    Waiting,
    Running,
    /// Running, and asked for meanwhile.
    RunningAgain,
}

impl<T: Time> Schedule<T> {
    /// Keeps reconciliations for these clusters and no others. New ones are due at once.
    pub fn keep<'c>(&mut self, clusters: impl IntoIterator<Item = &'c ClusterId>, now: T) {
        let mut earlier = std::mem::take(&mut self.entries);
        for id in clusters {
            let entry = earlier.remove(id).unwrap_or(ScheduleEntry::new(now));
            self.entries.insert(id.clone(), entry);
        }
        // What runs is let run: its end is awaited.
        self.entries.extend(earlier.into_iter().filter(|(_, entry)| entry.state != EntryState::Waiting));
    }

    /// The cluster is due at that time at the latest. One that runs gets another reconciliation afterwards.
    pub fn ask(&mut self, id: &ClusterId, at: T) {
        if let Some(entry) = self.entries.get_mut(id) {
            match entry.state {
                EntryState::Waiting => entry.due = entry.due.min(at),
                EntryState::Running | EntryState::RunningAgain => entry.state = EntryState::RunningAgain,
            }
        }
    }

    /// The cluster is due at that time at the earliest, where it has not begun.
    pub fn put_off(&mut self, id: &ClusterId, until: T) {
        if let Some(entry) = self.entries.get_mut(id).filter(|entry| entry.state == EntryState::Waiting) {
            entry.due = entry.due.max(until);
        }
    }

    /// Somebody changed a live object of the cluster. It gets a reconciliation soon, and ever later while such changes
    /// continue.
    pub fn object_changed(&mut self, id: &ClusterId, now: T) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        let stirs = &mut entry.stirs;
        if !stirs.is_pending {
            let is_calm = stirs.last.is_none_or(|last| now - last > CALM);
            stirs.count = if is_calm { 1 } else { stirs.count.saturating_add(1) };
            stirs.last = Some(now);
            stirs.is_pending = true;
            let pause = SETTLES.after(stirs.count.saturating_sub(AT_ONCE).saturating_add(1));
            self.ask(id, now + pause);
        }
    }

    /// What is waited for has changed: the cluster gets a reconciliation soon.
    pub fn requeue_soon(&mut self, id: &ClusterId, now: T) {
        self.ask(id, now + SETTLE);
    }

    /// The failures of a cluster are forgotten: somebody changed what they may have come from.
    pub fn forgive(&mut self, id: &ClusterId) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.failures = 0;
        }
    }

    /// Whether the cluster is reconciled now.
    pub fn runs(&self, id: &ClusterId) -> bool {
        self.entries.get(id).is_some_and(|entry| entry.state != EntryState::Waiting)
    }

    /// When the next reconciliation is due that has not begun.
    pub fn next(&self) -> Option<T> {
        self.entries.values().filter(|entry| entry.state == EntryState::Waiting).map(|entry| entry.due).min()
    }

    /// Begins the reconciliation that has been due longest.
    pub fn begin(&mut self, now: T) -> Option<ClusterId> {
        let waiting = self.entries.iter_mut().filter(|(_, entry)| entry.state == EntryState::Waiting);
        let (id, entry) = waiting.min_by_key(|(_, entry)| entry.due).filter(|(_, entry)| entry.due <= now)?;
        entry.state = EntryState::Running;
        entry.stirs.is_pending = false;
        Some(id.clone())
    }

    /// Ends a reconciliation. `chance` is a random number from 0 to 1, so that clusters do not move in step.
    pub fn end(&mut self, id: &ClusterId, need: Requeue, interval: Duration, chance: f64, now: T) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        let again = entry.state == EntryState::RunningAgain;
        entry.state = EntryState::Waiting;
        entry.failures = match need {
            Requeue::Retry => entry.failures.saturating_add(1),
            Requeue::NotBegun => entry.failures,
            Requeue::Usual | Requeue::Soon | Requeue::Now => 0,
        };
        let pause = match need {
            Requeue::Usual | Requeue::NotBegun => spread(interval, chance),
            Requeue::Soon => spread(SOON.min(interval), chance),
            Requeue::Now => Duration::ZERO,
            Requeue::Retry => spread(BACKOFFS.after(entry.failures).min(interval.max(FIRST_BACKOFF)), chance),
        };
        // Something that fails is not hurried by events that its own failures may cause.
        entry.due = if again && need != Requeue::Retry { now } else { now + pause };
    }
}

/// Nine to eleven tenths of a pause.
fn spread(pause: Duration, chance: f64) -> Duration {
    pause.mul_f64(0.9 + 0.2 * chance.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use capstan_model::tree::RepoPath;

    use super::*;

    const INTERVAL: Duration = Duration::from_secs(300);

    fn id(text: &str) -> ClusterId {
        ClusterId::new(RepoPath::parse(text).unwrap())
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_new_cluster_is_due_at_once_and_then_at_its_interval() {
        let (mut schedule, now) = (Schedule::default(), Duration::from_secs(1_000));
        schedule.keep([&id("a")], now);
        assert_eq!(schedule.begin(now), Some(id("a")));
        assert_eq!(schedule.begin(now), None);
        schedule.end(&id("a"), Requeue::Usual, INTERVAL, 0.5, now);
        assert_eq!(schedule.next(), Some(now + seconds(300)));
        assert_eq!(schedule.begin(now + seconds(299)), None);
        assert_eq!(schedule.begin(now + seconds(300)), Some(id("a")));
    }

    #[test]
    fn intervals_are_spread_by_a_tenth() {
        let (mut schedule, now) = (Schedule::default(), Duration::from_secs(1_000));
        for (chance, expected) in [(0.0, 270), (1.0, 330)] {
            schedule.keep([&id("a")], now);
            schedule.ask(&id("a"), now);
            schedule.begin(now).unwrap();
            schedule.end(&id("a"), Requeue::Usual, INTERVAL, chance, now);
            assert_eq!(schedule.next(), Some(now + seconds(expected)));
        }
    }

    #[test]
    fn a_cluster_requested_while_it_runs_runs_again_at_once() {
        let (mut schedule, now) = (Schedule::default(), Duration::from_secs(1_000));
        schedule.keep([&id("a")], now);
        schedule.begin(now).unwrap();
        schedule.ask(&id("a"), now);
        schedule.end(&id("a"), Requeue::Usual, INTERVAL, 0.5, now + seconds(1));
        assert_eq!(schedule.next(), Some(now + seconds(1)));
    }

    #[test]
    fn failures_double_the_pause_up_to_ten_minutes() {
        let (mut schedule, now) = (Schedule::default(), Duration::from_secs(1_000));
        schedule.keep([&id("a")], now);
        let mut pauses = Vec::new();
        for _ in 0..9 {
            schedule.ask(&id("a"), now);
            schedule.begin(now).unwrap();
            // Events meanwhile do not hurry what fails.
            schedule.ask(&id("a"), now);
            schedule.end(&id("a"), Requeue::Retry, seconds(3600), 0.5, now);
            pauses.push((schedule.next().unwrap() - now).as_secs());
        }
        assert_eq!(pauses, [5, 10, 20, 40, 80, 160, 320, 600, 600]);
        schedule.forgive(&id("a"));
        schedule.ask(&id("a"), now);
        schedule.begin(now).unwrap();
        schedule.end(&id("a"), Requeue::Retry, seconds(3600), 0.5, now);
        assert_eq!(schedule.next(), Some(now + seconds(5)));
    }

    #[test]
    fn what_was_not_begun_forgets_no_failure() {
        let (mut schedule, now) = (Schedule::default(), Duration::from_secs(1_000));
        schedule.keep([&id("a")], now);
        for (need, pause) in [
            (Requeue::Retry, 5),
            (Requeue::NotBegun, 3600),
            (Requeue::Retry, 10),
            (Requeue::Usual, 3600),
            (Requeue::Retry, 5),
        ] {
            schedule.ask(&id("a"), now);
            schedule.begin(now).unwrap();
            schedule.end(&id("a"), need, seconds(3600), 0.5, now);
            assert_eq!(schedule.next(), Some(now + seconds(pause)), "{need:?}");
        }
    }

    #[test]
    fn a_cluster_that_keeps_changing_gets_turns_less_often() {
        let (mut schedule, mut now) = (Schedule::default(), Duration::from_secs(1_000));
        schedule.keep([&id("a")], now);
        let mut pauses = Vec::new();
        let mut reconcile = |schedule: &mut Schedule<Duration>, now: &mut Duration| {
            schedule.object_changed(&id("a"), *now);
            // What changes until then is seen by the same reconciliation.
            schedule.object_changed(&id("a"), *now + Duration::from_millis(500));
            let due = schedule.next().unwrap();
            pauses.push((due - *now).as_secs());
            *now = due;
            schedule.begin(*now).unwrap();
            schedule.end(&id("a"), Requeue::Usual, INTERVAL, 0.5, *now);
        };
        schedule.begin(now).unwrap();
        schedule.end(&id("a"), Requeue::Usual, INTERVAL, 0.5, now);
        for _ in 0..9 {
            reconcile(&mut schedule, &mut now);
        }
        now += seconds(61);
        reconcile(&mut schedule, &mut now);
        assert_eq!(pauses, [1, 1, 1, 2, 4, 8, 16, 30, 30, 1]);
    }

    #[test]
    fn the_cluster_that_waited_longest_comes_first() {
        let (mut schedule, now) = (Schedule::default(), Duration::from_secs(1_000));
        schedule.keep([&id("b")], now);
        schedule.keep([&id("a"), &id("b")], now + seconds(1));
        assert_eq!(schedule.begin(now + seconds(2)), Some(id("b")));
        assert_eq!(schedule.begin(now + seconds(2)), Some(id("a")));
    }

    #[test]
    fn a_postponed_cluster_comes_after_the_others() {
        let (mut schedule, now) = (Schedule::default(), Duration::from_secs(1_000));
        schedule.keep([&id("a"), &id("b")], now);
        schedule.put_off(&id("a"), now + seconds(1));
        assert_eq!(schedule.begin(now + seconds(9)), Some(id("b")));
        assert_eq!(schedule.begin(now + seconds(9)), Some(id("a")));
    }

    #[test]
    fn a_cluster_that_is_gone_gets_no_turn_but_may_end_the_one_it_has() {
        let (mut schedule, now) = (Schedule::default(), Duration::from_secs(1_000));
        schedule.keep([&id("a"), &id("b")], now);
        assert_eq!(schedule.begin(now), Some(id("a")));
        schedule.keep([], now);
        assert!(schedule.runs(&id("a")));
        assert_eq!(schedule.next(), None);
        schedule.end(&id("a"), Requeue::Usual, INTERVAL, 0.5, now);
        schedule.keep([], now);
        assert_eq!(schedule.next(), None);
    }
}
