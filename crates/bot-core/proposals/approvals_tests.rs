//! Approvals: which pull requests are judged, what is asked, and what the verdict is.

use std::collections::BTreeMap;

use capstan_plan::proposal::{
    Approval, Decisions, Means, OnHold, Opinion, ProposalId, ResultDigest, Review, Voice,
};
use capstan_plan::settings::{Glob, Mode};
use capstan_report::Block;

use super::approvals::voice_in;
use super::*;
use crate::testing::{Case, V22, block, comment, commit, id, now, open, tree};

fn hold() -> OnHold {
    OnHold { by: "ada".to_owned(), reason: None, until: None }
}

#[test]
fn who_approved_is_judged_where_it_matters() {
    let case = || Case::new().offered("gauss/peu01").proposed(3, "gauss/peu01", 'a').persons(9, 'f');
    let decided = |decisions: Decisions| {
        let block = Block { decisions, ..block(3, &id("gauss/peu01"), V22) };
        Case::new().offered("gauss/peu01").proposed_with(3, "gauss/peu01", 'a', block)
    };
    let auto = |mut case: Case| {
        case.open.iter_mut().for_each(|pull| pull.auto_merge = true);
        case
    };
    let elsewhere = |mut case: Case| {
        case.open.iter_mut().for_each(|pull| pull.base_branch = "other".to_owned());
        case
    };
    let on = case().open[1].clone();
    let asks = |text: &str| vec![comment(1, "ada", Some(&on), text)];
    for (case, requests, expected) in [
        (case(), vec![], 0),
        (case().settings(|settings| settings.upgrade.merge.approvals = 1), vec![], 1),
        (decided(Decisions { hold: Some(hold()), ..Decisions::default() }), vec![], 1),
        (case(), asks("/capstan merge"), 1),
        (case(), vec![comment(1, "ada", None, "/capstan pause")], 1),
        (auto(case()), vec![], 1),
        (
            case().settings(|settings| {
                settings.upgrade.merge.automatic = vec![Glob::parse("gauss/*").unwrap()]
            }),
            vec![],
            1,
        ),
        (
            case()
                .settings(|settings| settings.upgrade.merge.automatic = vec![Glob::parse("kiel/*").unwrap()]),
            vec![],
            0,
        ),
        (elsewhere(auto(case())), vec![], 0),
        (auto(case()).settings(|settings| settings.mode = Mode::Observe), vec![], 0),
    ] {
        case.heard(&requests, |planned| {
            let judged = judged_pulls(planned, &requests, &case.open, &Outcome::default());
            assert_eq!(judged.len(), expected);
        });
    }
}

#[test]
fn what_is_merged_by_itself_is_whose_clusters_all_are() {
    let settings = Case::new()
        .settings(|settings| settings.upgrade.merge.automatic = vec![Glob::parse("gauss/*").unwrap()])
        .settings;
    for (members, expected) in [
        (vec![], false),
        (vec!["gauss/peu01"], true),
        (vec!["gauss/peu01", "gauss/peu02"], true),
        (vec!["gauss/peu01", "kiel/peu01"], false),
    ] {
        let members: Vec<ProposalId> = members.into_iter().map(id).collect();
        assert_eq!(is_automatic(&settings, &members), expected);
    }
}

#[test]
fn an_approval_of_own_work_does_not_count() {
    let people = BranchOwner::People(["ada".to_owned()].into_iter().collect());
    for (author, whose, login, expected) in [
        ("capstan[bot]", &BranchOwner::Capstan, "ada", None),
        ("Ada", &BranchOwner::Capstan, "ada", Some(Voice::OwnWork)),
        ("capstan[bot]", &people, "ada", Some(Voice::OwnWork)),
        ("capstan[bot]", &people, "eve", None),
        ("capstan[bot]", &BranchOwner::Unknown, "eve", Some(Voice::Untold)),
    ] {
        assert_eq!(voice_in(author, whose, login), expected, "{author} {login}");
    }
}

/// What a proposal changes: a file with that text.
fn result(text: &str) -> ResultDigest {
    ResultDigest::of(&tree(&[]), &tree(&[("gauss/peu01/base/a.yaml", text)]))
}

fn approval(by: &str, head: char, text: &str) -> Approval {
    Approval {
        by: by.to_owned(),
        at: now(),
        head: commit(head),
        result: result(text),
        means: Means::Command,
        dismissed: None,
    }
}

fn review(by: &str, opinion: Opinion, head: char) -> Review {
    Review { by: by.to_owned(), at: now(), opinion, commit: commit(head) }
}

/// A proposal of one cluster with these approvals, of which one is needed.
fn approved(approvals: Vec<Approval>) -> Case {
    let decisions = Decisions { approvals, ..Decisions::default() };
    let block = Block { decisions, ..block(3, &id("gauss/peu01"), V22) };
    Case::new()
        .offered("gauss/peu01")
        .proposed_with(3, "gauss/peu01", 'a', block)
        .settings(|settings| settings.upgrade.merge.approvals = 1)
}

/// What is known where nothing is in the way: it changes `x`, it is Capstan's work, and these may approve.
fn approval_found(may: &[&str]) -> ApprovalFound {
    ApprovalFound {
        result: Some(ApprovedResult::Known(result("x"))),
        whose: Some(BranchOwner::Capstan),
        touched: Some(Ok(vec![id("gauss/peu01")])),
        rights: Some(may.iter().map(|login| ((*login).to_owned(), true)).collect()),
    }
}

/// Asks until there is a verdict; `told` answers. What was asked, and the verdict in words.
fn verdict(
    case: &Case,
    (number, proposal): (u64, &str),
    reviews: Option<&[Review]>,
    told: &ApprovalFound,
) -> (String, String) {
    let (pull, proposal) = (open(case, number), id(proposal));
    case.look(|planned| {
        let members = planned.facts.members_of(&proposal);
        let approving = Approving { planned, proposal: &proposal, pull: &pull, reviews, members };
        let (mut found, mut asked) = (ApprovalFound::default(), Vec::new());
        let judged = loop {
            match approving.judge(&found) {
                DecisionStep::Decided(judged) => break judged,
                DecisionStep::Ask(need) => {
                    asked.push(match &need {
                        ApprovalNeed::Result => "result".to_owned(),
                        ApprovalNeed::Whose => "whose".to_owned(),
                        ApprovalNeed::Touched => "touched".to_owned(),
                        ApprovalNeed::Rights(logins, targets) => {
                            let targets: Vec<&str> = targets.iter().map(|target| target.path()).collect();
                            format!("rights of {} in {}", logins.join("+"), targets.join("+"))
                        }
                    });
                    match need {
                        ApprovalNeed::Result => found.result.clone_from(&told.result),
                        ApprovalNeed::Whose => found.whose.clone_from(&told.whose),
                        ApprovalNeed::Touched => found.touched.clone_from(&told.touched),
                        ApprovalNeed::Rights(..) => found.rights.clone_from(&told.rights),
                    }
                }
            }
        };
        (asked.join(", "), in_words(&judged))
    })
}

fn in_words(judged: &ApprovalsJudged) -> String {
    let (judged, noted) = match judged {
        ApprovalsJudged::Later => return "later".to_owned(),
        ApprovalsJudged::Unknown(why) => return format!("unknown: {why}"),
        ApprovalsJudged::Judged { judged, noted } => (judged, noted),
    };
    let by = |all: &[Approval]| all.iter().map(|one| one.by.clone()).collect::<Vec<_>>().join("+");
    let approved = &judged.approved;
    let mut words =
        vec![format!("counted {}", by(&approved.counted)), format!("missing {}", approved.missing)];
    words.extend(
        (!approved.objections.is_empty()).then(|| format!("against {}", approved.objections.join("+"))),
    );
    words.extend(noted.iter().map(|noted| {
        let gone = noted.approvals.iter().filter(|one| one.dismissed.is_some()).count();
        format!("noted {} ({gone} dismissed)", by(&noted.approvals))
    }));
    words.join(", ")
}

const OWN: (u64, &str) = (3, "gauss/peu01");

#[test]
fn nothing_is_judged_before_it_is_known_what_is_approved() {
    let case = approved(vec![approval("ada", 'a', "x")]);
    let told = ApprovalFound { result: Some(ApprovedResult::NotYet), ..approval_found(&["ada"]) };
    assert_eq!(verdict(&case, OWN, None, &told), ("result".to_owned(), "later".to_owned()));
}

#[test]
fn rights_are_asked_of_those_alone_whose_word_may_count() {
    let case = approved(vec![approval("Ada", 'a', "x"), approval("capstan[bot]", 'a', "x")]);
    let reviews = [review("eve", Opinion::Approved, 'a')];
    let people = |all: &[&str]| BranchOwner::People(all.iter().map(|one| (*one).to_owned()).collect());
    for (whose, asked, said) in [
        (
            BranchOwner::Capstan,
            "result, whose, rights of ada+eve in gauss/peu01",
            "counted Ada+eve, missing 0, noted Ada+capstan[bot]+eve (0 dismissed)",
        ),
        (
            people(&["eve"]),
            "result, whose, rights of ada in gauss/peu01",
            "counted Ada, missing 0, noted Ada+capstan[bot]+eve (0 dismissed)",
        ),
        (
            people(&["ada", "eve"]),
            "result, whose",
            "counted , missing 1, noted Ada+capstan[bot]+eve (0 dismissed)",
        ),
        // It is unknown who pushed.
        (
            BranchOwner::Unknown,
            "result, whose",
            "counted , missing 1, noted Ada+capstan[bot]+eve (0 dismissed)",
        ),
    ] {
        let told = ApprovalFound { whose: Some(whose), ..approval_found(&["ada", "eve"]) };
        let found = verdict(&case, OWN, Some(&reviews), &told);
        assert_eq!((found.0.as_str(), found.1.as_str()), (asked, said));
    }
}

#[test]
fn who_lost_the_right_no_longer_counts() {
    let case = approved(vec![approval("ada", 'a', "x"), approval("eve", 'a', "x")]);
    for (may, expected) in [
        (&["ada", "eve"][..], "counted ada+eve, missing 0"),
        (&["eve"][..], "counted eve, missing 0"),
        (&[][..], "counted , missing 1"),
    ] {
        assert_eq!(verdict(&case, OWN, None, &approval_found(may)).1, expected, "{may:?}");
    }
    let told = ApprovalFound {
        rights: Some(BTreeMap::from([("ada".to_owned(), false), ("eve".to_owned(), true)])),
        ..approval_found(&[])
    };
    assert_eq!(verdict(&case, OWN, None, &told).1, "counted eve, missing 0");
}

#[test]
fn an_approval_of_something_else_is_dismissed_and_that_is_recorded() {
    let case = approved(vec![approval("ada", 'b', "y")]);
    let expected = "counted , missing 1, noted ada (1 dismissed)";
    assert_eq!(verdict(&case, OWN, None, &approval_found(&["ada"])).1, expected);
    // What has no result is not taken for what was approved, and dismisses nothing.
    let told = ApprovalFound { result: Some(ApprovedResult::None), ..approval_found(&["ada"]) };
    assert_eq!(verdict(&case, OWN, None, &told).1, "counted ada, missing 1");
}

#[test]
fn reviews_count_where_they_were_read() {
    let noted = Approval { means: Means::Review, ..approval("ada", 'a', "x") };
    let case = approved(vec![noted]);
    for (reviews, expected) in [
        // They cannot be read: what is recorded stays.
        (None, "counted ada, missing 0"),
        (Some(vec![review("ada", Opinion::Approved, 'a')]), "counted ada, missing 0"),
        // It was withdrawn.
        (Some(vec![]), "counted , missing 1, noted  (0 dismissed)"),
        (
            Some(vec![review("ada", Opinion::ChangesRequested, 'a')]),
            "counted , missing 1, against ada, noted  (0 dismissed)",
        ),
        // One of an older head says nothing of this one.
        (
            Some(vec![review("ada", Opinion::Approved, 'a'), review("eve", Opinion::Approved, 'b')]),
            "counted ada, missing 0",
        ),
    ] {
        assert_eq!(
            verdict(&case, OWN, reviews.as_deref(), &approval_found(&["ada", "eve"])).1,
            expected,
            "{reviews:?}"
        );
    }
}

#[test]
fn an_approver_has_the_right_for_each_cluster_of_a_shared_pull_request() {
    let shared = |members: &[&str]| {
        let decisions = Decisions { approvals: vec![approval("ada", 'a', "x")], ..Decisions::default() };
        let parts = members.iter().map(|member| crate::testing::carried(member)).collect();
        let block = Block { decisions, parts, ..block(3, &id("group://gauss"), V22) };
        Case::new().offered("gauss/peu01").offered("gauss/peu02").proposed_with(
            3,
            "group://gauss",
            'a',
            block,
        )
    };
    let group = (3, "group://gauss");
    for (members, touched, asked, said) in [
        (
            &["gauss/peu01", "gauss/peu02"][..],
            Ok(vec![]),
            "result, whose, rights of ada in gauss/peu01+gauss/peu02",
            "counted ada, missing 0",
        ),
        // Its block is lost: those count that it touches.
        (
            &[][..],
            Ok(vec![id("gauss/peu02")]),
            "result, whose, touched, rights of ada in gauss/peu02",
            "counted ada, missing 0",
        ),
        (&[][..], Err("it is too large".to_owned()), "result, whose, touched", "unknown: it is too large"),
    ] {
        let told = ApprovalFound { touched: Some(touched), ..approval_found(&["ada"]) };
        let found = verdict(&shared(members), group, None, &told);
        assert_eq!((found.0.as_str(), found.1.as_str()), (asked, said), "{members:?}");
    }
}

#[test]
fn a_verdict_is_in_the_check_and_at_hand_for_the_merge() {
    let case = approved(vec![]);
    let (pull, proposal) = (open(&case, 3), id("gauss/peu01"));
    let mut outcome = Outcome::default();
    case.look(|planned| {
        let approving = Approving {
            planned,
            proposal: &proposal,
            pull: &pull,
            reviews: None,
            members: vec![proposal.clone()],
        };
        let DecisionStep::Decided(ApprovalsJudged::Judged { judged, noted: None }) =
            approving.judge(&approval_found(&[]))
        else {
            panic!("it is judged");
        };
        outcome.note_judged(&proposal, *judged, "/capstan");
    });
    assert_eq!(outcome.judged[&proposal].approved.missing, 1);
    let remarks = &outcome.remarks[&3];
    let gates: Vec<&str> = remarks.gates.iter().map(|gate| gate.title.as_str()).collect();
    assert_eq!(gates, ["1 of 1 approval missing"]);
    assert_eq!(remarks.approved.as_ref().map(|approved| approved.needed), Some(1));
}
