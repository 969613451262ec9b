//! What commands have in common, heard and answered. What is one command's alone is tested in its file.

use capstan_facts::{PullRequest, PullRequestState};
use capstan_plan::command::{Denied, Hearing, Push};
use capstan_plan::proposal::{Decisions, OnHold, ProposalId};
use capstan_plan::settings::Mode;
use capstan_report::{Answer, DashboardRecord, Refusal};

use super::*;
use crate::proposals::Outcome;
use crate::requests::{DashboardWrite, Request, UnseenBranch};
use crate::testing::{
    Case, V21, answered, block, comment, commit, decided_of, id, key, now, open, pull, said_at_once, tick,
    town,
};

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
            let answer = said_at_once(planned.decided, &request);
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
            assert_eq!(said_at_once(planned.decided, &request), answer, "{text}");
        });
    }
}

#[test]
fn on_a_shared_pull_request_a_command_concerns_all_clusters_or_the_named_ones() {
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
        assert!(said_at_once(planned.decided, &request).contains("the settings disable it"));
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
    for (text, first, second, in_dashboard) in [
        ("/capstan replan", "wished Replan", "", false),
        ("/capstan skip", "skipped aws/v22.0.0 by ada, new", "", true),
        // It leaves the pull request that has it now, so only the dashboard can note it.
        ("/capstan hold", "held by ada, new", "", true),
    ] {
        let request = comment(1, "ada", Some(&ended), text);
        case.heard(std::slice::from_ref(&request), |planned| {
            assert_eq!(planned.decided.is_in_dashboard(&request, 0), in_dashboard, "{text}");
            assert_eq!(decided_of(planned.decided, "gauss/peu01"), first, "{text}");
            assert_eq!(decided_of(planned.decided, "gauss/peu02"), second, "{text}");
            assert_eq!(decided_of(planned.decided, "group://gauss"), "", "{text}");
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
        assert!(
            said_at_once(planned.decided, &request)
                .contains("Its description has no room for more decisions")
        );
    });
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
        (request(|request| drop(request.denied.insert(0, Denied::ForkAuthor))), "wished Replan"),
        // What would write over commits that its author had not seen is not carried out.
        (overtaken, "held by ada, new"),
    ] {
        case.heard(&[request], |planned| assert_eq!(decided_of(planned.decided, "gauss/peu01"), expected));
    }
}

#[test]
fn a_command_asks_for_the_facts_its_answer_needs() {
    for (text, expected) in [
        ("/capstan help", "| command | what it does | who may |"),
        ("/capstan plan", "? Concerned"),
        ("/capstan status", "? Concerned"),
        ("/capstan retarget", "? Concerned"),
        ("/capstan retry", "? Retry"),
        ("/capstan preflight", "? Preflight"),
        ("/capstan create gauss/peu09 from aws/v22.0.0", "? Cluster"),
        ("/capstan render", "? Render"),
        (
            "/capstan replan",
            "!This pull request is not one of Capstan's proposals, so there is nothing to replan. Its check `capstan` shows how it changes clusters.",
        ),
        ("/capstan merge", "!This pull request is not one of Capstan's open proposals: merge it as usual."),
        ("/capstan upgrade", "!Name the cluster: this pull request is not a proposal for one."),
        (
            "/capstan plan for nowhere",
            "!`/capstan plan` takes nothing but `for` and a cluster's folder, as in `for gauss/peu01`, found `for nowhere`: write `/capstan plan [for CLUSTER]`.",
        ),
    ] {
        let found = answered(&town(), 9, text, &Outcome::default());
        assert!(found.starts_with(expected), "{text}: {found}");
    }
}

#[test]
fn an_answer_lists_the_targets_of_a_pull_request_and_counts_the_rest() {
    let many: Vec<String> = (0..7).map(|at| format!("gauss/peu0{at}")).collect();
    let case = many.iter().fold(Case::new(), |case, target| case.current(target)).persons(9, 'f');
    let all = || Ok(many.iter().map(|target| id(target)).collect());
    let on = open(&case, 9);
    let text = |command: &str, concerned: Concerned| {
        let request = comment(1, "ada", Some(&on), command);
        case.heard(std::slice::from_ref(&request), |planned| {
            let told = AnswerContext { planned, outcome: &Outcome::default(), kept: &DashboardWrite::Done };
            match part(told, &request, 0, Some(&concerned)) {
                CommandAnswer::Says(answer) => answer.text(),
                CommandAnswer::Asks(asks) => panic!("{asks:?}"),
            }
        })
    };
    assert!(
        text("/capstan plan", Ok(vec![]))
            .starts_with("This pull request touches no cluster, so there is nothing to plan.")
    );
    assert!(text("/capstan status", Ok(vec![])).starts_with("This pull request touches no cluster."));
    assert!(text("/capstan plan", Err(Answer::refused(Refusal::NotJudged, "No.\n"))).starts_with("No."));
    let plans = text("/capstan plan", all());
    assert!(plans.contains("`gauss/peu04`") && !plans.contains("`gauss/peu05`"), "{plans}");
    assert!(plans.ends_with("… and 2 more clusters: `capstan plan` in a checkout shows their plans.\n"));
    let statuses = text("/capstan status", all());
    assert!(statuses.contains("gauss/peu06") && !statuses.contains("more cluster"), "{statuses}");
}

#[test]
fn what_is_not_carried_out_says_why() {
    let case = town();
    let on = open(&case, 3);
    let push = Push { after: commit('b'), actor: Some("eve".to_owned()), at: now() };
    let branch =
        |pushes: Vec<Push>| UnseenBranch { branch: "capstan/upgrade/gauss/peu01".to_owned(), pushes };
    let asked = |text: &str| comment(1, "ada", Some(&on), text);
    for (request, part_of_it) in [
        (Request { hearing: Hearing::Edited, ..asked("/capstan hold") }, "edited"),
        (Request { hearing: Hearing::Refused, ..asked("/capstan hold") }, "/capstan hold"),
        (
            Request { denied: [(0, Denied::ForkAuthor)].into_iter().collect(), ..asked("/capstan hold") },
            "fork",
        ),
        (Request { unseen: Some(branch(vec![push.clone()])), ..asked("/capstan replan") }, "eve"),
        (Request { unseen: Some(branch(vec![])), ..asked("/capstan replan") }, "capstan/upgrade/gauss/peu01"),
        (Request { moved: Some(branch(vec![push])), ..asked("/capstan merge") }, "bbbbbbb"),
        (asked("/capstan nonsense"), "nonsense"),
    ] {
        case.heard(std::slice::from_ref(&request), |planned| {
            let told = AnswerContext { planned, outcome: &Outcome::default(), kept: &DashboardWrite::Done };
            let CommandAnswer::Says(answer) = part(told, &request, 0, None) else { panic!("it is said") };
            assert!(answer.is_refusal(), "{}", answer.text());
            assert!(answer.text().contains(part_of_it), "{part_of_it}: {}", answer.text());
        });
    }
    // Of a command that is not there nothing is said.
    let nothing = case.look(|planned| {
        let told = AnswerContext { planned, outcome: &Outcome::default(), kept: &DashboardWrite::Done };
        match part(told, &asked("/capstan hold"), 7, None) {
            CommandAnswer::Says(answer) => answer.text(),
            CommandAnswer::Asks(asks) => format!("{asks:?}"),
        }
    });
    assert_eq!(nothing, "");
}

#[test]
fn what_the_dashboard_does_not_take_was_not_decided() {
    let case = town();
    let request = comment(1, "ada", None, "/capstan hold for kiel/peu01");
    let not = DashboardWrite::Not("GitHub refuses the dashboard issue: issues are off".to_owned());
    for (kept, is_refused) in [(DashboardWrite::Done, false), (DashboardWrite::Later, false), (not, true)] {
        case.heard(std::slice::from_ref(&request), |planned| {
            let told = AnswerContext { planned, outcome: &Outcome::default(), kept: &kept };
            let CommandAnswer::Says(answer) = part(told, &request, 0, None) else { panic!("it is said") };
            assert_eq!(answer.is_refusal(), is_refused, "{}", answer.text());
        });
    }
}
