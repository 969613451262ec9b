//! What people ask for, and what they decided before: a row is a comment with what it is about.

use capstan_facts::{Permission, PlacedComment, Press, PullRequest, PullRequestState};
use capstan_plan::command::{Push, Readers, Right, Unseen};
use capstan_plan::proposal::{Decisions, OnHold, Skipped};
use capstan_report::DashboardRecord;
use jiff::SignedDuration;
use jiff::civil::date;

use super::*;
use crate::facts::Facts;
use crate::testing::{Case, TODAY, V22, block, comment, commit, decided_of, id, now, open, pull, tick, town};

#[test]
fn what_was_decided_before_is_read_from_bodies_and_the_dashboard() {
    let hold = |by: &str, until| OnHold { by: by.to_owned(), reason: None, until };
    let held = |by: &str, until| Decisions { hold: Some(hold(by, until)), ..Decisions::default() };
    let own = capstan_report::Block {
        decisions: held("ada", Some(date(2026, 12, 1))),
        ..block(3, &id("gauss/peu01"), V22)
    };
    let record = DashboardRecord {
        decisions: vec![(id("kiel/peu01"), held("eve", None)), (id("gauss/peu01"), held("old", None))],
        ..DashboardRecord::default()
    };
    let case = Case { record, ..Case::new().offered("gauss/peu01").offered("kiel/peu01") }.proposed_with(
        3,
        "gauss/peu01",
        'a',
        own,
    );
    case.look(|planned| {
        assert_eq!(decided_of(planned.decided, "gauss/peu01"), "held by ada until 2026-12-01");
        assert_eq!(decided_of(planned.decided, "kiel/peu01"), "held by eve");
    });
    // A body that somebody forged decides nothing.
    let mut forged = case;
    forged.open[0].body = forged.open[0].body.replace("ada", "eve");
    forged.look(|planned| assert_eq!(decided_of(planned.decided, "gauss/peu01"), "held by old"));
}

#[test]
fn of_two_shared_pull_requests_the_newer_tells_what_was_decided_of_a_cluster() {
    let hold = |by: &str| OnHold { by: by.to_owned(), reason: None, until: None };
    let part = |by: &str| capstan_report::BlockPart {
        decisions: Decisions { hold: Some(hold(by)), ..Decisions::default() },
        ..crate::testing::carried("gauss/peu01")
    };
    let shared = |number, group: &str, by: &str| capstan_report::Block {
        parts: vec![part(by)],
        ..block(number, &id(group), V22)
    };
    let case = Case::new()
        .offered("gauss/peu01")
        .proposed_with(3, "group://gauss", 'a', shared(3, "group://gauss", "old"))
        .proposed_with(4, "group://g", 'b', shared(4, "group://g", "new"));
    case.look(|planned| assert_eq!(decided_of(planned.decided, "gauss/peu01"), "held by new"));
}

#[test]
fn what_was_skipped_beside_a_shared_pull_request_stays_so() {
    let skipped = Skipped { source: V22.to_owned(), by: "ada".to_owned() };
    let part = capstan_report::BlockPart::left_out(
        id("gauss/peu02").target,
        Decisions { skipped: Some(skipped), ..Decisions::default() },
    );
    let parts = vec![crate::testing::carried("gauss/peu01"), part];
    let shared = capstan_report::Block { parts, ..block(3, &id("group://gauss"), V22) };
    let case = Case::new().offered("gauss/peu01").offered("gauss/peu02").proposed_with(
        3,
        "group://gauss",
        'a',
        shared,
    );
    case.look(|planned| {
        assert_eq!(decided_of(planned.decided, "gauss/peu02"), "skipped aws/v22.0.0 by ada");
    });
    let request = comment(1, "eve", Some(&open(&case, 3)), "/capstan unskip for gauss/peu02");
    case.heard(&[request], |planned| {
        assert_eq!(decided_of(planned.decided, "gauss/peu02"), "wished Offer, new");
    });
}

#[test]
fn a_head_that_moved_stops_what_means_the_head() {
    let on = pull(3, "capstan/upgrade/gauss/peu01", 'a');
    let named = "a".repeat(40);
    for (text, means, carried_out) in [
        ("/capstan approve", true, 0),
        ("/capstan merge", true, 0),
        (&*format!("/capstan merge {named}"), false, 1),
        (&*format!("/capstan approve {named}"), false, 1),
        ("/capstan hold", false, 1),
    ] {
        let request = comment(1, "ada", Some(&on), text);
        assert_eq!(request.means_the_head(), means, "{text}");
        let branch = UnseenBranch { branch: String::new(), pushes: Vec::new() };
        let moved = Request { moved: Some(branch), ..request };
        assert_eq!(moved.carried_out().count(), carried_out, "{text}");
    }
}

#[test]
fn a_request_is_about_its_pull_request_or_the_box_that_was_ticked() {
    let members = ["gauss/peu01", "gauss/peu02"];
    let case =
        Case::new().shared(3, "group://gauss", 'a', &members).proposed(4, "kiel/peu01", 'b').persons(9, 'f');
    let facts = case.facts();
    let those = |request: &Request| match facts.about(request) {
        About::These(all) => all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        About::Pull(pull) => format!("#{}", pull.number),
        About::Nothing(_) => "nothing".to_owned(),
    };
    let first = id("gauss/peu01");
    for (request, expected) in [
        (comment(1, "ada", Some(&open(&case, 3)), "/capstan plan"), "#3"),
        (comment(1, "ada", Some(&open(&case, 9)), "/capstan plan"), "#9"),
        (comment(1, "ada", None, "/capstan plan"), "nothing"),
        (tick(0, "ada", &first, None, "/capstan hold"), "gauss/peu01"),
        // What is about a pull request as a whole needs the right for each who shares it.
        (tick(0, "ada", &first, None, "/capstan approve"), "gauss/peu01 gauss/peu02"),
        (tick(0, "ada", &id("kiel/peu01"), None, "/capstan approve"), "kiel/peu01"),
    ] {
        assert_eq!(those(&request), expected);
    }
    let carriers = |request: &Request| facts.carrier_of(request).map(|id| id.to_string());
    assert_eq!(carriers(&tick(0, "ada", &first, None, "/capstan hold")).as_deref(), Some("group://gauss"));
    assert_eq!(
        carriers(&comment(1, "ada", Some(&open(&case, 4)), "/capstan hold")).as_deref(),
        Some("kiel/peu01")
    );
    assert_eq!(carriers(&comment(1, "ada", Some(&open(&case, 9)), "/capstan hold")), None);
}

#[test]
fn what_a_persons_pull_request_touches_is_brought_by_releases() {
    let case = Case::new()
        .target("gauss/peu01")
        .target("providers://mc/set")
        .proposed(4, "kiel/peu01", 'b')
        .persons(9, 'f');
    let facts = case.facts();
    let clusters: Vec<_> =
        ["gauss/peu01", "mc/set"].iter().map(|folder| id(folder).target.id().unwrap().clone()).collect();
    let touched = facts.proposals_touched(&open(&case, 9), &clusters, &case.scopes);
    let touched: Vec<String> = touched.iter().map(ToString::to_string).collect();
    assert_eq!(touched, ["gauss/peu01", "providers://mc/set"]);
    assert_eq!(facts.carried_by(&open(&case, 4)), [id("kiel/peu01")]);
    assert!(facts.carried_by(&open(&case, 9)).is_empty());
    assert!(
        unreadable("it is too large.")
            .text()
            .starts_with("Capstan cannot read what this pull request touches. It is too large.")
    );
}

#[test]
fn a_button_is_of_an_open_proposal_at_its_head() {
    let case = town();
    let facts = case.facts();
    let press = |button: &str, head: char| Press {
        at: now(),
        delivery: "d".to_owned(),
        by: "ada".to_owned(),
        button: button.to_owned(),
        head: commit(head).as_str().to_owned(),
    };
    for (button, head, expected) in [
        ("approve", 'a', Some((3, "approve"))),
        ("Merge", 'a', Some((3, "merge"))),
        // Another commit's, a person's, and what has no button.
        ("approve", 'b', None),
        ("approve", 'f', None),
        ("hold", 'a', None),
        ("nothing", 'a', None),
    ] {
        let found = meant_by(&facts, &press(button, head));
        let found = found.map(|(command, pull)| (pull.number, command.verb().word()));
        assert_eq!(found, expected, "{button} {head}");
    }
}

#[test]
fn the_right_of_somebody_is_what_github_says() {
    for (permission, right) in [
        (Permission::None, Right::None),
        (Permission::Read, Right::Read),
        (Permission::Write, Right::Write),
        (Permission::Admin, Right::Admin),
    ] {
        assert_eq!(right_of(permission), right);
    }
    let settings = Case::new().settings;
    assert_eq!(readers_of(&settings.commands), Readers::Refused);
    for (login, app) in [("capstan[bot]", "capstan"), ("somebody", "somebody")] {
        assert_eq!(address(&settings.commands, login).app, Some(app));
    }
}

#[test]
fn within_the_hour_an_ignored_comment_does_not_begin_another_one() {
    let request = comment(1, "ada", None, "/capstan help");
    let RequestOrigin::Comment(first) = &request.origin else { panic!("a comment") };
    let after = |minutes: i64| {
        let comment = capstan_facts::Comment {
            created_at: first.created_at + SignedDuration::from_mins(minutes),
            ..first.clone()
        };
        PlacedComment { number: 1, on_pull_request: false, comment }.comment
    };
    let mut dealt_with = DealtWith::default();
    assert_eq!(dealt_with.before(first), None);
    dealt_with.note(first);
    dealt_with.note(&after(50));
    assert_eq!(dealt_with.before(&after(55)), Some(first.created_at));
    dealt_with.note(&after(70));
    assert_eq!(dealt_with.before(&after(75)), Some(after(70).created_at));
    // Of what was written before it nothing is known.
    assert_eq!(dealt_with.before(&after(-5)), None);
}

#[test]
fn what_an_author_had_not_seen_is_a_branch_with_its_pushes() {
    let push = Push { after: commit('b'), actor: Some("eve".to_owned()), at: now() };
    for (unseen, expected) in [
        (Unseen::Nothing, Overlooked::Nothing),
        (Unseen::NotYetNoted, Overlooked::NotYetNoted),
        (
            Unseen::Pushes(vec![push.clone()]),
            Overlooked::Commits(UnseenBranch { branch: "topic".to_owned(), pushes: vec![push] }),
        ),
        (
            Unseen::NotLogged,
            Overlooked::Commits(UnseenBranch { branch: "topic".to_owned(), pushes: Vec::new() }),
        ),
    ] {
        assert_eq!(Overlooked::of(unseen, "topic"), expected);
    }
}

#[test]
fn branches_that_hold_capstans_work_alone_need_not_be_seen() {
    let record = capstan_facts::ProposalRecord {
        repository: 7,
        proposal: id("gauss/peu01"),
        pull_request: Some(3),
        source: String::new(),
        plan: String::new(),
        head: commit('a'),
        opened_at: now(),
        ended_at: None,
    };
    let request = |case: &Case, number, text: &str| {
        let mut request = comment(1, "ada", Some(&open(case, number)), text);
        request.rewritten = rewritten_by(&case.facts(), &case.scopes, &request).unwrap_or_default();
        request
    };
    let own = Case { records: vec![record.clone()], ..town() };
    let pushed =
        Case { records: vec![capstan_facts::ProposalRecord { head: commit('9'), ..record }], ..town() };
    for (case, number, text, expected) in [
        (&own, 3, "/capstan replan", vec![]),
        (&pushed, 3, "/capstan replan", vec![("capstan/upgrade/gauss/peu01", 'a')]),
        (&town(), 3, "/capstan replan", vec![("capstan/upgrade/gauss/peu01", 'a')]),
        // What is rendered is put on the author's own branch.
        (&town(), 9, "/capstan render", vec![("topic", 'f')]),
        (&town(), 9, "/capstan retarget for gauss/peu01", vec![("capstan/upgrade/gauss/peu01", 'a')]),
        (&town(), 9, "/capstan retarget for kiel/peu01", vec![]),
    ] {
        let facts: Facts = case.facts();
        let found = branches_to_see(&facts, &request(case, number, text));
        let expected: Vec<_> =
            expected.into_iter().map(|(branch, head)| (branch.to_owned(), commit(head))).collect();
        assert_eq!(found, expected, "#{number} {text}");
    }
    // Which clusters a pull request touches has to be found out first.
    let facts = town().facts();
    let asked = comment(1, "ada", Some(&open(&town(), 9)), "/capstan retarget");
    assert_eq!(rewritten_by(&facts, &town().scopes, &asked), None);
}

#[test]
fn the_head_that_is_meant_is_that_of_an_open_proposal() {
    let case = town();
    let facts = case.facts();
    let closed = PullRequest { state: PullRequestState::Closed, ..open(&case, 3) };
    for (on, expected) in [
        (Some(open(&case, 3)), Some("gauss/peu01")),
        (Some(closed), None),
        (Some(open(&case, 9)), None),
        (None, None),
    ] {
        let request = comment(1, "ada", on.as_ref(), "/capstan merge");
        let found = open_subject(&facts, &request).map(|(proposal, _)| proposal.to_string());
        assert_eq!(found.as_deref(), expected);
    }
}

#[test]
fn a_hold_ends_on_its_day() {
    let hold = |until| OnHold { by: "ada".to_owned(), reason: None, until };
    for (until, expected) in
        [(None, true), (Some(date(2026, 3, 3)), true), (Some(TODAY), false), (Some(date(2026, 3, 1)), false)]
    {
        let decisions = Decisions { hold: Some(hold(until)), ..Decisions::default() };
        assert_eq!(decisions.hold_on(TODAY).is_some(), expected, "{until:?}");
    }
}

#[test]
fn who_asks_for_the_names_of_templates_wants_the_upgrade_now() {
    use capstan_plan::proposal::ProposalCommand as Wish;
    let case = Case::new().offered("gauss/peu01").offered("gauss/peu02").proposed(3, "gauss/peu01", 'a');
    let facts = case.facts();
    let mut decided = case.decided(&facts, &[]);
    decided.wish_of(id("kiel/peu01"), Wish::Offer);
    decided.hear_retargets(&facts, &[id("gauss/peu01"), id("gauss/peu02"), id("kiel/peu01")]);
    for (target, expected) in [
        // Its pull request is open, and may have people's commits.
        ("gauss/peu01", Wish::None),
        ("gauss/peu02", Wish::Replan),
        ("kiel/peu01", Wish::Offer),
    ] {
        assert_eq!(decided.wish(&id(target)), expected, "{target}");
    }
}
