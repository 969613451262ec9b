//! What people ask for, and what that decides: a row is a comment with what it comes to.

use capstan_campaign::facts::{Memory, Note, Stop};
use capstan_facts::{Permission, PlacedComment, Press, PullRequest, PullRequestState};
use capstan_model::ids::ReleaseName;
use capstan_plan::command::{Hearing, Push, Readers, Right, Unseen};
use capstan_plan::proposal::{
    Command as Wish, Decisions, Means, OnHold, Paused, ProposalId, ResultDigest, RollBack, Skipped,
};
use capstan_plan::settings::Mode;
use capstan_plan::upgrade::Upgrade;
use capstan_report::DashboardRecord;
use jiff::SignedDuration;
use jiff::civil::date;

use super::*;
use crate::facts::Facts;
use crate::testing::{
    Case, TODAY, V21, V22, block, campaigns, comment, commit, id, key, now, pull, tick, tree, upgrade,
};

/// What was decided of a proposal, in words; empty where nothing was.
fn decided_of(decided: &Decided, target: &str) -> String {
    let proposal = id(target);
    let Decisions { hold, skipped, release, rollback, overrides, settled, approvals } = decided.of(&proposal);
    let mut words = Vec::new();
    match decided.wish(&proposal) {
        Wish::None => {}
        wish => words.push(format!("wished {wish:?}")),
    }
    let until = |hold: &OnHold| hold.until.map_or_else(String::new, |until| format!(" until {until}"));
    words.extend(hold.map(|hold| format!("held by {}{}", hold.by, until(&hold))));
    words.extend(skipped.map(|one| format!("skipped {} by {}", one.source, one.by)));
    words.extend(release.map(|release| format!("asked for {release}")));
    words.extend(rollback.map(|back| format!("left {} by {}", back.leaves, back.by)));
    words.extend(overrides.iter().map(|one| format!("overrode {} of {}", one.rule, one.source)));
    words.extend(settled.iter().map(|one| format!("settled {}", one.path)));
    words.extend(approvals.iter().map(|one| format!("approved by {}", one.by)));
    if decided.is_new(&proposal) {
        words.push("new".to_owned());
    }
    words.join(", ")
}

/// The answers to all commands of a request, without the way to the page that explains it; `!` before a refusal, `=`
/// before what the pull request shows, `#` before what the dashboard notes.
fn said(decided: &Decided, request: &Request) -> String {
    let one = |at: usize| {
        let answer = decided.answer(request, at).cloned().unwrap_or_default();
        let text = answer.text();
        let text = text.split(" See `capstan help ").next().unwrap_or_default().trim();
        let how = match () {
            () if answer.is_empty() => return String::new(),
            () if answer.is_refusal() => "!",
            () if answer.is_shown() => "=",
            () => "",
        };
        let noted = if decided.is_in_dashboard(request, at) { "#" } else { "" };
        format!("{noted}{how}{text}")
    };
    (0..request.commands.len()).map(one).collect::<Vec<_>>().join(" / ")
}

fn open(case: &Case, number: u64) -> PullRequest {
    case.open.iter().find(|pull| pull.number == number).cloned().unwrap()
}

/// Two clusters that are offered v22, of which the first has its own pull request, and a person's.
fn town() -> Case {
    Case::new().offered("gauss/peu01").offered("kiel/peu01").proposed(3, "gauss/peu01", 'a').persons(9, 'f')
}

#[test]
fn on_a_proposal_a_command_decides_about_it() {
    let case = town();
    for (text, decided, answer) in [
        (
            "/capstan hold",
            "held by ada, new",
            "=`gauss/peu01`: On hold by `ada`. `/capstan unhold` undoes it.",
        ),
        (
            "/capstan hold the audit until 2026-12-01",
            "held by ada until 2026-12-01, new",
            "=`gauss/peu01`: On hold by `ada` until 2026-12-01: the audit. `/capstan unhold` undoes it.",
        ),
        ("/capstan unhold", "", "`gauss/peu01`: It is not on hold."),
        ("/capstan skip", "wished Skip", ""),
        ("/capstan replan", "wished Replan", ""),
        ("/capstan unskip", "wished Offer", ""),
        ("/capstan unapprove", "", "`gauss/peu01`: You have not approved it."),
        (
            "/capstan keep all",
            "",
            "!`/capstan keep all` was not carried out: the upgrade of `gauss/peu01` has no conflict to settle.",
        ),
        ("/capstan upgrade", "wished Offer", ""),
        ("/capstan upgrade to aws/v22.0.0", "wished Offer, asked for aws/v22.0.0, new", ""),
        ("/capstan status", "", ""),
        ("/capstan merge", "", ""),
        ("/capstan retry", "", ""),
    ] {
        let request = comment(1, "ada", Some(&open(&case, 3)), text);
        case.heard(std::slice::from_ref(&request), |planned| {
            assert_eq!(decided_of(planned.decided, "gauss/peu01"), decided, "{text}");
            assert_eq!(said(planned.decided, &request), answer, "{text}");
        });
    }
}

#[test]
fn of_several_wishes_of_a_comment_the_one_that_loses_least_counts() {
    let case = town();
    for (text, expected) in [
        ("/capstan skip\n/capstan replan", "wished Skip"),
        ("/capstan replan\n/capstan skip", "wished Skip"),
        ("/capstan unskip\n/capstan replan", "wished Offer"),
        ("/capstan replan", "wished Replan"),
    ] {
        let request = comment(1, "ada", Some(&open(&case, 3)), text);
        case.heard(&[request], |planned| {
            assert_eq!(decided_of(planned.decided, "gauss/peu01"), expected, "{text}");
        });
    }
}

#[test]
fn elsewhere_a_command_has_to_name_the_cluster_and_is_noted_in_the_dashboard() {
    let case = town();
    let nobody = "!This pull request is not one of Capstan's open proposals, so there is nothing to decide here; `for CLUSTER` names another one.";
    for (text, decided, answer) in [
        ("/capstan hold", "", nobody),
        ("/capstan keep all", "", nobody),
        (
            "/capstan hold for kiel/peu01",
            "held by ada, new",
            "#=`kiel/peu01`: On hold by `ada`. `/capstan unhold for kiel/peu01` undoes it.",
        ),
        ("/capstan unhold for kiel/peu01", "", "#`kiel/peu01`: It is not on hold."),
        (
            "/capstan skip for kiel/peu01",
            "skipped aws/v22.0.0 by ada, new",
            "#`kiel/peu01`: Capstan does not offer `aws/v22.0.0` to it again, only a newer one. `/capstan unskip for kiel/peu01` undoes it.",
        ),
        ("/capstan unskip for kiel/peu01", "wished Offer", ""),
        (
            "/capstan skip for kiel/peu09",
            "",
            "!`kiel/peu09`: there is no such cluster on the default branch.",
        ),
        (
            "/capstan hold for kiel/peu09",
            "",
            "!`kiel/peu09`: there is no such cluster on the default branch.",
        ),
        ("/capstan upgrade kiel/peu01 to aws/v22.0.0", "wished Offer, asked for aws/v22.0.0, new", ""),
    ] {
        for on in [Some(open(&case, 9)), None] {
            let request = comment(1, "ada", on.as_ref(), text);
            case.heard(std::slice::from_ref(&request), |planned| {
                assert_eq!(decided_of(planned.decided, "kiel/peu01"), decided, "{text}");
                assert_eq!(said(planned.decided, &request), answer, "{text}");
            });
        }
    }
}

#[test]
fn what_cannot_be_noted_is_not_decided() {
    let why = "GitHub refuses the dashboard issue: issues are off";
    let case = Case { no_dashboard: Some(why.to_owned()), ..town() };
    for text in
        ["/capstan hold for kiel/peu01", "/capstan skip for kiel/peu01", "/capstan pause", "/capstan resume"]
    {
        let request = comment(1, "ada", None, text);
        case.heard(std::slice::from_ref(&request), |planned| {
            assert_eq!(decided_of(planned.decided, "kiel/peu01"), "", "{text}");
            assert!(planned.decided.pause().is_none(), "{text}");
            let answer = said(planned.decided, &request);
            if text == "/capstan resume" {
                assert_eq!(answer, "Capstan is not paused in this repository.");
            } else {
                assert!(answer.starts_with('!') && answer.contains("issues are off"), "{answer}");
            }
        });
    }
    // An open pull request has room of its own.
    let request = comment(1, "ada", Some(&open(&case, 3)), "/capstan hold");
    case.heard(&[request], |planned| {
        assert_eq!(decided_of(planned.decided, "gauss/peu01"), "held by ada, new");
    });
}

#[test]
fn under_observation_nothing_is_decided_about_proposals() {
    let case = town().settings(|settings| settings.mode = Mode::Observe);
    let observed = "!The settings say `mode: observe`: there are no proposals to decide about.";
    for (text, answer) in [
        ("/capstan hold", observed),
        ("/capstan override kubernetes-minor-skip because", observed),
        ("/capstan approve", observed),
        ("/capstan upgrade to aws/v22.0.0", ""),
        (
            "/capstan pause",
            "#Paused by `ada` since 2026-03-02. Nothing is opened, written or merged in this repository; `/capstan resume` undoes it.",
        ),
    ] {
        let request = comment(1, "ada", Some(&open(&case, 3)), text);
        case.heard(std::slice::from_ref(&request), |planned| {
            assert_eq!(decided_of(planned.decided, "gauss/peu01"), "", "{text}");
            assert_eq!(said(planned.decided, &request), answer, "{text}");
        });
    }
}

#[test]
fn a_pause_is_the_repositorys_and_is_noted_in_the_dashboard() {
    let paused = Paused { by: "eve".to_owned(), reason: None, since: date(2026, 1, 5) };
    let before =
        Case { record: DashboardRecord { pause: Some(paused), ..DashboardRecord::default() }, ..town() };
    for (case, text, expected, answer) in [
        (
            town(),
            "/capstan pause the audit",
            Some("ada"),
            "#Paused by `ada` since 2026-03-02: the audit. Nothing is opened, written or merged in this repository; `/capstan resume` undoes it.",
        ),
        (town(), "/capstan resume", None, "Capstan is not paused in this repository."),
        (town(), "/capstan help", None, ""),
        (before.clone(), "/capstan help", Some("eve"), ""),
        (before.clone(), "/capstan resume", None, "#Capstan continues in this repository."),
        (
            before,
            "/capstan pause",
            Some("ada"),
            "#Paused by `ada` since 2026-03-02. Nothing is opened, written or merged in this repository; `/capstan resume` undoes it.",
        ),
    ] {
        let request = comment(1, "ada", None, text);
        case.heard(std::slice::from_ref(&request), |planned| {
            assert_eq!(planned.decided.pause().map(|pause| pause.by.as_str()), expected, "{text}");
            assert_eq!(said(planned.decided, &request), answer, "{text}");
        });
    }
}

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
fn on_a_shared_pull_request_a_command_is_about_all_or_about_whom_it_names() {
    let case = Case::new().offered("gauss/peu01").offered("gauss/peu02").shared(
        3,
        "group://gauss",
        'a',
        &["gauss/peu01", "gauss/peu02"],
    );
    for (text, of_group, first, second) in [
        ("/capstan hold", "", "held by ada, new", "held by ada, new"),
        ("/capstan hold for gauss/peu02", "", "", "held by ada, new"),
        ("/capstan skip", "wished Skip", "", ""),
        ("/capstan skip for gauss/peu02", "", "", "skipped aws/v22.0.0 by ada, new"),
        ("/capstan replan", "wished Replan", "", ""),
        (
            "/capstan upgrade to aws/v22.0.0",
            "",
            "wished Offer, asked for aws/v22.0.0, new",
            "wished Offer, asked for aws/v22.0.0, new",
        ),
        ("/capstan upgrade gauss/peu02 to aws/v22.0.0", "", "", "wished Offer, asked for aws/v22.0.0, new"),
    ] {
        let request = comment(1, "ada", Some(&open(&case, 3)), text);
        case.heard(&[request], |planned| {
            assert_eq!(decided_of(planned.decided, "group://gauss"), of_group, "{text}");
            assert_eq!(decided_of(planned.decided, "gauss/peu01"), first, "{text}");
            assert_eq!(decided_of(planned.decided, "gauss/peu02"), second, "{text}");
        });
    }
}

#[test]
fn skipping_the_last_cluster_of_a_shared_pull_request_closes_it() {
    let case = Case::new().offered("gauss/peu01").shared(3, "group://gauss", 'a', &["gauss/peu01"]);
    let request = comment(1, "ada", Some(&open(&case, 3)), "/capstan skip for gauss/peu01");
    case.heard(&[request], |planned| {
        assert_eq!(decided_of(planned.decided, "group://gauss"), "wished Skip");
        assert_eq!(decided_of(planned.decided, "gauss/peu01"), "");
    });
}

#[test]
fn who_leaves_a_shared_pull_request_has_nothing_to_be_noted_in_but_the_dashboard() {
    let members = ["gauss/peu01", "gauss/peu02"];
    let case =
        Case::new().offered("gauss/peu01").offered("gauss/peu02").shared(3, "group://gauss", 'a', &members);
    let without = Case { no_dashboard: Some("the settings disable it".to_owned()), ..case.clone() };
    let request = comment(1, "ada", Some(&open(&case, 3)), "/capstan hold for gauss/peu02");
    case.heard(std::slice::from_ref(&request), |planned| {
        assert!(planned.decided.is_in_dashboard(&request, 0))
    });
    without.heard(std::slice::from_ref(&request), |planned| {
        assert_eq!(decided_of(planned.decided, "gauss/peu02"), "");
        assert!(said(planned.decided, &request).contains("the settings disable it"));
    });
}

#[test]
fn a_tick_decides_about_the_cluster_that_its_box_is_beside() {
    let members = ["gauss/peu01", "gauss/peu02"];
    let case =
        Case::new().offered("gauss/peu01").offered("gauss/peu02").shared(3, "group://gauss", 'a', &members);
    for (text, of_group, first) in [
        ("/capstan hold", "", "held by ada, new"),
        ("/capstan skip", "", "skipped aws/v22.0.0 by ada, new"),
        ("/capstan upgrade", "", "wished Offer"),
    ] {
        let request = tick(0, "ada", &id("gauss/peu01"), Some(&open(&case, 3)), text);
        case.heard(&[request], |planned| {
            assert_eq!(decided_of(planned.decided, "group://gauss"), of_group, "{text}");
            assert_eq!(decided_of(planned.decided, "gauss/peu01"), first, "{text}");
            assert_eq!(decided_of(planned.decided, "gauss/peu02"), "", "{text}");
        });
    }
}

#[test]
fn on_an_ended_shared_pull_request_a_command_is_about_whose_changes_that_brought() {
    let group = id("group://gauss");
    let parts = vec![crate::testing::carried("gauss/peu01")];
    let body = capstan_report::Block { parts, ..block(2, &group, V21) }.render(&key());
    let ended = PullRequest { state: PullRequestState::Closed, body, ..pull(2, &group.branch(), 'e') };
    let members = ["gauss/peu01", "gauss/peu02"];
    let case =
        Case::new().offered("gauss/peu01").offered("gauss/peu02").shared(3, "group://gauss", 'a', &members);
    for (text, first, second) in
        [("/capstan replan", "wished Replan", ""), ("/capstan skip", "skipped aws/v22.0.0 by ada, new", "")]
    {
        let request = comment(1, "ada", Some(&ended), text);
        case.heard(&[request], |planned| {
            assert_eq!(decided_of(planned.decided, "gauss/peu01"), first, "{text}");
            assert_eq!(decided_of(planned.decided, "gauss/peu02"), second, "{text}");
            assert_eq!(decided_of(planned.decided, "group://gauss"), "", "{text}");
        });
    }
}

#[test]
fn a_release_that_is_not_offered_is_taken_back() {
    let refused = Case::new().plan("gauss/peu01", Err("there is no release `aws/v99.0.0`."));
    let request = comment(1, "ada", None, "/capstan upgrade gauss/peu01 to aws/v99.0.0");
    refused.heard(std::slice::from_ref(&request), |planned| {
        assert_eq!(decided_of(planned.decided, "gauss/peu01"), "");
        assert_eq!(said(planned.decided, &request), "!`gauss/peu01`: there is no release `aws/v99.0.0`.");
    });
    let nowhere = comment(1, "ada", None, "/capstan upgrade gauss/peu09 to aws/v22.0.0");
    town().heard(std::slice::from_ref(&nowhere), |planned| {
        assert_eq!(decided_of(planned.decided, "gauss/peu09"), "");
        let expected = "!`gauss/peu09`: there is no such cluster on the default branch.";
        assert_eq!(said(planned.decided, &nowhere), expected);
    });
    // What was asked for before stands then.
    let before = Decisions { release: ReleaseName::parse(V22), ..Decisions::default() };
    let record =
        DashboardRecord { decisions: vec![(id("gauss/peu01"), before)], ..DashboardRecord::default() };
    Case { record, ..refused }.heard(&[request], |planned| {
        assert_eq!(decided_of(planned.decided, "gauss/peu01"), "asked for aws/v22.0.0");
    });
}

#[test]
fn asking_for_a_release_ends_that_it_was_skipped() {
    let skipped = Skipped { source: V22.to_owned(), by: "eve".to_owned() };
    let before = Decisions { skipped: Some(skipped), ..Decisions::default() };
    let record =
        DashboardRecord { decisions: vec![(id("kiel/peu01"), before)], ..DashboardRecord::default() };
    let case = Case { record, ..town() };
    for (text, expected) in [
        ("/capstan help", "skipped aws/v22.0.0 by eve"),
        ("/capstan upgrade kiel/peu01 to aws/v22.0.0", "wished Offer, asked for aws/v22.0.0, new"),
        ("/capstan unskip for kiel/peu01", "wished Offer, new"),
    ] {
        case.heard(&[comment(1, "ada", None, text)], |planned| {
            assert_eq!(decided_of(planned.decided, "kiel/peu01"), expected, "{text}");
        });
    }
}

#[test]
fn a_rollback_asks_for_the_release_before_or_says_why_there_is_none() {
    let request = comment(1, "ada", None, "/capstan rollback gauss/peu01");
    let back = RollBack {
        to: ReleaseName::parse(V21).unwrap(),
        leaves: capstan_model::ids::ReleaseId::from_path(V22),
    };
    let found = Ok((id("gauss/peu01"), back));
    let case = Case { rollbacks: vec![(request.clone(), 0, found)], ..town() };
    case.heard(std::slice::from_ref(&request), |planned| {
        let expected = "wished Offer, asked for aws/v21.0.0, left aws/v22.0.0 by ada, new";
        assert_eq!(decided_of(planned.decided, "gauss/peu01"), expected);
        assert_eq!(said(planned.decided, &request), "");
    });
    let why = Err("it is not merged".to_owned());
    let case = Case { rollbacks: vec![(request.clone(), 0, why)], ..town() };
    case.heard(std::slice::from_ref(&request), |planned| {
        assert_eq!(decided_of(planned.decided, "gauss/peu01"), "");
        assert_eq!(said(planned.decided, &request), "!`gauss/peu01`: It is not merged.");
    });
}

#[test]
fn what_is_rolled_back_is_one_cluster() {
    let members = ["gauss/peu01", "gauss/peu02"];
    let case = Case::new()
        .offered("gauss/peu01")
        .offered("gauss/peu02")
        .shared(3, "group://gauss", 'a', &members)
        .proposed(4, "kiel/peu01", 'b')
        .persons(9, 'f');
    let facts = case.facts();
    for (number, text, expected) in [
        (4, "/capstan rollback", Ok(("kiel/peu01", Some(4)))),
        (9, "/capstan rollback", Err("name the cluster: this pull request is not a proposal for one")),
        (
            3,
            "/capstan rollback",
            Err(
                "name the cluster, as in `rollback gauss/peu01`: this pull request has 2 clusters, and each is rolled back separately",
            ),
        ),
        (3, "/capstan rollback gauss/peu02", Ok(("gauss/peu02", None))),
        (9, "/capstan rollback kiel/peu01", Ok(("kiel/peu01", None))),
    ] {
        let on = open(&case, number);
        let request = comment(1, "ada", Some(&on), text);
        let command = request.commands[0].as_ref().unwrap();
        let capstan_plan::verbs::Command::Rollback(back) = command else { panic!("{command:?}") };
        let found = subject_of(&facts, &case.scopes, &request, (command, back));
        let found = found.map(|(proposal, cluster, pull)| {
            assert_eq!(proposal.target.id(), Some(&cluster));
            (proposal.to_string(), pull.map(|pull| pull.number))
        });
        let expected = expected
            .map(|(target, pull): (&str, Option<u64>)| (target.to_owned(), pull))
            .map_err(str::to_owned);
        assert_eq!(found, expected, "#{number} {text}");
    }
}

#[test]
fn an_approval_is_of_the_head_that_was_meant_and_of_what_it_changes() {
    let case = town();
    let result = ResultDigest::of(&tree(&[]), &tree(&[("a", "1")]));
    let with = |text: &str, result: Option<ResultDigest>| Request {
        result,
        ..comment(1, "ada", Some(&open(&case, 3)), text)
    };
    let head = "a".repeat(40);
    let conflict =
        "!`gauss/peu01`: It conflicts with its base, so its changes are unknown: nothing is approved.";
    for (request, decided, answer) in [
        (with("/capstan approve", Some(result.clone())), "approved by ada, new", ""),
        (with(&format!("/capstan approve {head}"), Some(result.clone())), "approved by ada, new", ""),
        (
            with(&format!("/capstan approve {}", "b".repeat(40)), Some(result.clone())),
            "",
            "!`gauss/peu01`: Its head is `aaaaaaa`: nothing is approved. Review that commit first.",
        ),
        (with("/capstan approve", None), "", conflict),
    ] {
        case.heard(std::slice::from_ref(&request), |planned| {
            assert_eq!(decided_of(planned.decided, "gauss/peu01"), decided);
            assert_eq!(said(planned.decided, &request), answer);
        });
    }
    // Approved twice, one counts; taken back, none does.
    let twice =
        [with("/capstan approve", Some(result.clone())), with("/capstan approve", Some(result.clone()))];
    case.heard(&twice, |planned| {
        let approvals = planned.decided.of(&id("gauss/peu01")).approvals;
        assert_eq!(
            approvals.iter().map(|one| (one.means, one.by.as_str())).collect::<Vec<_>>(),
            [(Means::Command, "ada")]
        );
    });
    let back = with("/capstan approve\n/capstan unapprove", Some(result));
    case.heard(std::slice::from_ref(&back), |planned| {
        assert_eq!(decided_of(planned.decided, "gauss/peu01"), "new");
        assert!(said(planned.decided, &back).ends_with("=`gauss/peu01`: Your approval is withdrawn."));
    });
}

#[test]
fn an_override_is_of_what_is_offered_now() {
    let rule = "kubernetes-minor-skip";
    let text = format!("/capstan override {rule} it was tested");
    let case = town();
    let request = comment(1, "ada", Some(&open(&case, 3)), &text);
    case.heard(std::slice::from_ref(&request), |planned| {
        let expected = format!("overrode {rule} of aws/v22.0.0, new");
        assert_eq!(decided_of(planned.decided, "gauss/peu01"), expected);
        assert!(said(planned.decided, &request).ends_with("It applies as long as `aws/v22.0.0` is offered."));
    });
    let broken = Case { plans: Default::default(), ..case.clone() }
        .plan("gauss/peu01", Err("its base cannot be read."));
    broken.heard(std::slice::from_ref(&request), |planned| {
        let expected = "!`gauss/peu01`: It has no plan now, so there is nothing to override.";
        assert_eq!(said(planned.decided, &request), expected);
    });
    // Of one without a pull request no check says so.
    let named = comment(1, "ada", None, &format!("/capstan override {rule} for kiel/peu01 tested"));
    case.heard(std::slice::from_ref(&named), |planned| {
        assert_eq!(decided_of(planned.decided, "kiel/peu01"), "");
        assert!(said(planned.decided, &named).starts_with("!This pull request is not one of Capstan's open"));
    });
}

#[test]
fn what_is_skipped_must_be_offered() {
    let blocked = Upgrade { to: None, ..upgrade("kiel/peu01", V21, V22) };
    for (case, answer) in [
        (
            Case::new().current("kiel/peu01"),
            "!`kiel/peu01`: Nothing is offered to it, so there is nothing to skip.",
        ),
        (
            Case::new().plan("kiel/peu01", Ok(blocked)),
            "!`kiel/peu01`: Nothing is offered to it, so there is nothing to skip.",
        ),
        (
            Case::new().plan("kiel/peu01", Err("no.")),
            "!`kiel/peu01`: It has no plan now, so there is nothing to skip.",
        ),
    ] {
        let request = comment(1, "ada", None, "/capstan skip for kiel/peu01");
        case.heard(std::slice::from_ref(&request), |planned| {
            assert_eq!(said(planned.decided, &request).trim_start_matches('#'), answer);
        });
    }
}

#[test]
fn more_than_the_dashboard_has_room_for_is_not_decided() {
    let full: Vec<(ProposalId, Decisions)> = (0..400)
        .map(|at| {
            let hold = OnHold { by: "ada".to_owned(), reason: None, until: None };
            (id(&format!("many/c{at}")), Decisions { hold: Some(hold), ..Decisions::default() })
        })
        .collect();
    let case = Case { record: DashboardRecord { decisions: full, ..DashboardRecord::default() }, ..town() };
    let request = comment(1, "ada", None, "/capstan hold for kiel/peu01");
    case.heard(std::slice::from_ref(&request), |planned| {
        assert_eq!(decided_of(planned.decided, "kiel/peu01"), "");
        assert!(said(planned.decided, &request).contains("Its description has no room for more decisions"));
    });
}

#[test]
fn an_order_is_to_campaigns_of_the_settings_and_is_noted_in_the_dashboard() {
    let case = town().settings(|settings| settings.campaigns = campaigns());
    for (text, orders, answer) in [
        (
            "/capstan campaign stop",
            1,
            "#Campaign `prod`, `test` is stopped: it opens no pull request. Rollouts that have started continue. `/capstan campaign resume` continues the campaign.",
        ),
        (
            "/capstan campaign stop of prod",
            1,
            "#Campaign `prod` is stopped: it opens no pull request. Rollouts that have started continue. `/capstan campaign resume` continues the campaign.",
        ),
        ("/capstan campaign stop of nobody", 0, "!There is no campaign `nobody`; there are `prod`, `test`."),
        ("/capstan campaign resume", 0, "No campaign is stopped."),
        (
            "/capstan campaign skip kiel/peu01",
            1,
            "#Campaign `prod`, `test` continues without `kiel/peu01` for the current release.",
        ),
        ("/capstan campaign skip kiel/peu09", 0, "!There is no cluster `kiel/peu09` on the default branch."),
    ] {
        let request = comment(1, "ada", None, text);
        case.heard(std::slice::from_ref(&request), |planned| {
            assert_eq!(planned.decided.orders().len(), orders, "{text}");
            assert_eq!(said(planned.decided, &request), answer, "{text}");
        });
    }
    let request = comment(1, "ada", None, "/capstan campaign stop");
    town().heard(std::slice::from_ref(&request), |planned| {
        assert_eq!(said(planned.decided, &request), "!The settings of this repository have no `campaigns`.");
    });
    let stop = Stop { at: now(), why: "`eve` stopped it.".to_owned(), by_person: true };
    let memory = Memory { stopped: Some(stop), ..Memory::default() };
    let note = Note { campaign: "prod".to_owned(), memory, ..Note::default() };
    let record = DashboardRecord { campaigns: vec![note], ..DashboardRecord::default() };
    let stopped = Case { record, ..case };
    // Of two the later one holds, in whatever order they were found.
    let earlier = comment(1, "ada", None, "/capstan campaign resume");
    let later = Request {
        given_at: earlier.given_at + SignedDuration::from_secs(60),
        ..comment(2, "eve", None, "/capstan campaign stop")
    };
    for both in [[earlier.clone(), later.clone()], [later, earlier]] {
        stopped.heard(&both, |planned| {
            let by: Vec<&str> = planned.decided.orders().iter().map(|order| order.by.as_str()).collect();
            assert_eq!(by, ["ada", "eve"]);
        });
    }
    for (text, orders) in [("/capstan campaign resume", 1), ("/capstan campaign resume of test", 0)] {
        stopped.heard(&[comment(1, "ada", None, text)], |planned| {
            assert_eq!(planned.decided.orders().len(), orders, "{text}");
        });
    }
}

#[test]
fn what_is_not_heard_decides_nothing() {
    let case = town();
    let on = open(&case, 3);
    let request = |change: fn(&mut Request)| {
        let mut request = comment(1, "ada", Some(&on), "/capstan hold\n/capstan replan");
        change(&mut request);
        request
    };
    let unseen = UnseenBranch { branch: "capstan/upgrade/gauss/peu01".to_owned(), pushes: Vec::new() };
    let overtaken = Request { unseen: Some(unseen), ..request(|_| {}) };
    for (request, expected) in [
        (request(|_| {}), "wished Replan, held by ada, new"),
        (request(|request| request.hearing = Hearing::Edited), ""),
        (request(|request| request.hearing = Hearing::Refused), ""),
        (
            request(|request| drop(request.denied.insert(0, capstan_plan::command::Denied::ForkAuthor))),
            "wished Replan",
        ),
        // What would write over commits that its author had not seen is not carried out.
        (overtaken, "held by ada, new"),
    ] {
        case.heard(&[request], |planned| assert_eq!(decided_of(planned.decided, "gauss/peu01"), expected));
    }
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
    let Origin::Comment(first) = &request.origin else { panic!("a comment") };
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
            Unseen::NotTold,
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
fn a_preflight_is_of_the_heads_of_those_who_ask() {
    let case = town();
    let requests = [
        comment(1, "ada", Some(&open(&case, 3)), "/capstan preflight"),
        comment(2, "ada", Some(&open(&case, 9)), "/capstan plan"),
        comment(3, "ada", None, "/capstan preflight"),
    ];
    assert_eq!(heads_to_try(&requests), [commit('a').as_str()]);
    let retarget = Request {
        rewritten: vec![id("kiel/peu01")],
        ..comment(4, "ada", None, "/capstan retarget for kiel/peu01")
    };
    let other = Request { rewritten: vec![id("gauss/peu01")], ..comment(5, "ada", None, "/capstan replan") };
    assert_eq!(retargeted(&[retarget, other]).into_iter().collect::<Vec<_>>(), [id("kiel/peu01")]);
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
