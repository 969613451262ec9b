//! The counts, and the decision: may this go now, else when?
//!
//! *Guarantees.* In any span of a minute (an hour), no more calls are granted than GitHub allows: a grant
//! counts from the moment it is given until a whole span after the last moment at which it may be used. A
//! call lets a more important one go first that waits for the same limit.
//!
//! *Assumption.* The clocks of processes that share it differ by less than what a grant is good for.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::limits::{Cost, RateLimit, RateLimits};
use super::priority::Priority;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 3_600_000;
/// Grants whose ends lie so close together are counted as one, at the later.
const SLOT_MS: i64 = 500;
/// The same for those that only the hour counts.
const OLD_SLOT_MS: i64 = 20_000;
/// For how long at most a call is stepped aside for that does not come back.
const PATIENCE_MS: i64 = 12_000;
/// What ends later than this from now was noted by a clock that was ahead.
const FURTHEST_MS: i64 = 2 * MINUTE_MS;
/// What was not used in so long may be used at once by those who are spread over the time.
const CATCH_UP_MS: i64 = 60_000;
/// Of the primary limit they may use one part in so many at once; the rest is spread over its hour.
const AT_ONCE: i64 = 4;

/// What GitHub's headers say of the primary limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Primary {
    /// Requests in all.
    pub limit: u32,
    /// How many are left.
    pub remaining: u32,
    /// When it resets, in milliseconds since the epoch.
    pub reset_ms: i64,
}

/// What has a primary limit of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateResource {
    /// The REST API.
    Core,
    Graphql,
}

/// Who wants what.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// Whose call it is.
    pub priority: Priority,
    /// Against which primary limit it counts.
    pub resource: RateResource,
    /// What is needed.
    pub cost: Cost,
    /// What is taken where there is plenty: at least what is needed.
    pub wish: Cost,
    /// The process.
    pub holder: &'a str,
    /// Requests that it makes at once.
    pub seats: u32,
    /// For how long the grant is good, in milliseconds.
    pub good_for_ms: i64,
}

/// What may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// So much.
    pub cost: Cost,
    /// Until then.
    pub until: Timestamp,
}

/// Not now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// Not before; to be asked again then.
    pub until: Timestamp,
    /// What is at its end.
    pub limit: RateLimit,
}

/// What is granted and still counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct CountedGrant {
    /// Until when it may be used.
    end_ms: i64,
    cost: Cost,
}

/// The counts of the callers that GitHub counts together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ledger {
    /// By their ends.
    counted: Vec<CountedGrant>,
    primaries: Vec<(RateResource, Primary)>,
    quiet_until_ms: i64,
    /// Who waits for a limit, and until when that is obeyed.
    waiting: Vec<(RateLimit, Priority, i64)>,
    /// When those who are spread over the time were last given something of a limit.
    paced: Vec<(RateLimit, i64)>,
    /// Processes, with the requests that each makes at once, and until when it is counted.
    seats: Vec<(String, u32, i64)>,
}

/// A limit that counts over a span.
struct Span {
    limit: RateLimit,
    ms: i64,
    most: u32,
    of: fn(Cost) -> u32,
}

impl RateLimits {
    fn spans(&self) -> [Span; 3] {
        let span = |limit, ms, most, of| Span { limit, ms, most, of };
        [
            span(RateLimit::PointsAMinute, MINUTE_MS, self.points_a_minute, |cost| cost.points),
            span(RateLimit::ContentAMinute, MINUTE_MS, self.content_a_minute, |cost| cost.content),
            span(RateLimit::ContentAnHour, HOUR_MS, self.content_an_hour, |cost| cost.content),
        ]
    }
}

impl Ledger {
    /// May this go now, else when? What is granted is counted. Without `limits` only what GitHub tells counts: GitHub
    /// Enterprise Server has no secondary limits unless its owner sets some.
    ///
    /// # Errors
    /// Until when to wait, and for what. Lesser calls step aside meanwhile.
    pub fn ask(&mut self, limits: Option<&RateLimits>, now: Timestamp, ask: &Ask<'_>) -> Result<Grant, Wait> {
        let now_ms = now.as_millisecond();
        self.forget(now_ms);
        let mut refused: Option<(i64, RateLimit)> = None;
        let mut refuse = |until_ms: i64, limit: RateLimit| {
            if until_ms > now_ms && refused.is_none_or(|(known, _)| until_ms > known) {
                refused = Some((until_ms, limit));
            }
        };
        refuse(self.quiet_until_ms, RateLimit::AskedToWait);
        let mut cost = ask.wish;
        if let Some(limits) = limits {
            for span in limits.spans() {
                match self.fits(&span, now_ms, ask) {
                    Ok(most) => cut_to(&mut cost, &span, most),
                    Err(until_ms) => refuse(until_ms, span.limit),
                }
            }
            if let Some(until_ms) = self.crowded(limits, ask) {
                refuse(until_ms, RateLimit::Concurrent);
            }
        }
        match self.primary_fits(now_ms, ask) {
            Ok(most) => cost.requests = cost.requests.min(most),
            Err(until_ms) => refuse(until_ms, RateLimit::Primary),
        }
        if let Some((until_ms, limit)) = refused {
            self.note_waiting(limit, ask.priority, until_ms.min(now_ms + PATIENCE_MS) + SLOT_MS);
            return Err(Wait { until: at(until_ms), limit });
        }
        Ok(self.grant(limits, now_ms, ask, cost))
    }

    /// Gives back what was not used of a grant.
    pub fn give_back(&mut self, grant: &Grant, unused: Cost) {
        let end_ms = slot(grant.until.as_millisecond(), SLOT_MS);
        if let Some(counted) = self.counted.iter_mut().find(|counted| counted.end_ms == end_ms) {
            counted.cost = counted.cost.less(unused);
        }
    }

    /// What an answer's headers said. The lower count of the same hour is the later one.
    pub fn note_primary(&mut self, resource: RateResource, seen: Primary) {
        match self.primaries.iter_mut().find(|(known, _)| *known == resource) {
            None => self.primaries.push((resource, seen)),
            Some((_, known)) => {
                // GitHub gives the reset of an hour to the second, and it may differ by one between its
                // servers.
                let is_same_hour = (known.reset_ms - seen.reset_ms).abs() < MINUTE_MS;
                if !is_same_hour && seen.reset_ms > known.reset_ms {
                    *known = seen;
                } else if is_same_hour {
                    known.limit = seen.limit;
                    known.remaining = known.remaining.min(seen.remaining);
                }
            }
        }
    }

    /// GitHub asked to be left alone until then.
    pub fn be_quiet(&mut self, until: Timestamp) {
        self.quiet_until_ms = self.quiet_until_ms.max(until.as_millisecond());
    }

    /// How much of a limit is used at a moment, between 0 and 1.
    pub fn used(&self, limits: &RateLimits, limit: RateLimit, now: Timestamp) -> f64 {
        let spans = limits.spans();
        let Some(span) = spans.iter().find(|span| span.limit == limit) else { return 0.0 };
        f64::from(self.count(span, now.as_millisecond())) / f64::from(span.most.max(1))
    }

    /// What counts over a span of so many milliseconds that ends now.
    fn within(&self, ms: i64, now_ms: i64) -> &[CountedGrant] {
        let before = self.counted.partition_point(|counted| counted.end_ms + ms <= now_ms);
        self.counted.get(before..).unwrap_or_default()
    }

    fn count(&self, span: &Span, now_ms: i64) -> u32 {
        self.within(span.ms, now_ms).iter().map(|counted| (span.of)(counted.cost)).sum()
    }

    /// How much may be taken of a limit; else from when.
    fn fits(&self, span: &Span, now_ms: i64, ask: &Ask<'_>) -> Result<u32, i64> {
        let need = (span.of)(ask.cost);
        if need == 0 {
            return Ok(0);
        }
        if let Some(until_ms) = self.somebody_waits(span.limit, ask.priority, now_ms) {
            return Err(until_ms);
        }
        let most = share_of(span.most, ask.priority).max(need);
        let used = self.count(span, now_ms);
        if used + need > most {
            let mut left = used;
            for counted in self.within(span.ms, now_ms) {
                left -= (span.of)(counted.cost);
                if left + need <= most {
                    return Err(counted.end_ms + span.ms);
                }
            }
            return Err(now_ms + span.ms);
        }
        let room = most - used;
        if !ask.priority.is_spread() {
            return Ok(room);
        }
        let quantum = (span.of)(ask.wish).min(room).max(need);
        match self.due_ms(span, now_ms, quantum, most) {
            Some(due_ms) if due_ms > now_ms => Err(due_ms),
            Some(_) => Ok(quantum),
            None => Ok(room),
        }
    }

    /// From when on so much more of a limit may be taken by those who are spread over the time; `None` while most of it
    /// is there. What is left is spread up to the moment at which there is more, and nothing is taken at more than twice
    /// the rate that lasts: else what is used at once is free at once a span later, and nothing before.
    fn due_ms(&self, span: &Span, now_ms: i64, quantum: u32, most: u32) -> Option<i64> {
        let used = self.count(span, now_ms);
        if used * 4 <= most {
            return None;
        }
        let (_, last_ms) = self.paced.iter().find(|(known, _)| *known == span.limit)?;
        let last_ms = (*last_ms).max(now_ms - CATCH_UP_MS);
        let first = self.within(span.ms, now_ms).iter().find(|counted| (span.of)(counted.cost) > 0);
        let frees_ms = first.map_or(now_ms, |first| first.end_ms + span.ms);
        let (quantum, room) = (i64::from(quantum), i64::from(most.saturating_sub(used)));
        let evenly_ms = (last_ms * room + frees_ms * quantum) / (room + quantum).max(1);
        let fastest_ms = last_ms + span.ms * quantum / (2 * i64::from(most)).max(1);
        Some(evenly_ms.max(fastest_ms))
    }

    fn primary_fits(&self, now_ms: i64, ask: &Ask<'_>) -> Result<u32, i64> {
        let known = self.primaries.iter().find(|(resource, _)| *resource == ask.resource);
        let Some((_, primary)) = known.filter(|(_, primary)| primary.reset_ms > now_ms) else {
            return Ok(u32::MAX);
        };
        if let Some(until_ms) = self.somebody_waits(RateLimit::Primary, ask.priority, now_ms) {
            return Err(until_ms);
        }
        // What others may be using just now, headers do not tell yet.
        let under_way: u32 = self.within(0, now_ms).iter().map(|counted| counted.cost.requests).sum();
        let reserve = primary.limit - share_of(primary.limit, ask.priority);
        let room = primary.remaining.saturating_sub(under_way).saturating_sub(reserve);
        if room < ask.cost.requests {
            return Err(primary.reset_ms);
        }
        if !ask.priority.is_spread() {
            return Ok(room);
        }
        let used = primary.limit.saturating_sub(primary.remaining).saturating_add(under_way);
        let (due_ms, room_now) =
            spread_over_hour(primary, primary.limit - reserve, used, (now_ms, ask.cost.requests));
        if due_ms > now_ms { Err(due_ms.min(primary.reset_ms)) } else { Ok(room.min(room_now)) }
    }

    /// More would be made at once than GitHub allows, were this process to join.
    fn crowded(&self, limits: &RateLimits, ask: &Ask<'_>) -> Option<i64> {
        let others = || self.seats.iter().filter(|(holder, ..)| holder != ask.holder);
        let taken: u32 = others().map(|(_, seats, _)| *seats).sum();
        let frees = || others().map(|(.., until_ms)| *until_ms).min();
        if taken + ask.seats > limits.concurrent { frees() } else { None }
    }

    fn somebody_waits(&self, limit: RateLimit, priority: Priority, now_ms: i64) -> Option<i64> {
        let before = self.waiting.iter().filter(|(known, waiting, until_ms)| {
            *known == limit && *waiting < priority && *until_ms > now_ms
        });
        before.map(|(.., until_ms)| *until_ms).max()
    }

    fn note_waiting(&mut self, limit: RateLimit, priority: Priority, until_ms: i64) {
        self.waiting.retain(|(known, waiting, _)| (*known, *waiting) != (limit, priority));
        self.waiting.push((limit, priority, until_ms));
    }

    fn grant(&mut self, limits: Option<&RateLimits>, now_ms: i64, ask: &Ask<'_>, cost: Cost) -> Grant {
        self.waiting.retain(|(_, waiting, _)| *waiting != ask.priority);
        if let Some(limits) = limits {
            for span in limits.spans().iter().filter(|span| (span.of)(cost) > 0 && ask.priority.is_spread()) {
                self.note_paced(span, now_ms, ask, cost);
            }
            let until_ms = now_ms + MINUTE_MS;
            self.seats.retain(|(holder, ..)| holder != ask.holder);
            self.seats.push((ask.holder.to_owned(), ask.seats, until_ms));
        }
        let until_ms = now_ms + ask.good_for_ms;
        let end_ms = slot(until_ms, SLOT_MS);
        match self.counted.iter_mut().find(|counted| counted.end_ms == end_ms) {
            Some(counted) => counted.cost = counted.cost.plus(cost),
            None => {
                let place = self.counted.partition_point(|counted| counted.end_ms < end_ms);
                self.counted.insert(place, CountedGrant { end_ms, cost });
            }
        }
        Grant { cost, until: at(until_ms) }
    }

    /// What ends further ahead than anything is granted for was granted by a clock that has been set back since: it counts
    /// from now on, and not until the clock is there again.
    fn restart_where_the_clock_was_set_back(&mut self, now_ms: i64) {
        let ahead_ms = now_ms + FURTHEST_MS;
        if self.counted.last().is_some_and(|last| last.end_ms > ahead_ms) {
            self.counted.iter_mut().filter(|counted| counted.end_ms > ahead_ms).for_each(|counted| {
                counted.end_ms = slot(now_ms, SLOT_MS);
            });
            self.counted.sort_by_key(|counted| counted.end_ms);
        }
        self.waiting.retain(|(.., until_ms)| *until_ms <= ahead_ms);
        self.seats.retain(|(.., until_ms)| *until_ms <= ahead_ms);
        self.paced.iter_mut().for_each(|(_, last_ms)| *last_ms = (*last_ms).min(now_ms));
        self.primaries.retain(|(_, primary)| primary.reset_ms <= now_ms + 2 * HOUR_MS);
        // Nobody asks for more than an hour.
        self.quiet_until_ms = self.quiet_until_ms.min(now_ms + HOUR_MS);
    }

    /// What was due a while ago and was not taken may be taken at once.
    fn note_paced(&mut self, span: &Span, now_ms: i64, ask: &Ask<'_>, cost: Cost) {
        let due_ms = self.due_ms(span, now_ms, (span.of)(cost), share_of(span.most, ask.priority));
        let due_ms = due_ms.map_or(now_ms, |due_ms| due_ms.min(now_ms));
        self.paced.retain(|(known, _)| *known != span.limit);
        self.paced.push((span.limit, due_ms));
    }

    /// Forgets what counts no more, and keeps of what only the hour counts a row every 20 s.
    fn forget(&mut self, now_ms: i64) {
        self.restart_where_the_clock_was_set_back(now_ms);
        let counts = |counted: &CountedGrant| {
            let span = if counted.cost.content > 0 { HOUR_MS } else { MINUTE_MS };
            counted.end_ms + span > now_ms && !counted.cost.is_nothing()
        };
        self.counted.retain(counts);
        let is_row = |counted: &CountedGrant| {
            counted.cost == counted.cost.content_alone()
                && slot(counted.end_ms, OLD_SLOT_MS) == counted.end_ms
        };
        let old = self.counted.partition_point(|counted| counted.end_ms + MINUTE_MS <= now_ms);
        // The rows before are whole; the last of them may be that of what comes next.
        let rows = self.counted.iter().take(old).position(|counted| !is_row(counted)).unwrap_or(old);
        let from = rows.saturating_sub(1);
        let mut kept: Vec<CountedGrant> = Vec::new();
        for counted in self.counted.drain(from..old) {
            let row_ms = slot(counted.end_ms, OLD_SLOT_MS);
            let end_ms = row_ms.min(now_ms - MINUTE_MS);
            let cost = counted.cost.content_alone();
            match kept.last_mut().filter(|last| slot(last.end_ms, OLD_SLOT_MS) == row_ms) {
                Some(last) => {
                    *last = CountedGrant { end_ms: end_ms.max(last.end_ms), cost: last.cost.plus(cost) }
                }
                None => kept.push(CountedGrant { end_ms: end_ms.max(counted.end_ms), cost }),
            }
        }
        drop(self.counted.splice(from..from, kept));
        self.waiting.retain(|(.., until_ms)| *until_ms > now_ms);
        self.seats.retain(|(.., until_ms)| *until_ms > now_ms);
        self.primaries.retain(|(_, primary)| primary.reset_ms > now_ms);
    }
}

/// From when on so much more may be used of a primary limit by those who are spread over its hour, `most` of which is
/// theirs, and how much that is by now. A part may be used at once and the rest as the hour passes: else what is used up
/// early leaves those who have waited for nothing yet with the reserve alone, for all that is left of the hour.
fn spread_over_hour(primary: &Primary, most: u32, used: u32, (now_ms, need): (i64, u32)) -> (i64, u32) {
    let (most, used, need) = (i64::from(most), i64::from(used), i64::from(need));
    let at_once = most / AT_ONCE;
    let rest = (most - at_once).max(1);
    let passed_ms = (now_ms - (primary.reset_ms - HOUR_MS) + CATCH_UP_MS).clamp(0, HOUR_MS);
    let allowed = at_once + rest * passed_ms / HOUR_MS;
    let short = used + need - at_once;
    // Rounded up, so that it is allowed then.
    let due_ms = primary.reset_ms - HOUR_MS - CATCH_UP_MS + (short.max(0) * HOUR_MS + rest - 1) / rest;
    let due_ms = if used + need <= allowed { now_ms } else { due_ms.max(now_ms + 1) };
    (due_ms, u32::try_from((allowed - used).max(need)).unwrap_or(u32::MAX))
}

fn share_of(most: u32, priority: Priority) -> u32 {
    u32::try_from(u64::from(most) * priority.share() / 1_000).unwrap_or(most)
}

/// The next multiple.
const fn slot(ms: i64, length: i64) -> i64 {
    (ms + length - 1).div_euclid(length) * length
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH)
}

const fn cut_to(cost: &mut Cost, span: &Span, most: u32) {
    match span.limit {
        RateLimit::PointsAMinute => {
            if cost.points > most {
                cost.points = most;
            }
        }
        _ => {
            if cost.content > most {
                cost.content = most;
            }
        }
    }
}
