//! Decisions, each case written out.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::glob::Glob;
use capstan_model::ids::ClusterId;
use capstan_model::tree::RepoPath;
use jiff::Timestamp;

use crate::decision::{CampaignDecision, CampaignFacts, WaveState, decide};
use crate::facts::{
    ClusterProgress, Load, Member, Memory, RolloutFailure, Stop, WaveMemory, WaveVerdict, WebhookWord,
};
use crate::settings::{
    CampaignSettings, MaxRolling, Membership, StopOn, Timeout, Verify, WaveSettings, Webhook, WebhookUrl,
};
use crate::time::{Freeze, Moment, Period, ZoneName};

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(crate) fn id(text: &str) -> ClusterId {
    ClusterId::new(RepoPath::parse(text).unwrap())
}

pub(crate) fn wave(name: &str, glob: &str) -> WaveSettings {
    WaveSettings {
        name: name.to_owned(),
        matches: Membership { clusters: vec![Glob::parse(glob).unwrap()], ..Membership::default() },
        soak: Period::default(),
        windows: Vec::new(),
        max_open: None,
        max_rolling: MaxRolling::default(),
        verify: Verify::default(),
    }
}

pub(crate) fn campaign(waves: Vec<WaveSettings>) -> CampaignSettings {
    CampaignSettings {
        name: "fleet".to_owned(),
        releases: Vec::new(),
        waves,
        freezes: Vec::new(),
        time_zone: ZoneName::default(),
        stop_on: StopOn::default(),
        allow_urgent: false,
    }
}

const NOON: &str = "2026-11-24T12:00:00Z";

fn member(cluster: &str, wave: usize, standing: ClusterProgress) -> Member {
    Member { cluster: id(cluster), wave, machines: Some(5), standing, checks: BTreeMap::new() }
}

fn done(text: &str) -> ClusterProgress {
    ClusterProgress::Done { at: at(text) }
}

fn stuck(text: &str) -> ClusterProgress {
    ClusterProgress::Failed { how: RolloutFailure::Stuck, at: at(text) }
}

/// Two waves: `canary/*`, and everybody else.
fn two() -> CampaignSettings {
    campaign(vec![wave("canary", "canary/*"), wave("rest", "**")])
}

fn judge(settings: &CampaignSettings, members: &[Member], memory: &Memory) -> CampaignDecision {
    let facts = CampaignFacts { members, memory, besides: &[], silence: None, urgent: false, now: at(NOON) };
    decide(settings, &facts)
}

fn opens(decision: &CampaignDecision) -> Vec<&str> {
    decision.open.iter().map(ClusterId::as_str).collect()
}

fn waits(settings: &CampaignSettings, decision: &CampaignDecision, member: &Member) -> String {
    decision.why_waiting(member, settings, "/capstan").unwrap_or_default()
}

#[test]
fn a_wave_waits_for_the_one_before_and_says_for_what() {
    let settings = two();
    let second = member("a/1", 1, ClusterProgress::Behind);
    let rows = [
        (ClusterProgress::Behind, "`canary/1` has no pull request yet"),
        (ClusterProgress::Open, "the pull request of `canary/1` is not merged"),
        (ClusterProgress::Merged, "`canary/1` is not rolled out"),
        (ClusterProgress::Barred("it is on hold (audit)".into()), "`canary/1` waits: it is on hold (audit)"),
    ];
    for (standing, what) in rows {
        let members = [member("canary/1", 0, standing.clone()), second.clone()];
        let decision = judge(&settings, &members, &Memory::default());
        let opened: &[&str] = if standing == ClusterProgress::Behind { &["canary/1"] } else { &[] };
        assert_eq!(opens(&decision), opened, "{standing:?}");
        assert_eq!(
            waits(&settings, &decision, &second),
            format!("Wave `rest` of campaign `fleet` waits for wave `canary`: {what}.")
        );
    }
    let members = [member("canary/1", 0, done("2026-11-24T11:00:00Z")), second];
    assert_eq!(opens(&judge(&settings, &members, &Memory::default())), ["a/1"]);
}

#[test]
fn a_wave_without_clusters_delays_no_other_wave() {
    let members = [member("a/1", 1, ClusterProgress::Behind)];
    let decision = judge(&two(), &members, &Memory::default());
    assert_eq!(opens(&decision), ["a/1"]);
    assert_eq!(decision.waves[0], WaveState::Ended { at: Timestamp::MIN });
}

#[test]
fn it_soaks_from_the_moment_that_the_last_proof_came() {
    let mut settings = two();
    settings.waves[0].soak = Period::parse("24h").unwrap();
    settings.waves[0].verify.checks = BTreeSet::from(["e2e".to_owned()]);
    let mut first = member("canary/1", 0, done("2026-11-23T10:00:00Z"));
    let second = member("a/1", 1, ClusterProgress::Behind);
    let judged = |first: &Member| judge(&settings, &[first.clone(), second.clone()], &Memory::default());
    assert_eq!(
        waits(&settings, &judged(&first), &second),
        "Wave `rest` of campaign `fleet` waits for wave `canary`: check `e2e` of the merge of `canary/1` has not passed."
    );
    first.checks.insert("e2e".into(), WaveVerdict::Failed { at: at("2026-11-23T10:30:00Z") });
    assert!(
        waits(&settings, &judged(&first), &second).contains("check `e2e` of the merge of `canary/1` failed")
    );
    first.checks.insert("e2e".into(), WaveVerdict::Passed { at: at("2026-11-23T12:30:00Z") });
    let soaking = judged(&first);
    let until = at("2026-11-24T12:30:00Z");
    assert_eq!(soaking.waves[0], WaveState::Soaking { until });
    assert_eq!((opens(&soaking), soaking.look_again), (vec![], Some(until)));
    assert_eq!(
        waits(&settings, &soaking, &second),
        "Wave `rest` of campaign `fleet` waits for wave `canary`: it must stay healthy until 2026-11-24 12:30 UTC."
    );
    first.checks.insert("e2e".into(), WaveVerdict::Passed { at: at("2026-11-23T12:00:00Z") });
    assert_eq!(opens(&judged(&first)), ["a/1"], "to the second");
}

#[test]
fn an_urgent_release_passes_soak_and_freeze_where_the_settings_let_it_and_never_a_stop() {
    let mut settings = two();
    settings.waves[0].soak = Period::parse("24h").unwrap();
    let day = |text| Moment::parse(text).unwrap();
    settings.freezes =
        vec![Freeze { from: day("2026-11-20"), until: day("2026-11-30"), reason: "Black Friday".into() }];
    let members =
        [member("canary/1", 0, done("2026-11-24T11:00:00Z")), member("a/1", 1, ClusterProgress::Behind)];
    let memory = Memory::default();
    let facts = CampaignFacts {
        members: &members,
        memory: &memory,
        besides: &[],
        silence: None,
        urgent: true,
        now: at(NOON),
    };
    assert_eq!(opens(&decide(&settings, &facts)), [""; 0], "the settings do not let it");
    settings.allow_urgent = true;
    assert_eq!(opens(&decide(&settings, &facts)), ["a/1"]);
    let failed = [member("canary/1", 0, stuck("2026-11-24T11:00:00Z")), members[1].clone()];
    let facts = CampaignFacts { members: &failed, ..facts };
    assert_eq!(opens(&decide(&settings, &facts)), [""; 0]);

    settings.waves[0].soak = Period::default();
    let quiet = CampaignFacts { members: &members, urgent: false, ..facts };
    let decision = decide(&settings, &quiet);
    assert_eq!(
        waits(&settings, &decision, &members[1]),
        "Wave `rest` of campaign `fleet` is frozen (Black Friday) until 2026-11-30 00:00 UTC."
    );
    assert_eq!(decision.look_again, Some(at("2026-11-30T00:00:00Z")));
}

#[test]
fn limits_count_what_may_roll_from_the_day_it_is_open() {
    let mut settings = campaign(vec![wave("all", "**")]);
    let behind = |name: &str, machines: u32| Member {
        machines: Some(machines),
        ..member(name, 0, ClusterProgress::Behind)
    };
    let members = [
        Member { machines: Some(4), ..member("a/0", 0, ClusterProgress::Open) },
        Member { machines: Some(3), ..member("a/1", 0, ClusterProgress::Merged) },
        Member { machines: Some(90), ..member("a/2", 0, done(NOON)) },
        behind("a/3", 4),
        behind("a/4", 2),
        behind("a/5", 1),
        behind("a/6", 0),
    ];
    settings.waves[0].max_rolling.machines = Some(10);
    let decision = judge(&settings, &members, &Memory::default());
    assert_eq!(opens(&decision), ["a/4", "a/5", "a/6"], "7 of 10 are taken: whoever fits goes");
    assert_eq!(
        waits(&settings, &decision, &members[3]),
        "In wave `all` of campaign `fleet`, 7 of at most 10 machines may be rolling (`maxRolling.machines`)."
    );
    settings.waves[0].max_rolling = MaxRolling { clusters: Some(3), machines: None };
    assert_eq!(opens(&judge(&settings, &members, &Memory::default())), ["a/3"]);
    settings.waves[0].max_rolling = MaxRolling::default();
    settings.waves[0].max_open = Some(2);
    let decision = judge(&settings, &members, &Memory::default());
    assert_eq!(opens(&decision), ["a/3"], "one is open already");
    assert_eq!(
        waits(&settings, &decision, &members[4]),
        "In wave `all` of campaign `fleet`, 2 of at most 2 pull requests are open (`maxOpen`)."
    );
    settings.waves[0].max_open = None;
    settings.waves[0].max_rolling.machines = Some(3);
    let decision = judge(&settings, &[members[3].clone()], &Memory::default());
    assert_eq!(
        waits(&settings, &decision, &members[3]),
        "In wave `all` of campaign `fleet`, `a/3` alone rolls 4 machines, more than `maxRolling.machines` (3) allows."
    );
}

#[test]
fn what_rolls_for_other_releases_takes_room_and_who_cannot_be_counted_goes_alone() {
    let mut settings = campaign(vec![wave("all", "**")]);
    let members = [
        Member { machines: None, ..member("a/1", 0, ClusterProgress::Behind) },
        Member { machines: Some(2), ..member("a/2", 0, ClusterProgress::Behind) },
    ];
    let memory = Memory::default();
    let judged = |settings: &CampaignSettings, members: &[Member], besides: Load| {
        let facts = CampaignFacts {
            members,
            memory: &memory,
            besides: &[besides],
            silence: None,
            urgent: false,
            now: at(NOON),
        };
        let decision = decide(settings, &facts);
        (opens(&decision).join(" "), waits(settings, &decision, members.last().unwrap()))
    };
    let one = Load { open: 1, clusters: 1, machines: Some(3) };
    settings.waves[0].max_open = Some(1);
    let said = "In wave `all` of campaign `fleet`, 1 of at most 1 pull requests are open (`maxOpen`).";
    assert_eq!(judged(&settings, &members, one), (String::new(), said.to_owned()));
    settings.waves[0].max_open = None;
    settings.waves[0].max_rolling.clusters = Some(2);
    let said =
        "In wave `all` of campaign `fleet`, 2 of at most 2 clusters may be rolling (`maxRolling.clusters`).";
    assert_eq!(judged(&settings, &members, one), ("a/1".to_owned(), said.to_owned()));
    settings.waves[0].max_rolling = MaxRolling { clusters: None, machines: Some(5) };
    assert_eq!(judged(&settings, &members, one).0, "a/2", "3 and 2");
    let said = "In wave `all` of campaign `fleet`, the number of rolling machines is unknown (`maxRolling.machines` is 5).";
    assert_eq!(judged(&settings, &members, Load::default()), ("a/1".to_owned(), said.to_owned()));
    let said = "In wave `all` of campaign `fleet`, the number of machines that `a/1` rolls is unknown, so it rolls on its own (`maxRolling.machines`).";
    assert_eq!(judged(&settings, &members[..1], one), (String::new(), said.to_owned()));
}

#[test]
fn failures_stop_it_for_all_until_somebody_resumes() {
    let mut settings = two();
    let members = [
        member("canary/1", 0, done("2026-11-24T09:00:00Z")),
        member("a/1", 1, stuck("2026-11-24T10:00:00Z")),
        member("a/2", 1, ClusterProgress::Behind),
    ];
    let stopped = judge(&settings, &members, &Memory::default());
    let stop = Stop { at: at(NOON), why: "the rollout of `a/1` is stuck.".to_owned(), by_person: false };
    assert_eq!((opens(&stopped), stopped.stopped.as_ref()), (vec![], Some(&stop)));
    assert_eq!(
        waits(&settings, &stopped, &members[2]),
        "Campaign `fleet` was stopped on 2026-11-24 12:00 UTC: the rollout of `a/1` is stuck. `/capstan campaign resume` continues it."
    );
    // It recovers by itself, but a stopped campaign stays stopped until a person resumes it.
    let well = [members[0].clone(), member("a/1", 1, done("2026-11-24T11:00:00Z")), members[2].clone()];
    let memory = Memory { stopped: Some(stop), ..Memory::default() };
    assert_eq!(opens(&judge(&settings, &well, &memory)), [""; 0]);
    let memory = Memory { resumed_at: Some(at("2026-11-24T11:00:00Z")), ..Memory::default() };
    assert_eq!(opens(&judge(&settings, &members, &memory)), ["a/2"], "that failure is forgiven");
    let memory = Memory { skipped: [id("a/1")].into(), ..Memory::default() };
    assert_eq!(opens(&judge(&settings, &members, &memory)), ["a/2"], "it goes on without it");

    // Two of the last three.
    settings.stop_on = StopOn { count: 2, of: Some(3), ..StopOn::default() };
    let ended = |standings: [ClusterProgress; 4]| {
        let members: Vec<Member> =
            (0..4).zip(standings).map(|(at, standing)| member(&format!("a/{at}"), 1, standing)).collect();
        judge(&settings, &members, &Memory::default()).stopped.map(|stop| stop.why)
    };
    let times =
        ["2026-11-24T08:00:00Z", "2026-11-24T09:00:00Z", "2026-11-24T10:00:00Z", "2026-11-24T11:00:00Z"];
    assert_eq!(ended([stuck(times[0]), done(times[1]), done(times[2]), stuck(times[3])]), None);
    assert_eq!(
        ended([done(times[0]), stuck(times[1]), done(times[2]), stuck(times[3])]).as_deref(),
        Some("the rollout of `a/3` is stuck, and 1 other failed before it.")
    );
    settings.stop_on = StopOn { failures: [RolloutFailure::RolledBack].into(), ..StopOn::default() };
    assert_eq!(judge(&settings, &members, &Memory::default()).stopped, None);
}

#[test]
fn a_webhook_is_asked_once_everything_else_was_seen() {
    let mut settings = two();
    settings.waves[0].verify.webhook = Some(Webhook {
        url: WebhookUrl::parse("https://judge.example").unwrap(),
        timeout: Timeout::default(),
    });
    let second = member("a/1", 1, ClusterProgress::Behind);
    let word = |passed, why: &str| WebhookWord { at: at(NOON), passed, why: why.to_owned() };
    let said = |webhook: Option<WebhookWord>| Memory {
        waves: BTreeMap::from([("canary".to_owned(), WaveMemory { webhook, ..WaveMemory::default() })]),
        ..Memory::default()
    };
    let judged = |standing: ClusterProgress, memory: &Memory, silence| {
        let members = [member("canary/1", 0, standing), second.clone()];
        let facts =
            CampaignFacts { members: &members, memory, besides: &[], silence, urgent: true, now: at(NOON) };
        let decision = decide(&settings, &facts);
        let after = decision.remembered(&settings, memory);
        (decision, after)
    };
    let eleven = done("2026-11-24T11:00:00Z");
    assert_eq!(judged(ClusterProgress::Merged, &said(None), None).0.ask_webhook, None);
    let (asked, _) = judged(eleven.clone(), &said(None), Some("judge.example did not answer"));
    assert_eq!((asked.ask_webhook, opens(&asked)), (Some(0), vec![]));
    assert_eq!(
        waits(&settings, &asked, &second),
        "Wave `rest` of campaign `fleet` waits for wave `canary`: judge.example did not answer."
    );
    // A `no` stops it, and the webhook is asked again after a resume.
    let (refused, after) = judged(eleven.clone(), &said(Some(word(false, "p99 doubled"))), None);
    assert_eq!((refused.ask_webhook, opens(&refused)), (None, vec![]));
    let why = "the webhook of wave `canary` said no (p99 doubled).";
    assert_eq!(refused.stopped, Some(Stop { at: at(NOON), why: why.to_owned(), by_person: false }));
    assert_eq!(after.waves["canary"].webhook, Some(word(false, "p99 doubled")));
    // A stopped campaign asks no webhook.
    let stopped = Memory { stopped: refused.stopped, ..Memory::default() };
    assert_eq!(judged(eleven.clone(), &stopped, None).0.ask_webhook, None);
    let (passed, after) = judged(eleven, &said(Some(word(true, ""))), None);
    assert_eq!(opens(&passed), ["a/1"]);
    assert_eq!(after.waves["canary"].webhook, Some(word(true, "")));
    // What it said of the wave is void once somebody in it is behind again.
    let (_, after) = judged(ClusterProgress::Behind, &after, None);
    assert_eq!(after.waves.get("canary"), None);
}

#[test]
fn a_soak_counts_from_what_was_noted_and_an_ended_wave_stays_ended() {
    let mut settings = two();
    settings.waves[0].soak = Period::minutes(60);
    let unknown = ClusterProgress::Done { at: Timestamp::MIN };
    let mut members = [member("canary/1", 0, unknown), member("a/1", 1, ClusterProgress::Behind)];
    let judged = |members: &[Member], memory: &Memory, now: &str| {
        let facts =
            CampaignFacts { members, memory, besides: &[], silence: None, urgent: false, now: at(now) };
        let decision = decide(&settings, &facts);
        let open: Vec<String> = decision.open.iter().map(ToString::to_string).collect();
        (open.join(" "), decision.look_again, decision.remembered(&settings, memory))
    };
    // Nobody tells since when it is done: since now, and that is noted.
    let (open, again, memory) = judged(&members, &Memory::default(), NOON);
    assert_eq!((open.as_str(), again), ("", Some(at("2026-11-24T13:00:00Z"))));
    assert_eq!(memory.waves["canary"].proven, Some(at(NOON)));
    let (open, again, memory) = judged(&members, &memory, "2026-11-24T12:59:00Z");
    assert_eq!((open.as_str(), again), ("", Some(at("2026-11-24T13:00:00Z"))));
    let (open, _, memory) = judged(&members, &memory, "2026-11-24T13:00:00Z");
    assert_eq!(open, "a/1");
    assert_eq!(memory.waves["canary"].ended, Some(at("2026-11-24T13:00:00Z")));
    // Its machines roll for another reason: the waves after it go on.
    members[0].standing = ClusterProgress::Merged;
    assert_eq!(judged(&members, &memory, "2026-11-24T13:10:00Z").0, "a/1");
    // Without the note they would wait; and so would they behind somebody who is behind again.
    assert_eq!(judged(&members, &Memory::default(), "2026-11-24T13:10:00Z").0, "");
    members[0].standing = ClusterProgress::Behind;
    let (open, _, memory) = judged(&members, &memory, "2026-11-24T13:10:00Z");
    assert_eq!(open, "canary/1");
    assert_eq!(memory.waves.get("canary"), None, "it has to prove itself again");
}

#[test]
fn a_proof_that_breaks_while_an_earlier_wave_is_waited_for_is_forgotten() {
    let proven = at("2026-11-24T08:00:00Z");
    let mut memory = Memory::default();
    memory.waves.insert("rest".into(), WaveMemory { proven: Some(proven), ..WaveMemory::default() });
    let first = member("canary/1", 0, ClusterProgress::Open);
    let noted = |standing: ClusterProgress| {
        let decision = judge(&two(), &[first.clone(), member("a/1", 1, standing)], &memory);
        decision.noted[1].proven
    };
    assert_eq!(noted(done("2026-11-24T08:00:00Z")), Some(proven));
    assert_eq!(noted(ClusterProgress::Merged), None);
    assert_eq!(noted(ClusterProgress::Behind), None);
}

/// A whole fleet is rolled back: the record fits into an issue's body, and a new failure is still seen.
#[test]
fn what_is_noted_of_failures_stays_small_and_tells_new_ones_from_those_that_are_known() {
    let (first, later, now) =
        (at("2026-11-23T08:00:00Z"), at("2026-11-23T09:00:00Z"), at("2026-11-23T10:00:00Z"));
    let many: Vec<ClusterId> = (0..10_000).map(|nth| id(&format!("customer{nth}/production"))).collect();
    let mut memory = Memory::default();
    assert_eq!(memory.failed_since(&many[..2], now), [now, now], "all of them are new");
    memory.note_failed(many.iter().cloned().map(|cluster| (cluster, first)));
    let noted = serde_json::to_string(&memory).unwrap();
    assert!(noted.len() < 10_000, "{}", noted.len());
    let read: Memory = serde_json::from_str(&noted).unwrap();
    assert_eq!(read, memory);
    assert_eq!(memory.failed_since(&many, now), vec![first; 10_000]);
    // Some healed: none of the others is new.
    assert_eq!(memory.failed_since(&many[5_000..], now), vec![first; 5_000]);

    // One more, beside all those: among the unnamed ones the new one cannot be identified.
    let mut more = many.clone();
    more.push(id("z/new"));
    let since = memory.failed_since(&more, later);
    assert!(since[..100].contains(&first) && since[10_000] == later, "{:?}", &since[9_990..]);
    let mut memory = Memory::default();
    memory.note_failed(more.iter().cloned().zip(since));
    assert_eq!(memory.failed_since(&more[10_000..], now), [later]);
    assert_eq!(memory.failed.len(), 100);
}
