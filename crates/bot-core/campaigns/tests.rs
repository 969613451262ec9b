//! Progress of clusters with a release, and which wait: a row has the facts of one.

use std::collections::{BTreeMap, BTreeSet};

use capstan_campaign::decision::{CampaignDecision, WaveState};
use capstan_campaign::facts::{ClusterProgress as Far, Load, Member, Memory, Note, RolloutFailure, Stop};
use capstan_facts::ClusterStanding;
use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::rest::Rest;
use capstan_plan::proposal::{
    Action, BranchStep, Closer, LeaveReason, Leaving, OnHold, Paused, ProposalCommand, ProposalId,
    ProposalPlan, Reviewed, WhyLeftOut,
};
use capstan_plan::settings::CommandSettings;
use capstan_plan::upgrade::Upgrade;
use capstan_plan::verbs::OrderWhat;
use capstan_report::{DashboardRecord, StatusState};
use jiff::civil::date;

use super::moving::{campaign_for, give, is_newer, is_of_release, note_begun};
use super::releases::{in_no_wave, is_urgent, moving, unnoted, waiting};
use super::standing::{Stand, TargetProgress, besides, members, places};
use super::telling::{progress, standing};
use super::*;
use crate::effects::{Effect, FirstStatus};
use crate::planned::PlannedRun;
use crate::proposals::{Campaigns, DecidedPull};
use crate::requests::GivenOrder;
use crate::testing::{Case, V21, V22, campaigns, comment, id, now, report, upgrade};

const V23: &str = "aws/v23.0.0";

pub(super) fn cluster(path: &str) -> ClusterId {
    id(path).target.id().unwrap().clone()
}

fn released(path: &str) -> ReleaseId {
    ReleaseId::from_path(path)
}

fn hold() -> OnHold {
    OnHold { by: "ada".to_owned(), reason: None, until: None }
}

pub(super) fn decided(action: Action, carried: &[&str]) -> DecidedPull {
    DecidedPull {
        wanted: ProposalPlan::Nothing { why: String::new(), rest: Rest::Gone },
        action,
        command: ProposalCommand::None,
        carried: carried.iter().map(|one| id(one)).collect(),
        left_out: Vec::new(),
        leaving: Leaving::Nobody,
        outside: None,
        after: None,
    }
}

fn fleet() -> Case {
    Case::new().offered("gauss/peu01").settings(|settings| settings.campaigns = campaigns())
}

fn opens() -> Action {
    Action::Open { branch: BranchStep::Create }
}

fn place_of(case: &Case, action: Action, held: Option<&str>) -> TargetProgress {
    case.look(|planned| {
        let decided = [(id("gauss/peu01"), decided(action, &["gauss/peu01"]))].into_iter().collect();
        let held = held.map(|why| (id("gauss/peu01"), why.to_owned())).into_iter().collect();
        places(planned, &decided, &held, now()).remove(&id("gauss/peu01")).unwrap()
    })
}

#[test]
fn the_stand_of_a_target_follows_from_the_decision_about_it() {
    let pause = Paused { by: "ada".to_owned(), reason: None, since: date(2026, 3, 1) };
    let barred = |why: &str| Stand::Barred(why.to_owned());
    let leave = Action::Leave;
    for (action, stands, begins) in [
        (opens(), Stand::Behind, true),
        (Action::Update { pull: 3, branch: BranchStep::Keep }, Stand::Behind, true),
        (
            Action::Close {
                pull: 3,
                why: "It was skipped.".to_owned(),
                by: Closer::Person,
                rest: Rest::Gone,
            },
            barred("it was skipped"),
            false,
        ),
        (
            leave(LeaveReason::Waits { pull: 3, reviewed: Reviewed::Approved, newer: None }),
            Stand::Open,
            false,
        ),
        (leave(LeaveReason::Edited { pull: Some(3) }), Stand::Open, false),
        (leave(LeaveReason::Edited { pull: None }), barred("its branch has commits by people"), false),
        (leave(LeaveReason::Blocked { pull: Some(3), why: vec![] }), Stand::Open, false),
        (leave(LeaveReason::Blocked { pull: None, why: vec![] }), barred("its upgrade is blocked"), false),
        (
            leave(LeaveReason::Unplannable { pull: None, why: String::new() }),
            barred("it cannot be planned"),
            false,
        ),
        (leave(LeaveReason::Held { pull: Some(3), hold: hold() }), Stand::Open, false),
        (leave(LeaveReason::Held { pull: None, hold: hold() }), barred("it is on hold"), false),
        (leave(LeaveReason::Paused { pull: None, pause: pause.clone() }), barred("Capstan is paused"), false),
        (leave(LeaveReason::Paused { pull: Some(3), pause }), Stand::Open, false),
        (leave(LeaveReason::Skipped { by: "ada".to_owned() }), barred("`ada` skipped this release"), false),
        (leave(LeaveReason::Declined { pull: 3 }), barred("its pull request #3 was closed"), false),
        (leave(LeaveReason::RolledBack { pull: 3 }), Stand::TakenBack, false),
        (leave(LeaveReason::Merged { pull: 3 }), Stand::TakenBack, false),
        (leave(LeaveReason::NothingOffered { why: String::new(), rest: Rest::Gone }), Stand::Nothing, false),
    ] {
        let place = place_of(&fleet(), action.clone(), None);
        assert_eq!((place.state, place.begins), (stands, begins), "{action:?}");
        assert_eq!((place.at, place.offered), (Some(released(V21)), Some(released(V22))));
    }
    // An open pull request brings its changes already.
    let open = fleet().proposed(3, "gauss/peu01", 'a');
    let place = place_of(&open, Action::Update { pull: 3, branch: BranchStep::Keep }, None);
    assert_eq!((place.state, place.begins), (Stand::Open, false));
    // A cluster that waits for its machines does not begin; an open pull request is not held by that.
    let place = place_of(&fleet(), opens(), Some("Its machines still roll."));
    assert_eq!((place.state, place.begins), (barred("its machines still roll"), false));
}

#[test]
fn a_target_without_an_offer_is_barred_and_one_on_the_release_is_not() {
    let held = Upgrade { to: None, rest: Rest::Held, files: vec![], ..upgrade("gauss/peu01", V21, V22) };
    let same = Upgrade { files: vec![], ..upgrade("gauss/peu01", V21, V22) };
    for (plan, at, offered, stands) in [
        (
            Ok(upgrade("gauss/peu01", V21, V22)),
            Some(V21),
            Some(V22),
            Stand::Barred("Capstan could not read it".to_owned()),
        ),
        (Err("no."), None, None, Stand::Barred("it cannot be planned".to_owned())),
        (Ok(held), Some(V21), None, Stand::Barred("it is on hold".to_owned())),
        (Ok(same), Some(V22), None, Stand::Nothing),
    ] {
        let case = fleet().plan("gauss/peu01", plan);
        let place = case.look(|planned| {
            places(planned, &BTreeMap::new(), &BTreeMap::new(), now()).remove(&id("gauss/peu01")).unwrap()
        });
        assert_eq!((place.at, place.offered, place.state), (at.map(released), offered.map(released), stands));
    }
}

#[test]
fn who_stays_out_of_a_shared_pull_request_is_barred_for_that_reason() {
    let case = fleet().offered("gauss/peu02");
    let mut shared = decided(opens(), &["gauss/peu01"]);
    shared.left_out = vec![(id("gauss/peu02"), WhyLeftOut::Waits("Its machines still roll.".to_owned()))];
    case.look(|planned| {
        let decided = [(id("group://gauss"), shared)].into_iter().collect();
        let places = places(planned, &decided, &BTreeMap::new(), now());
        assert_eq!(places[&id("gauss/peu02")].state, Stand::Barred("its machines still roll".to_owned()));
    });
}

#[test]
fn a_release_is_newer_than_one_of_the_same_provider_alone() {
    for (one, than, expected) in [
        (V22, V21, true),
        (V21, V22, false),
        (V22, V22, false),
        ("azure/v30.0.0", V21, false),
        ("aws/v9.0.0", "aws/v10.0.0", false),
    ] {
        assert_eq!(is_newer(&released(one), &released(than)), expected, "{one} {than}");
    }
}

fn place(at: Option<&str>, offered: Option<&str>, stands: Stand) -> TargetProgress {
    let begins = stands == Stand::Behind;
    TargetProgress {
        at: at.map(released),
        offered: offered.map(released),
        state: stands,
        begins,
        machines: Some(3),
        awaited: false,
    }
}

fn with_reports(case: Case, reports: &[(&str, &str, char, u32)]) -> Case {
    let mut case = case;
    for (target, state, applied, wanted) in reports {
        let standing = ClusterStanding {
            management_cluster: serde_json::from_value(serde_json::json!(
                "6e3a3c9e-52a3-4c39-9c58-1d1b5d1ae0b0"
            ))
            .unwrap(),
            name: "mc".to_owned(),
            agent: None,
            report: report(target, state, *applied, *wanted),
        };
        case.reporters.standings.insert(cluster(target), standing);
    }
    case
}

fn standing_in(case: &Case, place: TargetProgress, release: &str) -> Option<Far> {
    case.look(|planned| {
        let places = [(id("gauss/peu01"), place)].into_iter().collect();
        let settings = &campaigns()[0];
        let members = members(planned, settings, &released(release), &Memory::default(), &places, now());
        let stale = BTreeSet::new();
        members.settle(planned, &stale).into_iter().next().map(|(_, member)| member.standing)
    })
}

#[test]
fn how_far_a_member_is_with_a_release() {
    let barred = |why: &str| Far::Barred(why.to_owned());
    let done = jiff::Timestamp::MIN;
    for (at, offered, stands, release, expected) in [
        (Some(V21), Some(V22), Stand::Behind, V22, Some(Far::Behind)),
        (Some(V21), Some(V22), Stand::Open, V22, Some(Far::Open)),
        (Some(V21), Some(V22), Stand::Barred("it is on hold".to_owned()), V22, Some(barred("it is on hold"))),
        (
            Some(V21),
            Some(V22),
            Stand::TakenBack,
            V22,
            Some(Far::Failed { how: RolloutFailure::RolledBack, at: now() }),
        ),
        (Some(V21), Some(V22), Stand::Nothing, V22, None),
        // Without reports a merged change counts as done.
        (Some(V22), None, Stand::Nothing, V22, Some(Far::Done { at: done })),
        (Some(V23), None, Stand::Nothing, V22, Some(Far::Done { at: done })),
        (Some(V22), Some(V23), Stand::Open, V22, Some(Far::Done { at: done })),
        // An open rollback takes nothing from the campaigns of the two releases.
        (Some(V22), Some(V21), Stand::Open, V22, Some(Far::Done { at: done })),
        (Some(V22), Some(V21), Stand::Open, V21, Some(Far::Done { at: done })),
        (Some(V21), Some(V22), Stand::Behind, V23, Some(barred("it is offered `aws/v22.0.0` first"))),
        (Some(V21), None, Stand::Nothing, V22, None),
        (Some(V21), None, Stand::Barred("it is on hold".to_owned()), V22, Some(barred("it is on hold"))),
        (
            None,
            None,
            Stand::Barred("it cannot be planned".to_owned()),
            V22,
            Some(barred("it cannot be planned")),
        ),
    ] {
        let found = standing_in(&fleet(), place(at, offered, stands.clone()), release);
        assert_eq!(found, expected, "{at:?} {offered:?} {stands:?} {release}");
    }
}

#[test]
fn what_is_merged_is_as_far_as_its_reconciler_reports() {
    let since = "2026-03-01T00:00:00Z".parse().unwrap();
    for (state, expected) in [
        ("done", Far::Done { at: since }),
        ("rolling", Far::Merged),
        ("waiting", Far::Merged),
        ("unknown", Far::Merged),
        ("stuck", Far::Failed { how: RolloutFailure::Stuck, at: since }),
        ("refused", Far::Failed { how: RolloutFailure::Refused, at: since }),
    ] {
        let case = with_reports(fleet(), &[("gauss/peu01", state, '0', 3)]);
        let found = standing_in(&case, place(Some(V22), None, Stand::Nothing), V22);
        assert_eq!(found, Some(expected), "{state}");
    }
}

#[test]
fn a_report_on_another_commit_counts_where_the_cluster_is_what_it_was() {
    let settings = &campaigns()[0];
    for (applied, state, asked) in [('0', "done", 0), ('9', "done", 1), ('9', "rolling", 0)] {
        let case = with_reports(fleet(), &[("gauss/peu01", state, applied, 3)]);
        case.look(|planned| {
            let places = [(id("gauss/peu01"), place(Some(V22), None, Stand::Nothing))].into_iter().collect();
            let members = members(planned, settings, &released(V22), &Memory::default(), &places, now());
            assert_eq!(members.reported(planned).len(), asked, "{applied} {state}");
            let stale: BTreeSet<ClusterId> = [cluster("gauss/peu01")].into_iter().collect();
            let settled = members.settle(planned, &stale);
            assert_eq!(settled[0].1.standing, Far::Merged);
        });
    }
}

#[test]
fn what_rolls_for_other_releases_takes_room_of_its_wave() {
    let settings = &campaigns()[0];
    let awaited = TargetProgress { awaited: true, ..place(Some(V21), None, Stand::Nothing) };
    for (one, skipped, expected) in [
        (place(Some(V21), Some(V23), Stand::Open), false, Load { open: 1, clusters: 1, machines: Some(3) }),
        (place(Some(V21), Some(V23), Stand::Open), true, Load::default()),
        (place(Some(V21), Some(V23), Stand::Behind), false, Load::default()),
        (place(Some(V21), Some(V22), Stand::Open), false, Load::default()),
        (awaited, false, Load { open: 0, clusters: 1, machines: None }),
        (place(Some("azure/v1.0.0"), Some("azure/v2.0.0"), Stand::Open), false, Load::default()),
    ] {
        fleet().look(|planned| {
            let places = [(id("gauss/peu01"), one.clone())].into_iter().collect();
            let skipped = skipped.then(|| cluster("gauss/peu01")).into_iter().collect();
            let loads = besides(planned, settings, &released(V22), (&places, &[]), &skipped);
            assert_eq!(loads[0], expected, "{one:?}");
        });
    }
}

pub(super) fn notes(notes: Vec<Note>) -> DashboardRecord {
    DashboardRecord { campaigns: notes, ..DashboardRecord::default() }
}

pub(super) fn note(campaign: &str, release: &str, stopped: Option<Stop>) -> Note {
    let memory = Memory { stopped, ..Memory::default() };
    Note { campaign: campaign.to_owned(), release: release.to_owned(), memory, ..Note::default() }
}

fn by_person() -> Stop {
    Stop { at: now(), why: "`ada` stopped it.".to_owned(), by_person: true }
}

#[test]
fn what_moves_is_offered_or_noted_and_not_overtaken() {
    let at = |at: Option<&str>, offered: Option<&str>| {
        [(id("gauss/peu01"), place(at, offered, Stand::Behind))].into_iter().collect()
    };
    for (places, noted, expected) in [
        (at(Some(V21), Some(V22)), vec![], vec![(V22, false)]),
        (at(Some(V22), None), vec![], vec![]),
        (at(Some(V22), None), vec![note("prod", V22, None)], vec![(V22, false)]),
        (at(Some(V22), Some(V23)), vec![note("prod", V22, None)], vec![(V23, false)]),
        (at(Some(V21), None), vec![note("prod", V22, None)], vec![]),
        // A campaign that a person stopped stays stopped, whatever is released meanwhile.
        (at(Some(V22), Some(V23)), vec![note("prod", V22, Some(by_person()))], vec![(V23, true)]),
        (at(Some(V21), Some("azure/v1.0.0")), vec![], vec![]),
        (at(Some(V22), Some(V21)), vec![note("prod", V22, None)], vec![(V22, false)]),
    ] {
        let case = Case { record: notes(noted), ..fleet() };
        case.look(|planned| {
            let found: Vec<(String, bool)> = moving(planned, &places)
                .into_iter()
                .map(|one| (one.release.to_string(), one.note.memory.stopped.is_some()))
                .collect();
            let expected: Vec<(String, bool)> = expected
                .into_iter()
                .map(|(release, stopped): (&str, bool)| (release.to_owned(), stopped))
                .collect();
            assert_eq!(found, expected);
        });
    }
}

#[test]
fn a_target_behind_the_release_in_no_wave_is_reported() {
    let places =
        |target: &str, stands| [(id(target), place(Some(V21), Some(V22), stands))].into_iter().collect();
    for (places, expected) in [
        (places("gauss/peu02", Stand::Behind), 0),
        (places("lone/peu02", Stand::Behind), 1),
        // The first wave takes it in any place.
        (places("lone/peu01", Stand::Behind), 0),
        (places("lone/peu02", Stand::Open), 0),
    ] {
        let found = fleet().look(|planned| in_no_wave(planned, &places));
        assert_eq!(found.len(), expected);
        for (_, why) in found {
            assert_eq!(
                why,
                "No wave of campaign `prod` matches it, so Capstan proposes nothing for it. Add a last wave that matches `**`."
            );
        }
    }
}

#[test]
fn nothing_is_begun_where_it_could_not_be_noted() {
    let places: BTreeMap<ProposalId, TargetProgress> = [
        (id("gauss/peu01"), place(Some(V21), Some(V22), Stand::Behind)),
        (id("kiel/peu01"), place(Some(V21), Some(V22), Stand::Open)),
    ]
    .into_iter()
    .collect();
    assert!(fleet().look(|planned| unnoted(planned, &places)).is_empty());
    let without = Case { no_dashboard: Some("issues are off".to_owned()), ..fleet() };
    let found = without.look(|planned| unnoted(planned, &places));
    assert_eq!(found.len(), 1);
    assert!(found[0].1.for_all);
    assert_eq!(
        found[0].1.why,
        "Capstan opens nothing new: it cannot record the progress of campaigns, because issues are off."
    );
}

#[test]
fn an_order_is_carried_out_by_the_campaigns_that_it_names() {
    let settings = &campaigns()[0];
    let order = |campaigns: &[&str], what: OrderWhat| GivenOrder {
        campaigns: campaigns.iter().map(|name| (*name).to_owned()).collect(),
        what,
        by: "ada".to_owned(),
        at: now(),
    };
    let after = |order: &GivenOrder, stopped: Option<Stop>| {
        let mut note = note("prod", V22, stopped);
        give(order, settings, &mut note, now());
        note.memory
    };
    let stop = after(&order(&["prod"], OrderWhat::Stop(Some("the audit".to_owned()))), None);
    assert_eq!(stop.stopped.unwrap().why, "`ada` stopped it (the audit).");
    assert_eq!(
        after(&order(&["prod"], OrderWhat::Stop(None)), None).stopped.unwrap().why,
        "`ada` stopped it."
    );
    assert!(after(&order(&["test"], OrderWhat::Stop(None)), None).stopped.is_none());
    let resumed = after(&order(&["prod"], OrderWhat::Resume), Some(by_person()));
    assert_eq!((resumed.stopped, resumed.resumed_at), (None, Some(now())));
    // A campaign that is not stopped is not resumed.
    assert_eq!(after(&order(&["prod"], OrderWhat::Resume), None).resumed_at, None);
    let skipped = after(&order(&["prod"], OrderWhat::Skip(cluster("gauss/peu01"))), None);
    assert!(skipped.skipped.contains(&cluster("gauss/peu01")));
}

fn decision(open: &[&str], stopped: Option<Stop>) -> CampaignDecision {
    CampaignDecision {
        open: open.iter().map(|one| cluster(one)).collect(),
        waves: vec![
            WaveState::Entered { waits: None },
            WaveState::Waits { why: "waits for canary".to_owned() },
        ],
        stopped,
        look_again: None,
        ask_webhook: None,
        noted: Vec::new(),
    }
}

#[test]
fn a_target_that_does_not_begin_waits_alone_or_with_all() {
    let case = fleet();
    let settings = &campaigns()[0];
    let places: BTreeMap<ProposalId, TargetProgress> =
        [(id("gauss/peu01"), place(Some(V21), Some(V22), Stand::Behind))].into_iter().collect();
    for (release, decision, expected) in [
        (V22, decision(&[], None), Some(false)),
        (V22, decision(&["gauss/peu01"], None), None),
        (V22, decision(&[], Some(by_person())), Some(true)),
        // The waves of a newer release decide.
        (V23, decision(&[], None), None),
    ] {
        let found = case.look(|planned| {
            let members = members(planned, settings, &released(V22), &Memory::default(), &places, now());
            let members = members.settle(planned, &BTreeSet::new());
            let those: Vec<_> = members.iter().map(|(id, member)| (id, member)).collect();
            waiting(planned, (settings, &released(release)), &decision, &those, &places)
        });
        assert_eq!(found.first().map(|(_, waits)| waits.for_all), expected, "{release}");
    }
}

#[test]
fn what_begins_takes_room_of_its_wave() {
    let case = fleet();
    let settings = &campaigns()[0];
    let places: BTreeMap<ProposalId, TargetProgress> =
        [(id("gauss/peu02"), place(Some(V21), Some(V22), Stand::Behind))].into_iter().collect();
    case.look(|planned: PlannedRun<'_>| {
        let members = members(planned, settings, &released(V22), &Memory::default(), &places, now());
        let members: Vec<_> =
            members.settle(planned, &BTreeSet::new()).into_iter().map(|(_, member)| member).collect();
        let mut begun = Vec::new();
        note_begun(&mut begun, &[cluster("gauss/peu02")], &members);
        let one = Load { open: 1, clusters: 1, machines: Some(3) };
        assert_eq!(begun, [Load::default(), one]);
        note_begun(&mut begun, &[], &members);
        assert_eq!(begun.len(), 2);
    });
}

#[test]
fn a_release_is_urgent_where_it_says_so_itself() {
    for (files, expected) in [
        (&[("aws/v22.0.0/capstan.yaml", "urgency: now\n")][..], true),
        (&[("aws/v22.0.0/capstan.yaml", "{}\n")][..], false),
        (&[("aws/v21.0.0/capstan.yaml", "urgency: now\n")][..], false),
        (&[][..], false),
    ] {
        let case = Case { files: files.to_vec(), ..fleet() };
        assert_eq!(case.look(|planned| is_urgent(planned, &released(V22))), expected, "{files:?}");
    }
}

#[test]
fn a_campaign_is_reported_wave_by_wave() {
    let case = fleet();
    let all = campaigns();
    let places: BTreeMap<ProposalId, TargetProgress> = [
        (id("gauss/peu01"), place(Some(V22), None, Stand::Nothing)),
        (id("gauss/peu02"), place(Some(V21), Some(V22), Stand::Behind)),
    ]
    .into_iter()
    .collect();
    case.look(|planned| {
        let members = members(planned, &all[0], &released(V22), &Memory::default(), &places, now());
        let members: Vec<_> =
            members.settle(planned, &BTreeSet::new()).into_iter().map(|(_, member)| member).collect();
        let moving = Moving { settings: &all[0], release: released(V22), note: note("prod", V22, None) };
        let told = standing(&moving, &decision(&[], Some(by_person())), &members);
        assert_eq!(told.stopped.as_deref(), Some("on 2026-03-02 12:00 UTC: `ada` stopped it."));
        let waves: Vec<(&str, &str)> =
            told.waves.iter().map(|(name, words)| (name.as_str(), words.as_str())).collect();
        assert_eq!(
            waves,
            [("canary", "1 of 1 done; is under way"), ("rest", "0 of 1 done; waits for canary")]
        );
        let told = progress(&moving, &decision(&[], Some(by_person())), &members, &CommandSettings::default());
        let waves: Vec<(u32, u32, &str)> =
            told.waves.iter().map(|wave| (wave.clusters, wave.done_clusters(), wave.state.as_str())).collect();
        assert_eq!(waves, [(1, 1, "is under way"), (1, 0, "waits for canary")]);
        let names: Vec<&str> = told.calendar.waves.iter().map(|wave| wave.name.as_str()).collect();
        assert_eq!(names, ["canary", "rest"]);
        let [waiting] = told.clusters.as_slice() else { panic!("{:?}", told.clusters) };
        assert_eq!((waiting.cluster.as_str(), waiting.stage.as_str()), ("gauss/peu02", "waiting"));
        assert_eq!(
            waiting.why,
            "Campaign `prod` was stopped on 2026-03-02 12:00 UTC: `ada` stopped it. `/capstan campaign resume` continues it."
        );
        let failed = Member {
            standing: Far::Failed { how: RolloutFailure::RolledBack, at: now() },
            ..members[0].clone()
        };
        let ended = WaveState::Ended { at: now() };
        let waves = CampaignDecision { waves: vec![ended.clone(), ended], ..decision(&[], None) };
        let told = standing(&moving, &waves, &[failed, members[1].clone()]);
        assert_eq!(told.waves[0].1, "0 of 1 done; has ended; since then, `gauss/peu01` was rolled back");
        assert_eq!(told.waves[1].1, "0 of 1 done; has ended");
        // All are counted, also those that are not listed.
        let open = Member { standing: Far::Open, ..members[1].clone() };
        let told = progress(&moving, &decision(&[], None), &vec![open; 600], &CommandSettings::default());
        assert_eq!((told.waves[1].open, told.clusters.len(), told.left_out), (600, 500, 100));
    });
}

#[test]
fn the_commit_of_a_release_reports_that_its_campaign_stops_and_resumes() {
    let seen = |note: Note| Note { commit: "c".repeat(40), ..note };
    let stopped = seen(note("prod", V22, Some(by_person())));
    let mut resumed = seen(note("prod", V22, None));
    resumed.memory.resumed_at = Some(now());
    let said = |notes: Vec<Note>| {
        progress_effects(&Campaigns { notes, ..Campaigns::default() }, 7)
            .into_iter()
            .map(|effect| match effect {
                Effect::Status(of) => (of.status.context, of.status.state, of.status.description, of.first),
                other => panic!("{other:?}"),
            })
            .collect::<Vec<_>>()
    };
    let context = "capstan/campaign/prod";
    for (note, expected) in [
        (stopped.clone(), Some((StatusState::Failure, "aws/v22.0.0 is stopped: `ada` stopped it."))),
        (resumed, Some((StatusState::Success, "aws/v22.0.0 continues"))),
        (seen(note("prod", V22, None)), None),
        // The commit at which it was first seen is unknown.
        (note("prod", V22, Some(by_person())), None),
    ] {
        let expected: Vec<_> = expected
            .map(|(state, text)| (context.to_owned(), state, text.to_owned(), FirstStatus::Asked))
            .into_iter()
            .collect();
        assert_eq!(said(vec![note]), expected);
    }
    let campaigns = Campaigns { stopped: vec![(stopped, by_person())], ..Campaigns::default() };
    let effects = progress_effects(&campaigns, 7);
    let [Effect::Audit(entry)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(entry.detail, "aws/v22.0.0 of campaign prod: `ada` stopped it.");
}

#[test]
fn campaigns_are_about_releases() {
    let case = fleet();
    case.look(|planned| {
        for (release, expected) in
            [(V22, Some("prod")), ("test/v1.0.0", Some("test")), ("azure/v1.0.0", None)]
        {
            assert_eq!(campaign_for(planned, &released(release)).map(|one| one.name.as_str()), expected);
        }
    });
    assert!(is_of_release(&id("gauss/peu01")) && is_of_release(&id("providers://mc/set")));
    let values = ProposalId { kind: capstan_model::source::SourceKind::INVENTORY, ..id("gauss/peu01") };
    assert!(!is_of_release(&values));
    let requests = [comment(1, "ada", None, "/capstan help")];
    case.heard(&requests, |planned| assert!(planned.decided.orders().is_empty()));
}
