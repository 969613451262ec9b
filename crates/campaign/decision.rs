//! Who may begin now, and why the others wait.
//!
//! A wave begins when the previous one has ended: each of its clusters merged, rolled out, with its checks
//! passed and the webhook's word, for as long as the soak asks. An open pull request may be merged at any
//! moment. So it counts as rolling from the day it is opened, and no limit is ever exceeded, in whatever
//! order people merge.
//!
//! Deliberately absent: merging, and what a pull request says. This room decides who gets one.

use capstan_model::ids::ClusterId;
use capstan_model::wording;
use jiff::Timestamp;

use super::facts::{ClusterProgress, Load, Member, Memory, Stop, WaveMemory};
use super::settings::{CampaignSettings, WaveSettings};
use super::tally::{Tally, WaveTally};
use super::time::{WindowOpening, opening};
use super::wording::minute;

/// What is known when it is decided.
#[derive(Debug, Clone, Copy)]
pub struct CampaignFacts<'a> {
    /// The clusters, in the order in which they come within their wave. Those of no wave are not among them.
    pub members: &'a [Member],
    /// What people and webhooks said.
    pub memory: &'a Memory,
    /// What may be rolling of each wave's clusters for the sake of other releases, by the wave's place: it takes room.
    pub besides: &'a [Load],
    /// Why the webhook that is to be asked has said nothing yet, as a part of a sentence.
    pub silence: Option<&'a str>,
    /// Whether the release is urgent, by its own word.
    pub urgent: bool,
    /// The time.
    pub now: Timestamp,
}

/// What to do, and the campaign's progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CampaignDecision {
    /// These get a pull request now, in this order.
    pub open: Vec<ClusterId>,
    /// The state of each wave, in their order.
    pub waves: Vec<WaveState>,
    /// Why it stopped; `None` = it continues. The shell stores it in the memory.
    pub stopped: Option<Stop>,
    /// When time alone changes something; `None` = only events do.
    pub look_again: Option<Timestamp>,
    /// The wave whose webhook is to be asked now.
    pub ask_webhook: Option<usize>,
    /// What to record of each wave, by its index. The shell stores it in the memory.
    pub noted: Vec<WaveMemory>,
}

impl CampaignDecision {
    /// What is noted after it: `memory` with what was found out.
    #[must_use]
    pub fn remembered(&self, settings: &CampaignSettings, memory: &Memory) -> Memory {
        let mut after = Memory { stopped: self.stopped.clone(), ..memory.clone() };
        let noted =
            settings.waves.iter().zip(&self.noted).filter(|(_, noted)| **noted != WaveMemory::default());
        after.waves = noted.map(|(wave, noted)| (wave.name.clone(), noted.clone())).collect();
        after
    }

    /// Whether nothing is left to do.
    pub fn has_ended(&self) -> bool {
        self.waves.iter().all(|wave| matches!(wave, WaveState::Ended { .. }))
    }

    /// Why a cluster that has no pull request waits, as a sentence; `None` where it does not. `prefix` is what commands
    /// begin with.
    pub fn why_waiting(&self, member: &Member, settings: &CampaignSettings, prefix: &str) -> Option<String> {
        if self.open.contains(&member.cluster) {
            return None;
        }
        match &member.standing {
            ClusterProgress::Barred(why) => return Some(format!("{why}.")),
            ClusterProgress::Behind => {}
            ClusterProgress::Open
            | ClusterProgress::Merged
            | ClusterProgress::Done { .. }
            | ClusterProgress::Failed { .. } => {
                return None;
            }
        }
        let name = &settings.name;
        if let Some(stop) = &self.stopped {
            return Some(format!(
                "Campaign `{name}` was stopped on {}: {} `{prefix} campaign resume` continues it.",
                minute(stop.at),
                stop.why
            ));
        }
        let wave = settings.waves.get(member.wave).map_or("", |wave| wave.name.as_str());
        match self.waves.get(member.wave)? {
            WaveState::Waits { why } => Some(format!("Wave `{wave}` of campaign `{name}` {why}.")),
            WaveState::Entered { waits: Some(why) } => {
                Some(format!("In wave `{wave}` of campaign `{name}`, {why}."))
            }
            WaveState::Entered { waits: None } | WaveState::Soaking { .. } | WaveState::Ended { .. } => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaveState {
    /// It was not entered: "waits for …", "is shut until …".
    Waits {
        /// Why, as the predicate of a sentence.
        why: String,
    },
    /// Its clusters get their pull requests.
    Entered {
        /// What those wait for that have none yet, or what the wave's end waits for; `None` = nothing is left to begin.
        waits: Option<String>,
    },
    /// All of it is verified, and must stay well.
    Soaking {
        /// Until when.
        until: Timestamp,
    },
    /// It has ended.
    Ended {
        /// Since when; the beginning of time for a wave without clusters.
        at: Timestamp,
    },
}

pub fn decide(settings: &CampaignSettings, facts: &CampaignFacts<'_>) -> CampaignDecision {
    decide_by(settings, facts, &Tally::of(settings, facts.members, &facts.memory.skipped))
}

/// Decides by what was counted of the members already.
pub(crate) fn decide_by(
    settings: &CampaignSettings,
    facts: &CampaignFacts<'_>,
    tally: &Tally,
) -> CampaignDecision {
    let stopped = facts.memory.stopped.clone();
    let stopped = stopped.or_else(|| failure(settings, facts, tally)).or_else(|| refusal(settings, facts));
    let mut decision = CampaignDecision {
        open: Vec::new(),
        waves: Vec::with_capacity(settings.waves.len()),
        stopped,
        look_again: None,
        ask_webhook: None,
        noted: vec![WaveMemory::default(); settings.waves.len()],
    };
    let mut waits_for: Option<(&WaveSettings, String)> = None;
    for (at, (wave, tally)) in settings.waves.iter().zip(tally.waves()).enumerate() {
        let mut entered = Entered { settings, wave, tally, facts, decision: &mut decision, at };
        let state = match &waits_for {
            Some((earlier, what)) => {
                entered.keep();
                WaveState::Waits { why: format!("waits for wave `{}`: {what}", earlier.name) }
            }
            None => entered.stand(),
        };
        if waits_for.is_none() {
            waits_for = match &state {
                WaveState::Waits { why } => Some((wave, format!("it {why}"))),
                WaveState::Entered { waits } => {
                    Some((wave, waits.clone().unwrap_or_else(|| "it is not done".to_owned())))
                }
                WaveState::Soaking { until } => {
                    Some((wave, format!("it must stay healthy until {}", minute(*until))))
                }
                WaveState::Ended { .. } => None,
            };
        }
        decision.waves.push(state);
    }
    decision
}

/// Whether failures stop the campaign, and which.
fn failure<'f>(settings: &CampaignSettings, facts: &CampaignFacts<'f>, tally: &Tally) -> Option<Stop> {
    let is_new = |at: Timestamp| facts.memory.resumed_at.is_none_or(|resumed| at > resumed);
    let ended = |member: &'f Member| match member.standing {
        ClusterProgress::Done { at } => Some((at, member)),
        ClusterProgress::Failed { how, at } if settings.stop_on.failures.contains(&how) => Some((at, member)),
        _ => None,
    };
    let ended = |member| ended(member).filter(|(at, _)| is_new(*at));
    let count = usize::try_from(settings.stop_on.count.max(1)).unwrap_or(usize::MAX);
    // Who ended last matters only where enough have failed.
    if tally.failed().filter_map(|place| ended(facts.members.get(place)?)).count() < count {
        return None;
    }
    let members = facts.members.iter().filter(|member| !facts.memory.skipped.contains(&member.cluster));
    let mut ended: Vec<(Timestamp, &Member)> = members.filter_map(ended).collect();
    let by_time = |(one, a): &(Timestamp, &Member), (other, b): &(Timestamp, &Member)| {
        (one, &a.cluster).cmp(&(other, &b.cluster))
    };
    let among = settings.stop_on.of.map_or(ended.len(), |of| usize::try_from(of).unwrap_or(usize::MAX));
    let earlier = ended.len().saturating_sub(among);
    if earlier > 0 && among > 0 {
        ended.select_nth_unstable_by(earlier, by_time);
    }
    let last = ended.split_at(earlier).1;
    let failed: Vec<(Timestamp, &Member)> = last
        .iter()
        .copied()
        .filter(|(_, member)| matches!(member.standing, ClusterProgress::Failed { .. }))
        .collect();
    if failed.len() < count {
        return None;
    }
    let (_, newest) = failed.iter().copied().max_by(by_time)?;
    let ClusterProgress::Failed { how, .. } = newest.standing else { return None };
    let besides = match failed.len() - 1 {
        0 => String::new(),
        others => format!(", and {} failed before it", wording::count(others, "other", "others")),
    };
    let why = format!("{}{besides}.", how.of(&newest.cluster));
    Some(Stop { at: facts.now, why, by_person: false })
}

/// Whether a webhook said no, which stops the campaign as a rollout that failed does.
fn refusal(settings: &CampaignSettings, facts: &CampaignFacts<'_>) -> Option<Stop> {
    settings.waves.iter().filter(|wave| wave.verify.webhook.is_some()).find_map(|wave| {
        let word = facts.memory.waves.get(&wave.name)?.webhook.as_ref().filter(|word| !word.passed)?;
        let why = match word.why.as_str() {
            "" => format!("the webhook of wave `{}` said no.", wave.name),
            why => format!("the webhook of wave `{}` said no ({why}).", wave.name),
        };
        Some(Stop { at: facts.now, why, by_person: false })
    })
}

/// A wave, once those before it have made room for it.
struct Entered<'a, 'd> {
    settings: &'a CampaignSettings,
    wave: &'a WaveSettings,
    tally: &'a WaveTally,
    facts: &'a CampaignFacts<'a>,
    decision: &'d mut CampaignDecision,
    at: usize,
}

impl Entered<'_, '_> {
    fn stand(&mut self) -> WaveState {
        if !self.tally.behind.is_empty() {
            return self.begin();
        }
        let known = self.known();
        if let Some(at) = known.ended {
            self.note(known);
            return WaveState::Ended { at };
        }
        self.prove()
    }

    /// A wave's record stays while it waits for the previous ones, unless it belongs to another wave.
    fn keep(&mut self) {
        let known = self.known();
        if self.tally.behind.is_empty() && (known.ended.is_some() || self.tally.waiting.is_empty()) {
            self.note(known);
        }
    }

    /// Chooses who of those without a pull request gets one.
    fn begin(&mut self) -> WaveState {
        if self.decision.stopped.is_some() {
            return WaveState::Entered { waits: Some("the campaign is stopped".to_owned()) };
        }
        if let Some(shut) = self.shut() {
            let is_untouched = self.tally.behind.len() == self.tally.clusters;
            return if is_untouched {
                WaveState::Waits { why: shut }
            } else {
                WaveState::Entered { waits: Some(format!("the rest {shut}")) }
            };
        }
        let besides = self.facts.besides.get(self.at).copied().unwrap_or_default();
        let mut load = besides.and(self.tally.load());
        let limit = self.wave.max_rolling;
        let mut waits = None;
        let members = self.facts.members;
        for member in self.tally.behind.iter().filter_map(|place| members.get(*place)) {
            let full = if let Some(most) = self.wave.max_open.filter(|most| load.open >= *most) {
                Some(format!("{} of at most {most} pull requests are open (`maxOpen`)", load.open))
            } else {
                limit.clusters.filter(|most| load.clusters >= *most).map(|most| {
                    format!(
                        "{} of at most {most} clusters may be rolling (`maxRolling.clusters`)",
                        load.clusters
                    )
                })
            };
            if let Some(why) = full {
                // The following members wait for the same.
                waits.get_or_insert(why);
                break;
            }
            if let Some(why) = limit.machines.and_then(|most| no_room(member, load.machines, most)) {
                waits.get_or_insert_with(|| why.words());
            } else {
                load = load.and(Load { open: 1, clusters: 1, machines: member.machines });
                self.decision.open.push(member.cluster.clone());
            }
        }
        WaveState::Entered { waits: waits.or_else(|| self.unproved()) }
    }

    /// Why no pull request of the wave is opened at this time; `None` where they are.
    fn shut(&mut self) -> Option<String> {
        if self.facts.urgent && self.settings.allow_urgent {
            return None;
        }
        let WindowOpening::Shut { until, freeze } =
            opening(&self.wave.windows, &self.settings.freezes, &self.settings.time_zone, self.facts.now)
        else {
            return None;
        };
        let Some(until) = until else {
            return Some("is never open: every window is in a freeze".to_owned());
        };
        self.look_again(until);
        let until = until.to_zoned(self.settings.time_zone.zone().clone());
        let until = until.strftime("%Y-%m-%d %H:%M %Z");
        Some(match freeze {
            Some(reason) => format!("is frozen ({reason}) until {until}"),
            None => format!("is closed until {until}, when its window opens"),
        })
    }

    /// What a wave in which everybody has begun waits for.
    fn prove(&mut self) -> WaveState {
        if let Some(what) = self.unproved() {
            return WaveState::Entered { waits: Some(what) };
        }
        let mut verified = self.tally.verified(self.facts.now);
        if self.wave.verify.webhook.is_some() && self.tally.clusters > 0 {
            let word = self.known().webhook;
            self.note(WaveMemory { webhook: word.clone(), ..WaveMemory::default() });
            match word {
                Some(word) if word.passed => verified = verified.max(word.at),
                Some(word) => {
                    let why = format!("the webhook said no at {}", minute(word.at));
                    return WaveState::Entered { waits: Some(why) };
                }
                None => {
                    // A stopped campaign does not ask its webhook.
                    self.decision.ask_webhook = self.decision.stopped.is_none().then_some(self.at);
                    let silence = self.facts.silence.unwrap_or("the webhook has not answered");
                    return WaveState::Entered { waits: Some(silence.to_owned()) };
                }
            }
        }
        if self.tally.clusters == 0 {
            return WaveState::Ended { at: verified };
        }
        let known = self.known();
        let verified = known.proven.unwrap_or(verified);
        let passes = self.facts.urgent && self.settings.allow_urgent;
        let until = if passes { verified } else { self.wave.soak.after(verified) };
        let ended = (until <= self.facts.now).then_some(until);
        let webhook = known.webhook.filter(|_| self.wave.verify.webhook.is_some());
        self.note(WaveMemory { proven: Some(verified), ended, webhook });
        if ended.is_some() {
            return WaveState::Ended { at: until };
        }
        self.look_again(until);
        WaveState::Soaking { until }
    }

    /// What is noted of the wave.
    fn known(&self) -> WaveMemory {
        self.facts.memory.waves.get(&self.wave.name).cloned().unwrap_or_default()
    }

    fn note(&mut self, what: WaveMemory) {
        if let Some(noted) = self.decision.noted.get_mut(self.at) {
            *noted = what;
        }
    }

    fn unproved(&self) -> Option<String> {
        self.tally.unproved(self.wave, self.facts.members)
    }

    fn look_again(&mut self, at: Timestamp) {
        let earliest = self.decision.look_again.map_or(at, |other| other.min(at));
        self.decision.look_again = Some(earliest);
    }
}

/// Why a cluster's machines may not roll beside those that may be rolling.
struct NoRoom<'a> {
    member: &'a Member,
    rolling: Option<u32>,
    most: u32,
}

/// `None` where they may. A cluster with an unknown number of machines rolls alone.
fn no_room(member: &Member, rolling: Option<u32>, most: u32) -> Option<NoRoom<'_>> {
    let has_room = match (member.machines, rolling) {
        (Some(own), Some(rolling)) => rolling.saturating_add(own) <= most,
        (None, Some(0)) => true,
        (None, Some(_)) | (_, None) => false,
    };
    (!has_room).then_some(NoRoom { member, rolling, most })
}

impl NoRoom<'_> {
    fn words(&self) -> String {
        let Self { member, rolling, most } = self;
        let cluster = &member.cluster;
        match (member.machines, rolling) {
            (Some(own), _) if own > *most => format!(
                "`{cluster}` alone rolls {own} machines, more than `maxRolling.machines` ({most}) allows"
            ),
            (_, None) => {
                format!("the number of rolling machines is unknown (`maxRolling.machines` is {most})")
            }
            (None, Some(_)) => format!(
                "the number of machines that `{cluster}` rolls is unknown, so it rolls on its own (`maxRolling.machines`)"
            ),
            (Some(_), Some(rolling)) => {
                format!("{rolling} of at most {most} machines may be rolling (`maxRolling.machines`)")
            }
        }
    }
}
