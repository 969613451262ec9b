//! A release in its campaign: what is asked about it, in which order, and what comes of the answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_campaign::facts::WebhookWord;
use capstan_campaign::settings::CampaignSettings;
use capstan_facts::{CheckState, ClusterStanding, EarlierPullRequest, PullRequestState, WebhookQuestion};
use capstan_model::finding::Finding;
use capstan_plan::proposal::{Action, BranchStep, ProposalId};
use capstan_plan::settings::{GroupPattern, GroupSettings, Mode, read_campaigns};
use jiff::{SignedDuration, Timestamp};

use super::tests::{cluster, decided, note, notes};
use super::*;
use crate::proposals::{DecidedPull, DecisionStep};
use crate::testing::{Case, V22, commit, id, now, report};

/// A campaign with a wave of `gauss/*` that is verified so, and one with the others.
fn campaign(verify: &str) -> Vec<CampaignSettings> {
    let text = format!(
        "campaigns:
- name: prod
  waves:
  - name: canary
    match: {{clusters: [\"gauss/*\"]}}
    verify: {{{verify}}}
  - name: rest
    match: {{clusters: [\"**\"]}}
"
    );
    read_campaigns(&text).unwrap()
}

const HOOK: &str = "webhook: {url: \"https://ci.example.com/well\"}";

/// Two clusters that have the release, and one of the next wave that is offered it.
fn fleet(verify: &str) -> Case {
    Case::new()
        .current("gauss/peu01")
        .current("gauss/peu02")
        .offered("kiel/peu01")
        .settings(|settings| settings.campaigns = campaign(verify))
}

fn merged(number: u64, target: &str, state: PullRequestState) -> EarlierPullRequest {
    EarlierPullRequest {
        number,
        state,
        head_branch: id(target).branch(),
        head: commit('a'),
        base: commit('0'),
        body: String::new(),
    }
}

/// The answers where #3 and #4 brought the release, as the commits `b` and `c`.
fn release_found() -> ReleaseFound {
    let merges = vec![
        merged(3, "gauss/peu01", PullRequestState::Merged),
        merged(4, "gauss/peu02", PullRequestState::Merged),
    ];
    ReleaseFound {
        stale: Some(BTreeSet::new()),
        merges: BTreeMap::from([(0, Ok(merges))]),
        commits: BTreeMap::from([(3, Ok(Some(commit('b')))), (4, Ok(Some(commit('c'))))]),
        ..ReleaseFound::default()
    }
}

fn checked(found: ReleaseFound, states: &[(char, &str, Option<CheckState>)]) -> ReleaseFound {
    let checks = states.iter().map(|(at, name, state)| {
        ((commit(*at), (*name).to_owned()), Ok(CheckSeen { state: *state, at: now() }))
    });
    ReleaseFound { checks: checks.collect(), ..found }
}

fn heard(state: WebhookAnswerState) -> ReleaseFound {
    ReleaseFound { webhooks: BTreeMap::from([(0, state)]), ..release_found() }
}

/// Decides about all releases; `told` answers every question, and a question to a webhook with that it is being asked.
/// What was asked, one a line, and the result.
fn drive(case: &Case, told: &ReleaseFound) -> (Vec<String>, Obeyed) {
    let opens = Action::Open { branch: BranchStep::Create };
    let targets = case.plans.keys().map(|proposal| proposal.target.path().to_owned());
    let decisions: BTreeMap<ProposalId, DecidedPull> =
        targets.map(|target| (id(&target), decided(opens.clone(), &[&target]))).collect();
    let mut asked = Vec::new();
    let obeyed = case.look(|planned| {
        let obeying = Obeying::new(planned, &decisions, &BTreeMap::new(), now());
        let mut obeyed = obeying.begin();
        for moving in obeying.releases() {
            let release = obeying.release(moving, &obeyed);
            let mut found = ReleaseFound::default();
            let decided = loop {
                match release.decide(&found, now()) {
                    DecisionStep::Decided(decided) => break decided,
                    DecisionStep::Ask(need) => asked.push(answer(need, told, &mut found)),
                }
                assert!(asked.len() < 50, "it asks for ever: {asked:?}");
            };
            release.conclude(decided, &mut obeyed);
        }
        obeying.end(obeyed)
    });
    (asked, obeyed)
}

/// Answers a question; what it was.
fn answer(need: ReleaseNeed, told: &ReleaseFound, found: &mut ReleaseFound) -> String {
    let letter = |commit: &capstan_model::tree::CommitId| commit.as_str().get(..1).unwrap().to_owned();
    match need {
        ReleaseNeed::Stale(reported) => {
            found.stale.clone_from(&told.stale);
            let of = |(at, scopes): (&capstan_model::tree::CommitId, &crate::facts::Scopes)| {
                let targets: Vec<&str> = scopes.keys().map(|target| target.path()).collect();
                format!("{}: {}", letter(at), targets.join("+"))
            };
            format!("stale {}", reported.iter().map(of).collect::<Vec<_>>().join(", "))
        }
        ReleaseNeed::Merges(wave, branches) => {
            found.merges.insert(wave, told.merges[&wave].clone());
            format!("merges of wave {wave}: {}", branches.join(" "))
        }
        ReleaseNeed::Commit(number) => {
            found.commits.insert(number, told.commits[&number].clone());
            format!("commit of #{number}")
        }
        ReleaseNeed::Check(at, name) => {
            let words = format!("{name} at {}", letter(&at));
            let key = (at, name);
            found.checks.insert(key.clone(), told.checks[&key]);
            words
        }
        ReleaseNeed::Webhook(asked) => {
            let AskedWave { at, wave, webhook } = *asked;
            found.webhooks.insert(at, told.webhooks[&at].clone());
            format!("webhook of {} {} {} at {}", wave.campaign, wave.release, wave.wave, webhook.url.host())
        }
        ReleaseNeed::Ask(asked, question) => {
            let AskedWave { at, webhook, .. } = *asked;
            let why = format!("the webhook at `{}` is being asked", webhook.url.host());
            found.webhooks.insert(at, WebhookAnswerState::Silent { why, again: None });
            let of = |one: &capstan_facts::WaveCluster| {
                let commit = one.merge_commit.as_deref().and_then(|commit| commit.get(..1)).unwrap_or("-");
                let pull = one.pull_request.map_or_else(|| "-".to_owned(), |pull| format!("#{pull}"));
                format!("{} {pull} {commit}", one.cluster)
            };
            let clusters: Vec<String> = question.clusters.iter().map(of).collect();
            format!("ask about {}", clusters.join(", "))
        }
    }
}

/// Why the cluster of the second wave waits; empty where it does not.
fn waits(obeyed: &Obeyed) -> String {
    obeyed.waiting.get(&id("kiel/peu01")).map(|waits| waits.why.clone()).unwrap_or_default()
}

/// In how many minutes Capstan checks the campaigns again.
fn minutes(obeyed: &Obeyed) -> Option<i64> {
    obeyed.campaigns.look_again.map(|at| at.duration_since(now()).as_mins())
}

const BRANCHES: &str = "merges of wave 0: capstan/upgrade/gauss/peu01 capstan/upgrade/gauss/peu02";

fn lines(all: &[&str]) -> Vec<String> {
    all.iter().map(|one| (*one).to_owned()).collect()
}

#[test]
fn a_wave_that_needs_no_proof_is_asked_nothing() {
    let (asked, obeyed) = drive(&fleet(""), &ReleaseFound::default());
    assert_eq!((asked, waits(&obeyed), minutes(&obeyed)), (vec![], String::new(), None));
    assert_eq!(obeyed.begun["prod"].iter().map(|load| load.clusters).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn checks_of_merges_are_read_up_to_the_first_that_has_not_passed() {
    let passed = Some(CheckState::Passed);
    let both = "check `build` of the merge of `gauss/peu01` has not passed, and 1 other cluster is not done";
    let first = ["commit of #3", "build at b"];
    let second = ["commit of #3", "build at b", "smoke at b", "commit of #4", "build at c"];
    for (states, reads, why, polls) in [
        ([passed; 4], [&second[..], &["smoke at c"]].concat(), "", None),
        ([None, passed, passed, passed], first.to_vec(), both, Some(5)),
        ([Some(CheckState::Pending), passed, passed, passed], first.to_vec(), both, Some(5)),
        (
            [passed, passed, Some(CheckState::Failed), passed],
            second.to_vec(),
            "check `build` of the merge of `gauss/peu02` failed",
            Some(5),
        ),
    ] {
        let names = [('b', "build"), ('b', "smoke"), ('c', "build"), ('c', "smoke")];
        let states: Vec<_> =
            names.into_iter().zip(states).map(|((at, name), state)| (at, name, state)).collect();
        let (asked, obeyed) = drive(&fleet("checks: [build, smoke]"), &checked(release_found(), &states));
        assert_eq!(asked, lines(&[&[BRANCHES], reads.as_slice()].concat()));
        let expected = match why {
            "" => String::new(),
            why => format!("Wave `rest` of campaign `prod` waits for wave `canary`: {why}."),
        };
        assert_eq!((waits(&obeyed), minutes(&obeyed)), (expected, polls));
    }
}

#[test]
fn a_verified_wave_is_not_asked_again() {
    let proven = now() - SignedDuration::from_hours(1);
    let mut record = note("prod", V22, None);
    record.memory.waves.entry("canary".to_owned()).or_default().proven = Some(proven);
    let case = Case { record: notes(vec![record]), ..fleet("checks: [build]") };
    let (asked, obeyed) = drive(&case, &ReleaseFound::default());
    assert_eq!((asked, waits(&obeyed)), (vec![], String::new()));
    assert_eq!(obeyed.campaigns.notes[0].memory.waves["canary"].proven, Some(proven));
}

#[test]
fn nothing_is_asked_of_a_wave_whose_clusters_are_not_there_yet() {
    for verify in ["checks: [build]", HOOK] {
        let case = fleet(verify).offered("gauss/peu02").proposed(9, "gauss/peu02", 'd');
        let (asked, obeyed) = drive(&case, &ReleaseFound::default());
        assert_eq!(asked, lines(&[]), "{verify}");
        assert!(waits(&obeyed).starts_with("Wave `rest` of campaign `prod` waits for wave `canary`: "));
    }
}

#[test]
fn a_change_that_no_pull_request_brought_is_judged_at_the_tip_once() {
    let closed = merged(3, "gauss/peu01", PullRequestState::Closed);
    for (merges, commits, reads) in [
        (vec![closed], BTreeMap::new(), vec![BRANCHES, "build at 0"]),
        (
            vec![merged(3, "gauss/peu01", PullRequestState::Merged)],
            BTreeMap::from([(3, Ok(None))]),
            vec![BRANCHES, "commit of #3", "build at 0"],
        ),
    ] {
        let found = ReleaseFound { merges: BTreeMap::from([(0, Ok(merges))]), commits, ..release_found() };
        let found = checked(found, &[('0', "build", Some(CheckState::Passed))]);
        let (asked, obeyed) = drive(&fleet("checks: [build]"), &found);
        assert_eq!((asked, waits(&obeyed)), (lines(&reads), String::new()));
    }
}

#[test]
fn the_newest_merge_of_a_clusters_own_branch_and_its_groups_counts() {
    let by = GroupSettings { by: GroupPattern::parse("*/").unwrap() };
    let case = fleet("checks: [build]").settings(|settings| settings.upgrade.proposals.group = Some(by));
    let merges = vec![
        merged(3, "gauss/peu01", PullRequestState::Merged),
        merged(8, "group://gauss", PullRequestState::Merged),
        merged(4, "gauss/peu02", PullRequestState::Merged),
        merged(9, "gauss/peu02", PullRequestState::Open),
    ];
    let found = ReleaseFound {
        merges: BTreeMap::from([(0, Ok(merges))]),
        commits: BTreeMap::from([(8, Ok(Some(commit('d'))))]),
        ..release_found()
    };
    let (asked, _) = drive(&case, &checked(found, &[('d', "build", Some(CheckState::Passed))]));
    let branches = "merges of wave 0: capstan/upgrade/%group/gauss capstan/upgrade/gauss/peu01 capstan/upgrade/gauss/peu02";
    assert_eq!(asked, lines(&[branches, "commit of #8", "build at d"]));
}

#[test]
fn an_unreadable_check_has_not_passed_and_is_read_again() {
    let unread_check = ((commit('b'), "build".to_owned()), Err(UnreadNow));
    for (found, last) in [
        (ReleaseFound { merges: BTreeMap::from([(0, Err(UnreadNow))]), ..release_found() }, BRANCHES),
        (ReleaseFound { commits: BTreeMap::from([(3, Err(UnreadNow))]), ..release_found() }, "commit of #3"),
        (ReleaseFound { checks: BTreeMap::from([unread_check]), ..release_found() }, "build at b"),
    ] {
        let (asked, obeyed) = drive(&fleet("checks: [build]"), &found);
        assert_eq!(asked.last().map(String::as_str), Some(last));
        assert_eq!(minutes(&obeyed), Some(5), "{last}");
        assert!(!waits(&obeyed).is_empty(), "{last}");
    }
}

/// A fleet whose first cluster is reported on, as done at the commit `d`.
fn reported(verify: &str) -> Case {
    let mut case = fleet(verify);
    let standing = ClusterStanding {
        management_cluster: serde_json::from_value(serde_json::json!("6e3a3c9e-52a3-4c39-9c58-1d1b5d1ae0b0"))
            .unwrap(),
        name: "mc".to_owned(),
        agent: None,
        report: report("gauss/peu01", "done", 'd', 3),
    };
    case.reporters.standings.insert(cluster("gauss/peu01"), standing);
    case
}

#[test]
fn a_report_on_other_inputs_proves_nothing() {
    for (stale, waits_for_it) in [(vec![], false), (vec!["gauss/peu01"], true)] {
        let stale = stale.into_iter().map(cluster).collect();
        let (asked, obeyed) = drive(&reported(""), &ReleaseFound { stale: Some(stale), ..release_found() });
        assert_eq!(asked, lines(&["stale d: gauss/peu01"]));
        assert_eq!(!waits(&obeyed).is_empty(), waits_for_it);
    }
}

#[test]
fn a_webhook_is_asked_after_everything_else_is_proven() {
    let word =
        |passed, why: &str| WebhookAnswerState::Said(WebhookWord { at: now(), passed, why: why.to_owned() });
    let verify = format!("checks: [build], {HOOK}");
    let found = checked(heard(word(true, "")), &[('b', "build", Some(CheckState::Pending))]);
    let (asked, _) = drive(&fleet(&verify), &found);
    assert_eq!(asked, lines(&[BRANCHES, "commit of #3", "build at b"]));
    let question = "webhook of prod aws/v22.0.0 canary at ci.example.com";
    let (asked, obeyed) = drive(&fleet(HOOK), &heard(word(true, "")));
    assert_eq!((asked, waits(&obeyed)), (lines(&[question]), String::new()));
    let noted = &obeyed.campaigns.notes[0].memory.waves["canary"];
    assert_eq!(noted.webhook, Some(WebhookWord { at: now(), passed: true, why: String::new() }));
    // A no stops the campaign.
    let (asked, obeyed) = drive(&fleet(HOOK), &heard(word(false, "5 % errors")));
    assert_eq!(asked, lines(&[question]));
    let stops: Vec<&str> = obeyed.campaigns.stopped.iter().map(|(_, stop)| stop.why.as_str()).collect();
    assert_eq!(stops, ["the webhook of wave `canary` said no (5 % errors)."]);
}

#[test]
fn a_campaign_that_was_stopped_before_is_not_reported_again() {
    let stop =
        capstan_campaign::facts::Stop { at: now(), why: "`ada` stopped it.".to_owned(), by_person: true };
    let case = Case { record: notes(vec![note("prod", V22, Some(stop))]), ..fleet(HOOK) };
    let (asked, obeyed) = drive(&case, &ReleaseFound::default());
    assert_eq!((asked, obeyed.campaigns.stopped.len()), (vec![], 0));
    assert!(obeyed.waiting[&id("kiel/peu01")].for_all);
}

#[test]
fn a_webhook_that_says_nothing_is_waited_for() {
    let silent = |again: Option<Timestamp>| WebhookAnswerState::Silent {
        why: "the webhook is silent".to_owned(),
        again,
    };
    for (state, why, again) in [
        (silent(Some(now() + SignedDuration::from_mins(30))), "the webhook is silent", Some(30)),
        // It is being asked: its answer queues a job, and if that is lost, the repository looks by itself.
        (silent(None), "the webhook is silent", Some(2)),
        // Nobody may ask it: time changes nothing.
        (
            WebhookAnswerState::Refused("`ci.example.com` is not listed".to_owned()),
            "`ci.example.com` is not listed",
            None,
        ),
    ] {
        let (_, obeyed) = drive(&fleet(HOOK), &heard(state));
        let expected = format!("Wave `rest` of campaign `prod` waits for wave `canary`: {why}.");
        assert_eq!((waits(&obeyed), minutes(&obeyed)), (expected, again));
    }
}

#[test]
fn a_question_names_the_merge_of_each_cluster() {
    let heard_first = "webhook of prod aws/v22.0.0 canary at ci.example.com";
    let merges = || vec![merged(3, "gauss/peu01", PullRequestState::Merged)];
    let found =
        ReleaseFound { merges: BTreeMap::from([(0, Ok(merges()))]), ..heard(WebhookAnswerState::Due(None)) };
    let (asked, obeyed) = drive(&fleet(HOOK), &found);
    let question = "ask about gauss/peu01 #3 b, gauss/peu02 - -";
    assert_eq!(asked, lines(&[heard_first, BRANCHES, "commit of #3", question]));
    assert_eq!(minutes(&obeyed), Some(2));
    assert!(
        waits(&obeyed).ends_with(": the webhook at `ci.example.com` is being asked."),
        "{}",
        waits(&obeyed)
    );
    // One that was asked before is asked the same, and nothing is read for it.
    let before = Arc::new(WebhookQuestion {
        question: "q".to_owned(),
        repository: "acme/fleet".to_owned(),
        campaign: "prod".to_owned(),
        wave: "canary".to_owned(),
        release: V22.to_owned(),
        clusters: Vec::new(),
    });
    let (asked, _) = drive(&fleet(HOOK), &heard(WebhookAnswerState::Due(Some(before))));
    assert_eq!(asked, lines(&[heard_first, "ask about "]));
}

#[test]
fn a_webhook_is_not_asked_while_the_merges_of_its_wave_are_unknown() {
    for (found, last) in [
        (
            ReleaseFound {
                merges: BTreeMap::from([(0, Err(UnreadNow))]),
                ..heard(WebhookAnswerState::Due(None))
            },
            BRANCHES,
        ),
        (
            ReleaseFound {
                commits: BTreeMap::from([(3, Err(UnreadNow))]),
                ..heard(WebhookAnswerState::Due(None))
            },
            "commit of #3",
        ),
    ] {
        let (asked, obeyed) = drive(&fleet(HOOK), &found);
        assert_eq!(asked.last().map(String::as_str), Some(last));
        let why = "the webhook is not asked yet: GitHub does not list the merges of the wave.";
        assert!(waits(&obeyed).ends_with(why), "{}", waits(&obeyed));
        assert_eq!(minutes(&obeyed), Some(5));
    }
}

/// The state of the first wave by which its answer is known again.
fn state_of(case: &Case) -> Wave {
    let decisions = BTreeMap::new();
    case.look(|planned| {
        let obeying = Obeying::new(planned, &decisions, &BTreeMap::new(), now());
        let moving = obeying.releases().remove(0);
        let release = obeying.release(moving, &obeying.begin());
        let found = ReleaseFound { stale: Some(BTreeSet::new()), ..ReleaseFound::default() };
        match release.decide(&found, now()) {
            DecisionStep::Ask(ReleaseNeed::Webhook(asked)) => asked.wave,
            _ => panic!("the webhook is asked"),
        }
    })
}

#[test]
fn a_wave_is_asked_about_again_where_its_clusters_its_webhook_or_its_proof_changed() {
    let first = state_of(&fleet(HOOK));
    assert_eq!(first, state_of(&fleet(HOOK).target("kiel/peu07")));
    let other_url = "webhook: {url: \"https://ci.example.com/well?of=2\"}";
    for (changed, case) in [
        ("clusters", fleet(HOOK).current("gauss/peu03")),
        ("address", fleet(other_url)),
        ("proof", reported(HOOK)),
    ] {
        let state = state_of(&case);
        assert_ne!(state, first, "{changed}");
        assert_eq!(Wave { state: first.state.clone(), ..state }, first, "{changed}");
    }
}

#[test]
fn a_cluster_that_the_campaign_leaves_out_is_not_asked_about() {
    let mut record = note("prod", V22, None);
    record.memory.skipped.insert(cluster("gauss/peu02"));
    let case = Case { record: notes(vec![record]), ..fleet("checks: [build]") };
    let found = checked(release_found(), &[('b', "build", Some(CheckState::Passed))]);
    let (asked, _) = drive(&case, &found);
    assert_eq!(
        asked,
        lines(&["merges of wave 0: capstan/upgrade/gauss/peu01", "commit of #3", "build at b"])
    );
}

#[test]
fn what_one_release_begins_takes_room_from_the_next() {
    let text = "campaigns:
- name: prod
  waves: [{name: all, match: {clusters: [\"**\"]}, maxOpen: 1}]
";
    let other = crate::testing::upgrade("kiel/peu01", "metal/v1.0.0", "metal/v2.0.0");
    let case = Case::new()
        .offered("gauss/peu01")
        .plan("kiel/peu01", Ok(other))
        .settings(|settings| settings.campaigns = read_campaigns(text).unwrap());
    let (_, obeyed) = drive(&case, &ReleaseFound::default());
    let waiting: Vec<String> =
        obeyed.waiting.iter().map(|(id, waits)| format!("{id}: {}", waits.why)).collect();
    assert_eq!(
        waiting,
        ["kiel/peu01: In wave `all` of campaign `prod`, 1 of at most 1 pull requests are open (`maxOpen`)."]
    );
}

#[test]
fn where_nothing_is_written_what_was_recorded_stays() {
    let record = || notes(vec![note("prod", V22, None)]);
    let observed =
        Case { record: record(), ..fleet(HOOK) }.settings(|settings| settings.mode = Mode::Observe);
    let (asked, obeyed) = drive(&observed, &ReleaseFound::default());
    assert_eq!((asked, obeyed.campaigns.notes.len(), obeyed.waiting.len()), (vec![], 1, 0));
    // Without campaigns there is nothing to record.
    let none = Case { record: record(), ..fleet(HOOK) }.settings(|settings| settings.campaigns = Vec::new());
    let (asked, obeyed) = drive(&none, &ReleaseFound::default());
    assert_eq!((asked, obeyed.campaigns.notes.len(), obeyed.waiting.len()), (vec![], 0, 0));
}

#[test]
fn a_change_of_the_settings_reports_its_new_problems_alone() {
    let finding = |message: &str| Finding::new(capstan_model::finding::rules::TOO_LARGE, message);
    let old = Case::new().settings;
    let found = new_problems(&old, &[finding("old")], vec![finding("old"), finding("new")]);
    assert_eq!(found.iter().map(|one| one.message.as_str()).collect::<Vec<_>>(), ["new"]);
}
