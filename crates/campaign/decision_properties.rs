//! Two thousand random fleets under random settings, in which people, machines, checks and time do what they like, in any
//! order: what must hold after each decision is counted here from what happened, not from what the decision says.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::ids::ClusterId;
use capstan_test_support::random::{Random, seed};
use jiff::{SignedDuration, Timestamp};

use crate::decision::{CampaignDecision, CampaignFacts, decide};
use crate::decision_tests::{at, campaign, id, wave};
use crate::facts::{ClusterProgress, Member, Memory, RolloutFailure, Stop, WaveVerdict, WebhookWord};
use crate::settings::{CampaignSettings, MaxRolling, StopOn, Timeout, Webhook, WebhookUrl};
use crate::time::{Cron, Freeze, Moment, Period, Window};

const CAMPAIGNS: u64 = 2_000;
const EVENTS: usize = 60;
const BEGINS: &str = "2026-11-23T07:00:00Z";
/// A day in which nothing begins, where there is a freeze.
const FREEZE: [&str; 2] = ["2026-11-24T00:00:00Z", "2026-11-25T00:00:00Z"];
/// The hours of a day, from and until, in which something begins where there are windows.
const OPEN: [i8; 2] = [8, 11];
const FAILURES: [RolloutFailure; 3] =
    [RolloutFailure::Stuck, RolloutFailure::Refused, RolloutFailure::RolledBack];

struct World {
    seed: u64,
    random: Random,
    settings: CampaignSettings,
    members: Vec<Member>,
    memory: Memory,
    urgent: bool,
    now: Timestamp,
    /// Since when all of a wave is verified without a break, as it was seen; and whether it ended then.
    well: Vec<Option<Timestamp>>,
    ended: Vec<bool>,
    /// What happened, for debugging.
    story: Vec<String>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let waves = 1 + random.below(4);
        let members = (0..waves)
            .flat_map(|wave| (0..random.below(6)).map(move |at| (wave, at)).collect::<Vec<_>>())
            .map(|(wave, at)| (wave, id(&format!("w{wave}/c{at}"))))
            .collect::<Vec<_>>();
        let members = members
            .into_iter()
            .map(|(wave, cluster)| Member {
                cluster,
                wave,
                machines: random.percent(90).then(|| 1 + small(&mut random, 5)),
                standing: ClusterProgress::Behind,
                checks: BTreeMap::new(),
            })
            .collect();
        let all = (0..waves).map(|at| random_wave(&mut random, at)).collect();
        let mut settings = campaign(all);
        settings.allow_urgent = random.percent(30);
        if random.percent(30) {
            let [from, until] = FREEZE.map(|time| Moment::parse(time.split('T').next().unwrap()).unwrap());
            settings.freezes = vec![Freeze { from, until, reason: "fair".to_owned() }];
        }
        let count = 1 + small(&mut random, 3);
        settings.stop_on = StopOn {
            failures: FAILURES.into_iter().filter(|_| random.percent(80)).collect(),
            count,
            of: random.percent(50).then(|| count + small(&mut random, 3)),
        };
        Self {
            seed,
            urgent: random.percent(20),
            random,
            settings,
            members,
            memory: Memory::default(),
            now: at(BEGINS),
            well: vec![None; waves],
            ended: vec![false; waves],
            story: Vec::new(),
        }
    }

    fn note(&mut self, what: impl Into<String>) {
        self.story.push(format!("{} {}", self.now, what.into()));
    }

    fn history(&self) -> String {
        format!("seed {}: {:#?}\n{}", self.seed, self.settings, self.story.join("\n"))
    }

    fn skipped(&self, member: &Member) -> bool {
        self.memory.skipped.contains(&member.cluster)
    }

    fn of_wave(&self, at: usize) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(move |member| member.wave == at && !self.skipped(member))
    }

    /// Decides, holds the decision against what happened, and performs it.
    fn decide(&mut self) -> CampaignDecision {
        let facts = CampaignFacts {
            members: &self.members,
            memory: &self.memory,
            besides: &[],
            silence: None,
            urgent: self.urgent,
            now: self.now,
        };
        let decision = decide(&self.settings, &facts);
        self.follow_waves();
        self.holds(&decision);
        // What is noted goes through the folded block of an issue.
        let noted = decision.remembered(&self.settings, &self.memory);
        let text = serde_json::to_string(&noted).unwrap();
        self.memory = serde_json::from_str(&text).unwrap();
        assert_eq!(self.memory, noted, "{}", self.history());
        for cluster in &decision.open {
            let member = self.members.iter_mut().find(|member| member.cluster == *cluster).unwrap();
            member.standing = ClusterProgress::Open;
        }
        self.limits_hold(&decision.open);
        if !decision.open.is_empty() {
            self.note(format!("opened {:?}", decision.open));
        }
        decision
    }

    /// Which waves are well, and since when.
    fn follow_waves(&mut self) {
        for at in 0..self.settings.waves.len() {
            let all: Vec<&Member> = self.of_wave(at).collect();
            let (settings, nobody) = (&self.settings.waves[at], all.is_empty());
            if all.iter().any(|member| member.standing == ClusterProgress::Behind) {
                (self.well[at], self.ended[at]) = (None, false);
                continue;
            }
            let word = self.memory.waves.get(&settings.name).and_then(|known| known.webhook.as_ref());
            let mut since =
                all.iter().map(|member| verified(member, &settings.verify.checks)).collect::<Vec<_>>();
            if settings.verify.webhook.is_some() {
                since.push(word.filter(|word| word.passed).map(|word| word.at));
            }
            // What nobody dates is seen now for the first time.
            let since: Option<Vec<Timestamp>> = since.into_iter().collect();
            let since = since.map(|all| {
                all.into_iter()
                    .map(|at| if at == Timestamp::MIN { self.now } else { at })
                    .max()
                    .unwrap_or(self.now)
            });
            self.well[at] = since.map(|since| self.well[at].unwrap_or(since));
            let passes = self.urgent && self.settings.allow_urgent;
            let soaked = |since: Timestamp| passes || settings.soak.after(since) <= self.now;
            self.ended[at] |= nobody || self.well[at].is_some_and(soaked);
        }
    }

    fn holds(&self, decision: &CampaignDecision) {
        let history = || format!("{}\n{decision:#?}", self.history());
        let opens: BTreeSet<&ClusterId> = decision.open.iter().collect();
        assert_eq!(opens.len(), decision.open.len(), "somebody twice: {}", history());
        if decision.stopped.is_some() {
            assert!(opens.is_empty(), "it is stopped: {}", history());
        }
        for member in &self.members {
            if !opens.contains(&member.cluster) {
                if !self.skipped(member)
                    && matches!(member.standing, ClusterProgress::Behind | ClusterProgress::Barred(_))
                {
                    let why = decision.why_waiting(member, &self.settings, "/capstan").unwrap_or_default();
                    assert!(why.len() > 10, "{} waits and nobody says why: {}", member.cluster, history());
                }
                continue;
            }
            assert_eq!(member.standing, ClusterProgress::Behind, "{}", history());
            assert!(!self.skipped(member), "{}", history());
            assert!(
                self.ended[..member.wave].iter().all(|ended| *ended),
                "{} overtakes: {}",
                member.cluster,
                history()
            );
            let passes = self.urgent && self.settings.allow_urgent;
            assert!(passes || self.is_open_at(member.wave), "out of hours: {}", history());
        }
        let said_no =
            self.memory.waves.values().any(|known| known.webhook.as_ref().is_some_and(|word| !word.passed));
        let stops = self.memory.stopped.is_some() || said_no || self.fails();
        assert_eq!(decision.stopped.is_some(), stops, "{}", history());
    }

    /// Whether something may begin in a wave at this hour.
    fn is_open_at(&self, wave: usize) -> bool {
        let [from, until] = FREEZE.map(at);
        let frozen = !self.settings.freezes.is_empty() && from <= self.now && self.now < until;
        let hour = self.now.to_zoned(jiff::tz::TimeZone::UTC).hour();
        let open = self.settings.waves[wave].windows.is_empty() || (OPEN[0]..OPEN[1]).contains(&hour);
        open && !frozen
    }

    /// Whether enough of the last rollouts failed, without forgiven ones.
    fn fails(&self) -> bool {
        let stop = &self.settings.stop_on;
        let mut ended: Vec<(Timestamp, &ClusterId, bool)> = Vec::new();
        for member in self.members.iter().filter(|member| !self.skipped(member)) {
            match member.standing {
                ClusterProgress::Done { at } => ended.push((at, &member.cluster, false)),
                ClusterProgress::Failed { how, at } if stop.failures.contains(&how) => {
                    ended.push((at, &member.cluster, true));
                }
                _ => {}
            }
        }
        ended.retain(|(at, ..)| self.memory.resumed_at.is_none_or(|resumed| *at > resumed));
        ended.sort();
        ended.reverse();
        ended.truncate(stop.of.map_or(usize::MAX, |of| usize::try_from(of).unwrap()));
        ended.iter().filter(|(.., failed)| *failed).count() >= usize::try_from(stop.count).unwrap()
    }

    /// What was opened now fits beside what may be rolling already.
    fn limits_hold(&self, opened: &[ClusterId]) {
        for (at, settings) in self.settings.waves.iter().enumerate() {
            if !self.of_wave(at).any(|member| opened.contains(&member.cluster)) {
                continue;
            }
            let open = self.of_wave(at).filter(|member| member.standing == ClusterProgress::Open).count();
            let rolling: Vec<&Member> = self
                .of_wave(at)
                .filter(|member| {
                    matches!(
                        member.standing,
                        ClusterProgress::Open | ClusterProgress::Merged | ClusterProgress::Failed { .. }
                    )
                })
                .collect();
            let fits = |most: Option<u32>, count: usize| {
                most.is_none_or(|most| count <= usize::try_from(most).unwrap())
            };
            assert!(fits(settings.max_open, open), "{open} open: {}", self.history());
            assert!(fits(settings.max_rolling.clusters, rolling.len()), "{rolling:?}: {}", self.history());
            if let Some(most) = settings.max_rolling.machines {
                let alone = rolling.len() == 1;
                let machines: Option<u32> = rolling.iter().map(|member| member.machines).sum();
                assert!(
                    machines.map_or(alone, |machines| machines <= most),
                    "{rolling:?}: {}",
                    self.history()
                );
            }
        }
    }

    /// Anything happens.
    fn happen(&mut self) {
        let wait = SignedDuration::from_mins(i64::from(small(&mut self.random, 200)));
        self.now += wait;
        if self.members.is_empty() {
            return;
        }
        let (now, which) = (self.now, self.random.below(self.members.len()));
        let chance = self.random.below(100);
        let dated = self.random.percent(70);
        let since = |now| if dated { now } else { Timestamp::MIN };
        let how = FAILURES[self.random.below(3)];
        let verdict = match self.random.below(4) {
            0 => WaveVerdict::Failed { at: now },
            1 => WaveVerdict::Pending,
            _ => WaveVerdict::Passed { at: now },
        };
        let member = &self.members[which];
        let cluster = member.cluster.clone();
        let next = match (&member.standing, chance) {
            (ClusterProgress::Behind, 0..10) => Some(ClusterProgress::Barred("it is on hold".to_owned())),
            (ClusterProgress::Barred(_), 0..50) => Some(ClusterProgress::Behind),
            (ClusterProgress::Open, 0..60) => Some(ClusterProgress::Merged),
            (ClusterProgress::Open, 60..70) => {
                Some(ClusterProgress::Barred("its pull request was closed".to_owned()))
            }
            (ClusterProgress::Merged, 0..60) => Some(ClusterProgress::Done { at: since(now) }),
            (ClusterProgress::Merged, 60..75) | (ClusterProgress::Done { .. }, 0..4) => {
                Some(ClusterProgress::Failed { how, at: now })
            }
            (ClusterProgress::Failed { .. }, 0..40) => Some(ClusterProgress::Done { at: now }),
            // Its machines roll for another reason; or it was taken back, and is offered again.
            (ClusterProgress::Done { .. }, 4..10) => Some(ClusterProgress::Merged),
            (ClusterProgress::Done { .. } | ClusterProgress::Failed { .. }, 90..93) => {
                Some(ClusterProgress::Behind)
            }
            _ => None,
        };
        if let Some(next) = next {
            self.note(format!("{cluster}: {next:?}"));
            self.members[which].standing = next;
            return;
        }
        match chance {
            70..80 => {
                self.note(format!("{cluster}: {verdict:?}"));
                self.members[which].checks.insert("e2e".to_owned(), verdict);
            }
            80..82 if self.memory.stopped.is_none() => {
                self.note("somebody stops it");
                self.memory.stopped =
                    Some(Stop { at: now, why: "`olga` stopped it.".to_owned(), by_person: true });
            }
            82..90 => self.resume(),
            93..95 => {
                self.note(format!("{cluster} is skipped"));
                self.memory.skipped.insert(cluster);
            }
            _ => {}
        }
    }

    /// A person's `resume`, as the bot performs it.
    fn resume(&mut self) {
        self.note("somebody resumes it");
        if self.memory.stopped.take().is_some() {
            self.memory.resumed_at = Some(self.now);
        }
        for known in self.memory.waves.values_mut() {
            known.webhook = known.webhook.take().filter(|word| word.passed);
        }
    }

    /// The webhook answers, where one is asked.
    fn answer(&mut self, decision: &CampaignDecision, passes: bool) {
        let Some(at) = decision.ask_webhook else { return };
        assert!(decision.stopped.is_none(), "{}", self.history());
        let name = self.settings.waves[at].name.clone();
        self.note(format!("the webhook of {name}: {passes}"));
        let word = WebhookWord { at: self.now, passed: passes, why: String::new() };
        self.memory.waves.entry(name).or_default().webhook = Some(word);
    }

    /// Everybody does what is asked of them: it ends, or the last decision says what it waits for.
    fn come_to_an_end(&mut self) {
        for _ in 0..400 {
            let decision = self.decide();
            if decision.has_ended() {
                return;
            }
            self.answer(&decision, true);
            if decision.stopped.is_some() {
                self.now += SignedDuration::from_mins(1);
                self.resume();
            }
            let now = self.now;
            for member in &mut self.members {
                member.checks.insert("e2e".to_owned(), WaveVerdict::Passed { at: now });
                member.standing = match member.standing {
                    ClusterProgress::Open => ClusterProgress::Merged,
                    ClusterProgress::Merged | ClusterProgress::Failed { .. } => {
                        ClusterProgress::Done { at: now }
                    }
                    ClusterProgress::Barred(_) => ClusterProgress::Behind,
                    ref standing => standing.clone(),
                };
            }
            let next = self.now + SignedDuration::from_mins(30);
            self.now = decision.look_again.map_or(next, |at| at.max(next));
        }
        // Only a cluster that alone has more machines than may ever roll is in the way.
        let too_many = |member: &&Member| {
            let most = self.settings.waves[member.wave].max_rolling.machines;
            member.standing == ClusterProgress::Behind
                && most.is_some_and(|most| member.machines.is_some_and(|own| own > most))
        };
        let held_up = self.members.iter().filter(|member| !self.skipped(member)).find(too_many);
        assert!(held_up.is_some(), "it never ends: {}", self.history());
    }
}

fn random_wave(random: &mut Random, at: usize) -> crate::settings::WaveSettings {
    let limit = |random: &mut Random| random.percent(40).then(|| 1 + small(random, 5));
    let mut one = wave(&format!("w{at}"), &format!("w{at}/*"));
    one.soak = Period::minutes(i64::from(small(random, 3)) * 90);
    one.max_open = limit(random);
    one.max_rolling = MaxRolling { clusters: limit(random), machines: limit(random).map(|most| most + 2) };
    if random.percent(30) {
        let cron = Cron::parse(&format!("0 {} * * *", OPEN[0])).unwrap();
        one.windows = vec![Window { cron, duration: Period::minutes(i64::from(OPEN[1] - OPEN[0]) * 60) }];
    }
    if random.percent(30) {
        one.verify.checks.insert("e2e".to_owned());
    }
    if random.percent(30) {
        let url = WebhookUrl::parse("https://judge.example").unwrap();
        one.verify.webhook = Some(Webhook { url, timeout: Timeout::default() });
    }
    one
}

/// Since when a cluster is verified.
fn verified(member: &Member, checks: &BTreeSet<String>) -> Option<Timestamp> {
    let ClusterProgress::Done { at } = member.standing else { return None };
    checks.iter().try_fold(at, |latest, check| match member.checks.get(check) {
        Some(WaveVerdict::Passed { at }) => Some(latest.max(*at)),
        _ => None,
    })
}

fn small(random: &mut Random, below: usize) -> u32 {
    u32::try_from(random.below(below)).unwrap()
}

#[test]
fn no_wave_overtakes_another_limits_hold_and_every_wait_has_a_reason() {
    let first = seed();
    eprintln!("seed {first}");
    for seed in first..first + CAMPAIGNS {
        let mut world = World::new(seed);
        for _ in 0..EVENTS {
            let decision = world.decide();
            if world.random.percent(40) {
                let passes = world.random.percent(80);
                world.answer(&decision, passes);
            }
            world.happen();
        }
        world.come_to_an_end();
    }
}
