//! How long it takes to open pull requests within GitHub's limits, under a virtual clock: before a campaign is switched
//! on, and as the proof that the budget is used and never exceeded.
//!
//! The ledger decides, as it does for the bot. What is made up here is GitHub, which counts what it would count and tells
//! of its hours in headers, and everybody else who wants something: people who ask, machines that roll, what is kept up to
//! date. Chance comes from a seed, so that the same question has the same answer.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use jiff::{SignedDuration, Timestamp};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::ledger::{Ask, Ledger, Primary, RateResource};
use super::limits::{Cost, RateLimit, RateLimits};
use super::priority::Priority;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
/// So many pull requests are worked on at once.
const WORKERS: usize = 3;
/// How long a call may take, in milliseconds.
const CALL_MS: std::ops::Range<i64> = 80..400;
/// The processes that share the budget.
const HOLDERS: [&str; 3] = ["one", "two", "three"];

/// Everybody else, and how often they come on average, in milliseconds: commands, reports of rollouts, refreshes.
const OTHERS: [(Priority, i64); 3] =
    [(Priority::Command, 90_000), (Priority::Rollout, 120_000), (Priority::Refresh, 20_000)];

/// The calls of one piece of work, in their order. What a proposal costs is counted where the bot opens some against the
/// forge (`bot::failing_calls` in the suite): no more reads than here.
const fn calls(priority: Priority) -> &'static [Cost] {
    const R: Cost = Cost::READ;
    const W: Cost = Cost::WRITE;
    const C: Cost = Cost::CONTENT;
    match priority {
        // Heard, the pull request and rights read, 👍; plan; comment, check.
        Priority::Command => &[R, R, R, R, R, W, R, R, C, C],
        Priority::Rollout => &[R, R, C],
        Priority::Refresh => &[R, R, R, R, R, R, W],
        // Tree, commit, branch, pull request, check.
        Priority::Proposal => &[R, R, R, R, R, R, R, W, W, W, C, R, R, R, R, R, R, R, R, C],
    }
}

/// The result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figures {
    /// Pull requests that were opened.
    pub opened: usize,
    /// Of the whole hours in which pull requests waited for their turn, the one in which least was used of the limit that
    /// bound: which limit, and how much of it, in thousandths. `None` = none of them waited for an hour.
    pub least_used: Option<(RateLimit, u32)>,
    /// The most that GitHub counted together of each limit, and what it allows.
    pub most: Vec<(RateLimit, u32, u32)>,
    /// Commands that were carried out meanwhile.
    pub commands: usize,
    /// From a command to the last call of its answer, of the one that took longest.
    pub longest_answer: SignedDuration,
}

impl Figures {
    /// The limits that were exceeded: none of them.
    pub fn exceeded(&self) -> Vec<RateLimit> {
        let over = self.most.iter().filter(|(_, most, allowed)| most > allowed);
        over.map(|(limit, ..)| *limit).collect()
    }
}

/// Something that takes several calls.
struct RehearsedWork {
    priority: Priority,
    began_ms: i64,
    /// Of its calls, which comes next.
    next: usize,
    /// What the previous call knew of the hour.
    heard: Option<Primary>,
}

/// An installation under a virtual clock.
pub struct Rehearsal {
    limits: RateLimits,
    ledger: Ledger,
    github: GitHub,
    random: StdRng,
    now_ms: i64,
    works: Vec<RehearsedWork>,
    /// The next steps, and when.
    due: BinaryHeap<Reverse<(i64, usize)>>,
    /// When each of the others comes next.
    others: [i64; OTHERS.len()],
    opened: Vec<Timestamp>,
    /// Times in which pull requests waited, one after the other.
    waited: Vec<(i64, i64)>,
    answers: Vec<i64>,
}

impl Rehearsal {
    /// An installation that may make so many requests an hour, at that moment.
    pub fn new(limits: RateLimits, requests_an_hour: u32, begins: Timestamp, seed: u64) -> Self {
        let now_ms = begins.as_millisecond();
        Self {
            limits,
            ledger: Ledger::default(),
            github: GitHub::new(requests_an_hour, now_ms),
            random: StdRng::seed_from_u64(seed),
            now_ms,
            works: Vec::new(),
            due: BinaryHeap::new(),
            others: [now_ms; OTHERS.len()],
            opened: Vec::new(),
            waited: Vec::new(),
            answers: Vec::new(),
        }
    }

    /// Opens so many pull requests that are wanted at that moment, behind those that were wanted before. When each was.
    pub fn open(&mut self, wanted: Timestamp, count: usize) -> Vec<Timestamp> {
        if count == 0 {
            return Vec::new();
        }
        let wanted_ms = wanted.as_millisecond();
        self.pass_until(wanted_ms);
        let begins_ms = self.now_ms.max(wanted_ms);
        let (first, last) = (self.opened.len(), self.opened.len() + count);
        let mut begun = 0;
        while self.opened.len() < last {
            let under_way = begun - (self.opened.len() - first);
            if begun < count && under_way < WORKERS {
                self.begin(Priority::Proposal, self.now_ms.max(wanted_ms));
                begun += 1;
            } else {
                self.step();
            }
        }
        match self.waited.last_mut() {
            // Those before them were waited for until then.
            Some((_, until_ms)) if *until_ms >= wanted_ms => *until_ms = self.now_ms,
            _ => self.waited.push((begins_ms, self.now_ms)),
        }
        self.opened.get(first..).unwrap_or_default().to_vec()
    }

    /// The result so far.
    pub fn figures(&self) -> Figures {
        let hours = self.waited.iter().flat_map(|(from, until)| self.github.whole_hours(*from, *until));
        let bound = |hour: Hour| {
            let content = (RateLimit::ContentAnHour, thousandths(hour.content, self.limits.content_an_hour));
            let primary = (RateLimit::Primary, thousandths(hour.requests, self.github.requests_an_hour));
            if primary.1 > content.1 { primary } else { content }
        };
        let GitHub { content_an_hour, content_a_minute, points_a_minute, .. } = &self.github;
        Figures {
            opened: self.opened.len(),
            least_used: hours.map(bound).min_by_key(|(_, used)| *used),
            most: vec![
                (RateLimit::Primary, self.github.most_requests, self.github.requests_an_hour),
                (RateLimit::PointsAMinute, points_a_minute.most, self.limits.points_a_minute),
                (RateLimit::ContentAMinute, content_a_minute.most, self.limits.content_a_minute),
                (RateLimit::ContentAnHour, content_an_hour.most, self.limits.content_an_hour),
                (RateLimit::Concurrent, self.github.most_at_once, self.limits.concurrent),
            ],
            commands: self.answers.len(),
            longest_answer: SignedDuration::from_millis(
                self.answers.iter().copied().max().unwrap_or_default(),
            ),
        }
    }

    /// Others continue until then. Calls older than an hour do not count, so they are skipped.
    fn pass_until(&mut self, until_ms: i64) {
        let from_ms = until_ms - HOUR_MS;
        if self.now_ms < from_ms && self.due.is_empty() {
            self.now_ms = from_ms;
            self.others = self.others.map(|next_ms| next_ms.max(from_ms));
        }
        while self.next_ms().is_some_and(|next_ms| next_ms < until_ms) {
            self.step();
        }
    }

    /// When something happens next.
    fn next_ms(&self) -> Option<i64> {
        let due = self.due.peek().map(|Reverse((at_ms, _))| *at_ms);
        self.others.iter().copied().chain(due).min()
    }

    fn begin(&mut self, priority: Priority, at_ms: i64) {
        self.due.push(Reverse((at_ms, self.works.len())));
        self.works.push(RehearsedWork { priority, began_ms: at_ms, next: 0, heard: None });
    }

    /// The next thing happens.
    fn step(&mut self) {
        let due_ms = self.due.peek().map_or(i64::MAX, |Reverse((at_ms, _))| *at_ms);
        let coming = self.others.iter().copied().zip(OTHERS).enumerate().min_by_key(|(_, (at_ms, _))| *at_ms);
        if let Some((which, (at_ms, (priority, mean_ms)))) = coming
            && at_ms <= due_ms
        {
            self.begin(priority, at_ms);
            if let Some(next_ms) = self.others.get_mut(which) {
                *next_ms = at_ms + self.random.random_range(1..2 * mean_ms);
            }
            return;
        }
        let Some(Reverse((at_ms, index))) = self.due.pop() else { return };
        self.now_ms = self.now_ms.max(at_ms);
        self.go_on(index);
    }

    /// What is due hears of its last call, and asks for the next.
    fn go_on(&mut self, index: usize) {
        let now_ms = self.now_ms;
        let Some(work) = self.works.get_mut(index) else { return };
        if let Some(heard) = work.heard.take() {
            self.ledger.note_primary(RateResource::Core, heard);
        }
        let Some(cost) = calls(work.priority).get(work.next).copied() else {
            match work.priority {
                Priority::Command => self.answers.push(now_ms - work.began_ms),
                Priority::Proposal => self.opened.push(at(now_ms)),
                Priority::Rollout | Priority::Refresh => {}
            }
            return;
        };
        let holder = HOLDERS.get(index % HOLDERS.len()).copied().unwrap_or_default();
        let ask = Ask {
            priority: work.priority,
            resource: RateResource::Core,
            cost,
            wish: cost,
            holder,
            seats: 8,
            good_for_ms: 1_000,
        };
        let next_ms = match self.ledger.ask(Some(&self.limits), at(now_ms), &ask) {
            Err(wait) => wait.until.as_millisecond().max(now_ms + 1),
            Ok(_) => {
                let ends_ms = now_ms + self.random.random_range(CALL_MS);
                work.next += 1;
                work.heard = Some(self.github.take(now_ms, ends_ms, cost));
                ends_ms
            }
        };
        self.due.push(Reverse((next_ms, index)));
    }
}

/// What GitHub counted of an hour of its own.
#[derive(Debug, Clone, Copy, Default)]
struct Hour {
    requests: u32,
    content: u32,
}

/// GitHub, as it counts.
struct GitHub {
    requests_an_hour: u32,
    began_ms: i64,
    hours: BTreeMap<i64, Hour>,
    points_a_minute: Sliding,
    content_a_minute: Sliding,
    content_an_hour: Sliding,
    most_requests: u32,
    /// When the calls end that are made just now.
    at_once: BinaryHeap<Reverse<i64>>,
    most_at_once: u32,
}

impl GitHub {
    fn new(requests_an_hour: u32, began_ms: i64) -> Self {
        Self {
            requests_an_hour,
            began_ms,
            hours: BTreeMap::new(),
            points_a_minute: Sliding::over(MINUTE_MS),
            content_a_minute: Sliding::over(MINUTE_MS),
            content_an_hour: Sliding::over(HOUR_MS),
            most_requests: 0,
            at_once: BinaryHeap::new(),
            most_at_once: 0,
        }
    }

    /// Takes a call, and says of its hour what headers say.
    fn take(&mut self, now_ms: i64, ends_ms: i64, cost: Cost) -> Primary {
        let index = (now_ms - self.began_ms).div_euclid(HOUR_MS);
        let hour = self.hours.entry(index).or_default();
        hour.requests += cost.requests;
        hour.content += cost.content;
        self.most_requests = self.most_requests.max(hour.requests);
        let remaining = self.requests_an_hour.saturating_sub(hour.requests);
        self.points_a_minute.add(now_ms, cost.points);
        self.content_a_minute.add(now_ms, cost.content);
        self.content_an_hour.add(now_ms, cost.content);
        while self.at_once.peek().is_some_and(|Reverse(ended_ms)| *ended_ms <= now_ms) {
            self.at_once.pop();
        }
        self.at_once.push(Reverse(ends_ms));
        self.most_at_once = self.most_at_once.max(u32::try_from(self.at_once.len()).unwrap_or(u32::MAX));
        let reset_ms = self.began_ms + (index + 1) * HOUR_MS;
        Primary { limit: self.requests_an_hour, remaining, reset_ms }
    }

    /// Of the hours that lie within that time altogether.
    fn whole_hours(&self, from_ms: i64, until_ms: i64) -> Vec<Hour> {
        let first = (from_ms - self.began_ms + HOUR_MS - 1).div_euclid(HOUR_MS);
        let last = (until_ms - self.began_ms).div_euclid(HOUR_MS);
        (first..last).map(|index| self.hours.get(&index).copied().unwrap_or_default()).collect()
    }
}

/// The most within any span of time.
struct Sliding {
    span_ms: i64,
    within: VecDeque<(i64, u32)>,
    sum: u32,
    most: u32,
}

impl Sliding {
    const fn over(span_ms: i64) -> Self {
        Self { span_ms, within: VecDeque::new(), sum: 0, most: 0 }
    }

    fn add(&mut self, now_ms: i64, amount: u32) {
        if amount == 0 {
            return;
        }
        self.within.push_back((now_ms, amount));
        self.sum += amount;
        while let Some((at_ms, gone)) = self.within.front().copied()
            && at_ms <= now_ms - self.span_ms
        {
            self.within.pop_front();
            self.sum -= gone;
        }
        self.most = self.most.max(self.sum);
    }
}

fn thousandths(used: u32, of: u32) -> u32 {
    u32::try_from(u64::from(used) * 1_000 / u64::from(of.max(1))).unwrap_or(u32::MAX)
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH)
}
