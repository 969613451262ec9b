//! How the clusters of a campaign stand, counted by wave. What is decided is read from here, and one cluster that changes
//! is counted again alone: a simulation that decides at every event does not look at the whole fleet each time.
//!
//! A cluster is named by its place among the members. Those that are skipped are not counted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use capstan_model::ids::ClusterId;
use jiff::Timestamp;

use super::facts::{ClusterProgress, Load, Member, WaveVerdict};
use super::settings::{CampaignSettings, WaveSettings};

/// The clusters of all waves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tally {
    waves: Vec<WaveTally>,
    /// Places of those whose rollout failed, in whatever wave.
    failed: BTreeSet<usize>,
}

/// The clusters of a wave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WaveTally {
    /// How many there are.
    pub(crate) clusters: usize,
    /// Places of those without a pull request.
    pub(crate) behind: BTreeSet<usize>,
    /// Places of those that are not through, the former among them.
    pub(crate) waiting: BTreeSet<usize>,
    /// Since when the others are through, and how many since each moment.
    verified: BTreeMap<Timestamp, usize>,
    /// Those that are rolled out.
    pub(crate) done: u32,
    open: u32,
    rolling: u32,
    machines: u64,
    /// Clusters with an unknown number of machines.
    unknown: usize,
}

/// How far one cluster is on the way to the wave's end.
enum WaveProgressOf<'a> {
    /// Not yet.
    Waits(WaitingCluster<'a>),
    /// Since then.
    Verified(Timestamp),
}

/// What a cluster waits for.
pub(crate) struct WaitingCluster<'a> {
    member: &'a Member,
    /// The check that it waits for, and whether that failed; `None` = it is not rolled out.
    check: Option<(&'a str, bool)>,
}

impl Tally {
    /// Counts these clusters.
    pub(crate) fn of(settings: &CampaignSettings, members: &[Member], skipped: &BTreeSet<ClusterId>) -> Self {
        let waves = vec![WaveTally::default(); settings.waves.len()];
        let mut tally = Self { waves, failed: BTreeSet::new() };
        for (place, member) in members.iter().enumerate() {
            if !skipped.contains(&member.cluster) {
                tally.add(settings, place, member);
            }
        }
        tally
    }

    /// The waves, in their order.
    pub(crate) fn waves(&self) -> &[WaveTally] {
        &self.waves
    }

    /// Places of those whose rollout failed.
    pub(crate) fn failed(&self) -> impl Iterator<Item = usize> {
        self.failed.iter().copied()
    }

    /// Counts a cluster.
    pub(crate) fn add(&mut self, settings: &CampaignSettings, place: usize, member: &Member) {
        if matches!(member.standing, ClusterProgress::Failed { .. }) {
            self.failed.insert(place);
        }
        if let Some((tally, wave)) = self.waves.get_mut(member.wave).zip(settings.waves.get(member.wave)) {
            tally.add(wave, place, member);
        }
    }

    /// Counts a cluster no more; `member` is as it was when it was counted.
    pub(crate) fn remove(&mut self, settings: &CampaignSettings, place: usize, member: &Member) {
        self.failed.remove(&place);
        if let Some((tally, wave)) = self.waves.get_mut(member.wave).zip(settings.waves.get(member.wave)) {
            tally.remove(wave, place, member);
        }
    }
}

impl WaveTally {
    fn add(&mut self, wave: &WaveSettings, place: usize, member: &Member) {
        self.clusters += 1;
        match &member.standing {
            ClusterProgress::Behind => drop(self.behind.insert(place)),
            ClusterProgress::Done { .. } => self.done += 1,
            ClusterProgress::Barred(_)
            | ClusterProgress::Open
            | ClusterProgress::Merged
            | ClusterProgress::Failed { .. } => {}
        }
        match progress(wave, member) {
            WaveProgressOf::Waits(_) => drop(self.waiting.insert(place)),
            WaveProgressOf::Verified(at) => *self.verified.entry(at).or_default() += 1,
        }
        let load = Load::of(member);
        self.open += load.open;
        self.rolling += load.clusters;
        match load.machines {
            Some(machines) => self.machines += u64::from(machines),
            None => self.unknown += 1,
        }
    }

    fn remove(&mut self, wave: &WaveSettings, place: usize, member: &Member) {
        self.clusters -= 1;
        self.behind.remove(&place);
        self.waiting.remove(&place);
        if matches!(member.standing, ClusterProgress::Done { .. }) {
            self.done -= 1;
        }
        if let WaveProgressOf::Verified(at) = progress(wave, member)
            && let Some(since) = self.verified.get_mut(&at)
        {
            *since -= 1;
            if *since == 0 {
                self.verified.remove(&at);
            }
        }
        let load = Load::of(member);
        self.open -= load.open;
        self.rolling -= load.clusters;
        match load.machines {
            Some(machines) => self.machines -= u64::from(machines),
            None => self.unknown -= 1,
        }
    }

    /// What may be rolling of it.
    pub(crate) fn load(&self) -> Load {
        let machines = u32::try_from(self.machines).unwrap_or(u32::MAX);
        Load { open: self.open, clusters: self.rolling, machines: (self.unknown == 0).then_some(machines) }
    }

    /// Since when all of the finished ones are verified; for one without a known time, now at the latest.
    pub(crate) fn verified(&self, now: Timestamp) -> Timestamp {
        let last = self.verified.last_key_value().map_or(Timestamp::MIN, |(at, _)| *at);
        if self.verified.contains_key(&Timestamp::MIN) { last.max(now) } else { last }
    }

    /// What the first cluster that is not through waits for, and how many others are not either.
    pub(crate) fn unproved(&self, wave: &WaveSettings, members: &[Member]) -> Option<String> {
        let first = members.get(*self.waiting.first()?)?;
        let WaveProgressOf::Waits(first) = progress(wave, first) else { return None };
        Some(match self.waiting.len() - 1 {
            0 => first.to_string(),
            1 => format!("{first}, and 1 other cluster is not done"),
            others => format!("{first}, and {others} other clusters are not done"),
        })
    }
}

fn progress<'a>(wave: &'a WaveSettings, member: &'a Member) -> WaveProgressOf<'a> {
    let waits = |check| WaveProgressOf::Waits(WaitingCluster { member, check });
    let ClusterProgress::Done { at: mut verified } = member.standing else { return waits(None) };
    for check in &wave.verify.checks {
        match member.checks.get(check).copied().unwrap_or(WaveVerdict::Pending) {
            WaveVerdict::Passed { at } => verified = verified.max(at),
            WaveVerdict::Pending => return waits(Some((check, false))),
            WaveVerdict::Failed { .. } => return waits(Some((check, true))),
        }
    }
    WaveProgressOf::Verified(verified)
}

impl fmt::Display for WaitingCluster<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cluster = &self.member.cluster;
        match (self.check, &self.member.standing) {
            (Some((check, true)), _) => write!(f, "check `{check}` of the merge of `{cluster}` failed"),
            (Some((check, false)), _) => {
                write!(f, "check `{check}` of the merge of `{cluster}` has not passed")
            }
            (None, ClusterProgress::Behind) => write!(f, "`{cluster}` has no pull request yet"),
            (None, ClusterProgress::Barred(why)) => write!(f, "`{cluster}` waits: {why}"),
            (None, ClusterProgress::Open) => write!(f, "the pull request of `{cluster}` is not merged"),
            (None, ClusterProgress::Merged | ClusterProgress::Done { .. }) => {
                write!(f, "`{cluster}` is not rolled out")
            }
            (None, ClusterProgress::Failed { how, .. }) => f.write_str(&how.of(cluster)),
        }
    }
}

#[cfg(test)]
mod tests {
    use capstan_test_support::random::{Random, seed};

    use super::*;
    use crate::decision_tests::{at, campaign, id, wave};
    use crate::facts::RolloutFailure;

    #[test]
    fn one_that_changes_is_counted_again_as_if_all_were() {
        let seed = seed();
        eprintln!("seed {seed}");
        let mut random = Random::new(seed);
        let mut settings = campaign(vec![wave("a", "a/*"), wave("b", "b/*")]);
        settings.waves[1].verify.checks.insert("e2e".to_owned());
        let nobody = BTreeSet::new();
        let standings = [
            ClusterProgress::Behind,
            ClusterProgress::Barred("it is on hold".to_owned()),
            ClusterProgress::Open,
            ClusterProgress::Merged,
            ClusterProgress::Done { at: at("2026-11-24T12:00:00Z") },
            ClusterProgress::Done { at: Timestamp::MIN },
            ClusterProgress::Failed { how: RolloutFailure::Stuck, at: at("2026-11-24T12:00:00Z") },
        ];
        // One of a wave that there is not.
        let mut members: Vec<Member> = (0..30)
            .map(|place| Member {
                cluster: id(&format!("a/{place}")),
                wave: place % 3,
                machines: (place % 5 > 0).then_some(3),
                standing: ClusterProgress::Behind,
                checks: BTreeMap::new(),
            })
            .collect();
        let mut tally = Tally::of(&settings, &members, &nobody);
        for _ in 0..1_000 {
            let place = random.below(members.len());
            let member = &mut members[place];
            tally.remove(&settings, place, member);
            member.standing = standings[random.below(standings.len())].clone();
            if random.percent(50) {
                let passed = WaveVerdict::Passed { at: at("2026-11-24T13:00:00Z") };
                member.checks.insert("e2e".to_owned(), passed);
            } else {
                member.checks.clear();
            }
            tally.add(&settings, place, member);
            assert_eq!(tally, Tally::of(&settings, &members, &nobody));
        }
        let skipped = BTreeSet::from([members[7].cluster.clone()]);
        tally.remove(&settings, 7, &members[7]);
        assert_eq!(tally, Tally::of(&settings, &members, &skipped));
    }
}
