//! A campaign under a virtual clock: what would happen, before it is switched on.
//!
//! People merge and machines roll at a pace that the caller gives; chance comes from a seed, so that the same
//! question has the same answer. The decisions are those of [`decide`](super::decision::decide)
//! itself, by a count that is kept up to date.

mod history;
mod picture;
#[cfg(test)]
mod tests;
mod text;

pub use picture::{TimeLine, picture, picture_until_now};
pub use text::time_line;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use capstan_model::ids::ClusterId;
use jiff::{SignedDuration, Timestamp};

pub use self::history::{Event, Happening, History, Sample};
use super::decision::{CampaignDecision, CampaignFacts, WaveState, decide_by};
use super::facts::{ClusterProgress, Load, Member, Memory, RolloutFailure, WaveVerdict, WebhookWord};
use super::settings::CampaignSettings;
use super::tally::Tally;
use super::time::Period;

/// How fast people and machines are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// When the release is pushed.
    pub begins: Timestamp,
    /// How long a pull request stays open, on average.
    pub merge_after: Period,
    /// How long one machine takes to be replaced; those of a cluster go one after another.
    pub machine_takes: Period,
    /// Of a thousand rollouts so many get stuck.
    pub stuck_per_thousand: u32,
    /// After that long somebody skips a cluster that got stuck, and resumes the campaign; `None` = nobody does.
    pub resume_after: Option<Period>,
    /// Where chance begins.
    pub seed: u64,
}

/// A cluster that takes part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Participant {
    pub cluster: ClusterId,
    /// Its wave, by its place.
    pub wave: usize,
    /// Machines that the upgrade replaces.
    pub machines: u32,
}

/// What is still to come for a cluster, or for the campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Coming {
    Merge(usize),
    Rollout(usize),
    Answer(usize),
    Skip(usize),
}

/// When so many pull requests are open that are wanted at a moment, one after the other: GitHub does not let everything be
/// opened at once.
pub type Opens<'a> = &'a mut dyn FnMut(Timestamp, usize) -> Vec<Timestamp>;

struct Simulation<'a> {
    settings: &'a CampaignSettings,
    pace: Pace,
    opens: Opens<'a>,
    members: Vec<Member>,
    /// Of the members that nobody skipped, how they stand.
    tally: Tally,
    places: BTreeMap<ClusterId, usize>,
    asked: BTreeSet<usize>,
    memory: Memory,
    coming: BinaryHeap<Reverse<(Timestamp, Coming)>>,
    chance: u64,
    history: History,
    reported: Vec<Option<WaveState>>,
    now: Timestamp,
}

/// Lets a release move through a fleet. `opens` says when each pull request that is wanted is there; until then it waits,
/// and takes its room.
pub fn simulate(settings: &CampaignSettings, fleet: &[Participant], pace: Pace, opens: Opens<'_>) -> History {
    let member = |one: &Participant| Member {
        cluster: one.cluster.clone(),
        wave: one.wave,
        machines: Some(one.machines),
        standing: ClusterProgress::Behind,
        checks: BTreeMap::new(),
    };
    let members: Vec<Member> = fleet.iter().map(member).collect();
    let places = fleet.iter().enumerate().map(|(at, one)| (one.cluster.clone(), at)).collect();
    let mut simulation = Simulation {
        settings,
        pace,
        opens,
        tally: Tally::of(settings, &members, &BTreeSet::new()),
        members,
        places,
        asked: BTreeSet::new(),
        memory: Memory::default(),
        coming: BinaryHeap::new(),
        chance: pace.seed,
        history: History { events: Vec::new(), samples: Vec::new(), ended: None, standstill: Vec::new() },
        reported: vec![None; settings.waves.len()],
        now: pace.begins,
    };
    simulation.run();
    simulation.history
}

impl Simulation<'_> {
    fn run(&mut self) {
        loop {
            let facts = CampaignFacts {
                members: &self.members,
                memory: &self.memory,
                besides: &[],
                silence: None,
                urgent: false,
                now: self.now,
            };
            let decision = decide_by(self.settings, &facts, &self.tally);
            self.tell(&decision);
            self.carry_out(&decision);
            self.sample();
            if decision.has_ended() {
                self.history.ended = Some(self.now);
                return;
            }
            let event = self.coming.peek().map(|Reverse((at, _))| *at);
            let Some(next) = [event, decision.look_again].into_iter().flatten().min() else {
                self.history.standstill = standstill(&decision);
                return;
            };
            self.now = self.now.max(next);
            while let Some(Reverse((at, coming))) = self.coming.peek().copied() {
                if at > self.now {
                    break;
                }
                self.coming.pop();
                self.happen(coming);
            }
        }
    }

    fn carry_out(&mut self, decision: &CampaignDecision) {
        let opened =
            if decision.open.is_empty() { Vec::new() } else { (self.opens)(self.now, decision.open.len()) };
        for (nth, cluster) in decision.open.iter().enumerate() {
            let Some(&at) = self.places.get(cluster) else { continue };
            self.change(at, |member| member.standing = ClusterProgress::Open);
            // Between no time and twice the average.
            let patience = self.pace.merge_after.duration().as_secs().saturating_mul(2).saturating_add(1);
            let after = i64::try_from(self.draw(u64::try_from(patience).unwrap_or(1))).unwrap_or_default();
            // Of the minute in which it is opened the seconds do not count.
            let opened = opened.get(nth).map_or(0, |at| at.duration_since(self.now).as_mins());
            let after = SignedDuration::from_secs(after) + SignedDuration::from_mins(opened.max(0));
            self.after(after, Coming::Merge(at));
        }
        if let Some(wave) = decision.ask_webhook
            && self.asked.insert(wave)
        {
            self.after(SignedDuration::from_mins(1), Coming::Answer(wave));
        }
        if let (Some(stop), None) = (&decision.stopped, &self.memory.stopped) {
            self.memory.stopped = Some(stop.clone());
            self.history.events.push(Event { at: self.now, what: Happening::Stopped(stop.why.clone()) });
        }
    }

    fn happen(&mut self, coming: Coming) {
        let now = self.now;
        match coming {
            Coming::Merge(at) => {
                let machines = self.members.get(at).and_then(|member| member.machines).unwrap_or_default();
                self.change(at, |member| member.standing = ClusterProgress::Merged);
                let takes = self
                    .pace
                    .machine_takes
                    .duration()
                    .saturating_mul(i32::try_from(machines).unwrap_or(i32::MAX));
                self.after(takes, Coming::Rollout(at));
            }
            Coming::Rollout(at) => {
                let is_stuck = self.draw(1_000) < u64::from(self.pace.stuck_per_thousand);
                let checks = self.members.get(at).and_then(|member| self.settings.waves.get(member.wave));
                let checks = checks.into_iter().flat_map(|wave| wave.verify.checks.clone());
                let checks = checks.map(|check| (check, WaveVerdict::Passed { at: now })).collect();
                let how = RolloutFailure::Stuck;
                self.change(at, |member| {
                    member.checks = checks;
                    member.standing = if is_stuck {
                        ClusterProgress::Failed { how, at: now }
                    } else {
                        ClusterProgress::Done { at: now }
                    };
                });
                if let Some(patience) = self.pace.resume_after.filter(|_| is_stuck) {
                    self.after(patience.duration(), Coming::Skip(at));
                }
            }
            Coming::Answer(wave) => {
                if let Some(wave) = self.settings.waves.get(wave) {
                    let word = WebhookWord { at: now, passed: true, why: String::new() };
                    self.memory.waves.entry(wave.name.clone()).or_default().webhook = Some(word);
                }
            }
            Coming::Skip(at) => {
                let Some(member) = self.members.get(at) else { return };
                let what = Happening::Skipped(member.cluster.clone());
                if self.memory.skipped.insert(member.cluster.clone()) {
                    self.tally.remove(self.settings, at, member);
                }
                self.history.events.push(Event { at: now, what });
                if self.memory.stopped.take().is_some() {
                    self.memory.resumed_at = Some(now);
                }
            }
        }
    }

    fn change(&mut self, at: usize, how: impl FnOnce(&mut Member)) {
        let Some(member) = self.members.get_mut(at) else { return };
        let is_counted = !self.memory.skipped.contains(&member.cluster);
        if is_counted {
            self.tally.remove(self.settings, at, member);
        }
        how(member);
        if is_counted {
            self.tally.add(self.settings, at, member);
        }
    }

    /// Lets something come; to the whole minute, since nobody reads a time line of ten thousand clusters by seconds.
    fn after(&mut self, duration: SignedDuration, coming: Coming) {
        let at = self.now.as_second().saturating_add(duration.as_secs());
        let minute = at.saturating_add(59).div_euclid(60).saturating_mul(60);
        let at = Timestamp::from_second(minute).unwrap_or(Timestamp::MAX);
        self.coming.push(Reverse((at, coming)));
    }

    /// A number below another, by SplitMix64.
    fn draw(&mut self, below: u64) -> u64 {
        self.chance = self.chance.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.chance;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)).checked_rem(below).unwrap_or_default()
    }

    fn tell(&mut self, decision: &CampaignDecision) {
        for (at, (state, reported)) in decision.waves.iter().zip(&mut self.reported).enumerate() {
            let what = match (state, reported.as_ref()) {
                (WaveState::Ended { .. }, Some(WaveState::Ended { .. })) => None,
                (WaveState::Ended { .. }, _) => Some(Happening::Ended(at)),
                (WaveState::Soaking { until }, reported) if reported != Some(state) => {
                    Some(Happening::Soaks(at, *until))
                }
                (WaveState::Entered { .. }, None | Some(WaveState::Waits { .. })) => {
                    Some(Happening::Entered(at))
                }
                (WaveState::Waits { why }, reported)
                    if reported != Some(state) && !why.starts_with("waits for") =>
                {
                    Some(Happening::Shut(at, why.clone()))
                }
                _ => None,
            };
            if let Some(what) = what {
                self.history.events.push(Event { at: self.now, what });
            }
            *reported = Some(state.clone());
        }
    }

    fn sample(&mut self) {
        let waves = self.tally.waves();
        let load = waves.iter().fold(Load::default(), |sum, wave| sum.and(wave.load()));
        self.history.samples.push(Sample {
            at: self.now,
            open: load.open,
            rolling: load.clusters - load.open,
            machines: load.machines.unwrap_or_default(),
            done: waves.iter().map(|wave| wave.done).collect(),
        });
    }
}

fn standstill(decision: &CampaignDecision) -> Vec<(usize, String)> {
    let stopped = decision.stopped.iter().map(|stop| (0, stop.why.clone()));
    let waves = decision.waves.iter().enumerate().filter_map(|(at, state)| match state {
        WaveState::Waits { why } => Some((at, why.clone())),
        WaveState::Entered { waits } => Some((at, waits.clone().unwrap_or_default())),
        WaveState::Soaking { .. } | WaveState::Ended { .. } => None,
    });
    stopped.chain(waves).collect()
}
