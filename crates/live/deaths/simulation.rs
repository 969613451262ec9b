//! Fleets, their processes and killers, simulated with a clock of numbers.
//!
//! *The model*: a fleet of 3, 8 or 50 folders, each worked on after each start and every five minutes, a tenth more or
//! less; four at a time, suspects a second behind the others. A turn takes half a second to five; of one folder in
//! twenty, 20 to 60 s. A process that died is there again after one to ten seconds. Times are milliseconds.
//!
//! *Kept* is a folder that has a place among the four and gets no turn, as long as a process lives: from there until
//! it gets one. *Undisturbed* is a folder that is never known to be bad, that is kept for no longer than half a minute,
//! and that loses no more than one turn in a row, of a minute at most: no end of one comes later than twelve minutes
//! after the last.

use capstan_test_support::random::{Random, seed};
use jiff::Timestamp;

use super::{DeathTurn, TurnStart, Turns};

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const PLACES: usize = 4;

/// Who kills.
#[derive(Debug, Clone, Copy)]
enum Killer {
    /// At random, that long apart on average.
    Random(i64),
    /// Within ten seconds after each start.
    AtStarts,
    /// In each turn of the first folder.
    OfOne,
    /// The first folder itself, that long after each of its turns began.
    Folder(i64),
    /// That, and at random.
    Both(i64, i64),
}

struct SimulatedFolder {
    name: String,
    /// How long its turns take.
    takes: i64,
    due: i64,
    /// When its turn now ends.
    ends: Option<i64>,
    /// Since when it is kept, as long as this process lives, and for how long it was before.
    kept_since: Option<i64>,
    kept: i64,
    /// The most of it, while there were kills, and after the last.
    most_kept: [i64; 2],
    /// When its last turn ended, and the longest that it was without.
    ended: i64,
    gap: i64,
    /// After how many deaths it was known.
    known: Option<usize>,
}

impl SimulatedFolder {
    fn note_kept(&mut self, now: i64, is_after: bool) {
        self.kept += self.kept_since.take().map_or(0, |since| now - since);
        let most = &mut self.most_kept[usize::from(is_after)];
        *most = (*most).max(self.kept);
    }
}

struct SimulatedFleet {
    random: Random,
    now: i64,
    turns: Turns,
    folders: Vec<SimulatedFolder>,
    killer: Killer,
    /// How many are left.
    kills: usize,
    deaths: usize,
}

fn at(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(milliseconds).unwrap()
}

impl SimulatedFleet {
    fn new(seed: u64, size: usize, killer: Killer, kills: usize) -> Self {
        let mut random = Random::new(seed);
        let mut folder = |index| SimulatedFolder {
            name: format!("fleet/{index:02}"),
            takes: if random.percent(5) {
                between(&mut random, 20, 60)
            } else {
                between(&mut random, 1, 10) / 2
            },
            due: 0,
            ends: None,
            kept_since: None,
            kept: 0,
            most_kept: [0; 2],
            ended: 0,
            gap: 0,
            known: None,
        };
        let folders: Vec<SimulatedFolder> = (0..size).map(&mut folder).collect();
        Self { random, now: 0, turns: Turns::default(), folders, killer, kills, deaths: 0 }
    }

    /// Processes one after another: until that time, or until the last kill has been survived for `survives`.
    fn run(&mut self, until: i64, survives: i64) {
        loop {
            let until = if self.kills == 0 { self.now + survives } else { until };
            if !self.live(until) {
                break;
            }
            self.deaths += 1;
            self.kills -= 1;
            let is_last = self.kills == 0;
            for folder in &mut self.folders {
                folder.ends = None;
                folder.note_kept(self.now, false);
                // What is beyond the kills begins with the last.
                folder.kept = if is_last { 0 } else { folder.kept };
            }
            self.now += between(&mut self.random, 1, 10);
        }
        let is_after = self.kills == 0;
        self.folders.iter_mut().for_each(|folder| folder.note_kept(self.now, is_after));
    }

    /// One process: whether it died before that time.
    fn live(&mut self, until: i64) -> bool {
        let suspects = self.turns.take_over(at(self.now));
        for folder in &mut self.folders {
            folder.due = self.now + if suspects.contains_key(folder.name.as_str()) { SECOND } else { 0 };
        }
        let mut dies = match self.killer {
            _ if self.kills == 0 => i64::MAX,
            Killer::Random(mean) | Killer::Both(_, mean) => self.now + exponential(&mut self.random, mean),
            Killer::AtStarts => self.now + between(&mut self.random, 0, 10),
            Killer::OfOne | Killer::Folder(_) => i64::MAX,
        };
        let mut beat = self.now;
        loop {
            while let Some(index) = self.due() {
                self.begin(index, &mut dies);
            }
            let is_tried = self.turns.folders.values().any(|folder| folder.turn == Some(DeathTurn::Tried));
            let next_beat = if is_tried { beat } else { i64::MAX };
            let is_room = self.running() < PLACES;
            let next = self.folders.iter().filter_map(|folder| folder.ends.or(is_room.then_some(folder.due)));
            self.now = next.chain([next_beat, dies, until]).min().unwrap().max(self.now);
            if self.now >= until || self.now >= dies {
                return self.now >= dies;
            }
            if self.now >= next_beat {
                self.turns.live(at(self.now));
                beat = self.now + SECOND;
            }
            self.end_turns();
        }
    }

    fn running(&self) -> usize {
        self.folders.iter().filter(|folder| folder.ends.is_some()).count()
    }

    /// The folder that has been due longest, where there is room for it.
    fn due(&self) -> Option<usize> {
        let due = |index: &usize| self.folders[*index].ends.is_none() && self.folders[*index].due <= self.now;
        let due = (0..self.folders.len()).filter(due).min_by_key(|index| self.folders[*index].due);
        due.filter(|_| self.running() < PLACES)
    }

    fn begin(&mut self, index: usize, dies: &mut i64) {
        let folder = &mut self.folders[index];
        match self.turns.begin(&folder.name, "1", at(self.now)) {
            TurnStart::Turn { .. } => {
                folder.note_kept(self.now, self.kills == 0);
                folder.kept = 0;
                folder.ends = Some(self.now + folder.takes);
                match self.killer {
                    Killer::OfOne if index == 0 && self.kills > 0 => {
                        *dies = self.now + between(&mut self.random, 0, 4).min(folder.takes);
                    }
                    Killer::Folder(after) | Killer::Both(after, _) if index == 0 => {
                        *dies = (*dies).min(self.now + after);
                        folder.ends = Some(*dies + 1);
                    }
                    _ => {}
                }
            }
            TurnStart::Wait(pause) => {
                folder.kept_since.get_or_insert(self.now);
                folder.due = self.now + i64::try_from(pause.as_millis()).unwrap();
            }
            TurnStart::Known { until, .. } => {
                folder.kept_since.get_or_insert(self.now);
                folder.known.get_or_insert(self.deaths);
                folder.due = until.as_millisecond();
            }
        }
    }

    fn end_turns(&mut self) {
        for folder in &mut self.folders {
            if folder.ends.is_some_and(|ends| ends <= self.now) {
                self.turns.end(&folder.name, at(self.now));
                folder.ends = None;
                folder.due = self.now + between(&mut self.random, 270, 330);
                folder.gap = folder.gap.max(self.now - folder.ended);
                folder.ended = self.now;
            }
        }
    }

    fn most(&self, of: impl Fn(&SimulatedFolder) -> i64) -> i64 {
        self.folders.iter().map(of).max().unwrap_or_default()
    }
}

/// A random time between these seconds, in milliseconds.
fn between(random: &mut Random, least: i64, most: i64) -> i64 {
    let width = usize::try_from((most - least) * SECOND).unwrap();
    least * SECOND + i64::try_from(random.below(width + 1)).unwrap()
}

/// How long until the next of what comes at random, that long apart on average.
fn exponential(random: &mut Random, mean: i64) -> i64 {
    // In steps of a fiftieth of it.
    let mut passed = 0;
    while random.below(50) > 0 {
        passed += mean / 50;
    }
    passed + i64::try_from(random.below(50)).unwrap() * mean / 2_500
}

#[test]
fn random_kills_keep_no_folder_for_longer_than_two_minutes_after_the_last_of_them() {
    let seed = seed();
    println!("CAPSTAN_SEED={seed}");
    let mut random = Random::new(seed);
    let killers = [5, 15, 60, 100].map(|mean| Killer::Random(mean * SECOND));
    for killer in killers.into_iter().chain([Killer::AtStarts]) {
        let (mut deaths, mut kept) = (0, [0; 2]);
        for _ in 0..2_000 {
            let (run, size) = (random.next(), *random.pick(&[3, 3, 8, 8, 8, 8, 8, 8, 8, 50]));
            let mut fleet = SimulatedFleet::new(run, size, killer, 1 + random.below(8));
            fleet.run(i64::MAX, 3 * MINUTE);
            deaths += fleet.deaths;
            for (most, which) in kept.iter_mut().zip([0, 1]) {
                *most = (*most).max(fleet.most(|folder| folder.most_kept[which]));
            }
            assert!(
                fleet.folders.iter().all(|folder| folder.known.is_none()),
                "{killer:?}, run {run}, of {size}"
            );
            assert!(kept[1] <= 2 * MINUTE, "{killer:?}, run {run}, of {size}: {} ms", kept[1]);
        }
        println!("{killer:?}: {deaths} deaths; kept for {} ms at most meanwhile, {} after", kept[0], kept[1]);
    }
}

#[test]
fn a_folder_at_whose_every_turn_somebody_kills_is_kept_no_longer_than_that_went_on() {
    let seed = seed();
    println!("CAPSTAN_SEED={seed}");
    let mut random = Random::new(seed);
    for (kills, most) in [(1, 1), (2, 2), (3, 2), (4, 2), (5, 4), (6, 8), (7, 16), (12, 16)] {
        for size in [3, 8, 50] {
            let mut fleet = SimulatedFleet::new(random.next(), size, Killer::OfOne, kills);
            fleet.run(i64::MAX, 20 * MINUTE);
            let [_, kept] = fleet.folders[0].most_kept;
            println!("{kills} kills, of {size}: {kept} ms");
            assert!(kept <= most * MINUTE, "{kills} kills, of {size}: {kept} ms");
        }
    }
}

#[test]
fn one_bad_folder_among_fifty_is_known_after_five_deaths_and_the_others_are_undisturbed() {
    let seed = seed();
    println!("CAPSTAN_SEED={seed}");
    let mut random = Random::new(seed);
    let (mut known, mut deaths, mut kept, mut gap) = (0, 0, 0, 0);
    for _ in 0..100 {
        let (run, after) = (random.next(), between(&mut random, 0, 3));
        let mut fleet = SimulatedFleet::new(run, 50, Killer::Folder(after), usize::MAX);
        fleet.run(HOUR, 0);
        let bad = fleet.folders.remove(0);
        let found = bad.known.unwrap_or(usize::MAX);
        assert!(found <= 5, "run {run}, after {after} ms: known after {found} deaths");
        assert!(fleet.folders.iter().all(|folder| folder.known.is_none()), "run {run}, after {after} ms");
        (known, deaths) = (known.max(found), deaths.max(fleet.deaths));
        (kept, gap) =
            (kept.max(fleet.most(|folder| folder.most_kept[0])), gap.max(fleet.most(|folder| folder.gap)));
    }
    println!(
        "known after {known} deaths of {deaths} in an hour; others kept for {kept} ms, without an end for {gap}"
    );
    assert!(kept <= 30 * SECOND && gap <= 12 * MINUTE, "{kept} ms, {gap} ms");
}

#[test]
fn a_bad_folder_among_random_kills_makes_nobody_else_known() {
    let seed = seed();
    println!("CAPSTAN_SEED={seed}");
    let mut random = Random::new(seed);
    let mut known = 0;
    for mean in [MINUTE, 10 * MINUTE] {
        for _ in 0..100 {
            let (run, after) = (random.next(), between(&mut random, 0, 30));
            let mut fleet = SimulatedFleet::new(run, 8, Killer::Both(after, mean), usize::MAX);
            fleet.run(HOUR, 0);
            known += usize::from(fleet.folders[0].known.is_some());
            let others = &fleet.folders[1..];
            assert!(others.iter().all(|folder| folder.known.is_none()), "run {run}, {after} ms, {mean} ms");
        }
    }
    println!("of 200 bad ones {known} are known after an hour");
}
