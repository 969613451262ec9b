//! Which commits need a check, and its inputs: a row is a head.

use std::collections::BTreeMap;

use capstan_facts::{
    BranchHead, CheckRecord, CheckVerdict as Verdict, Permission, PreflightRecord, PullRequest,
};
use capstan_live::agent::{PreflightId, PreflightState};
use capstan_model::finding::{Finding, Severity, rules};
use capstan_model::ids::ClusterId;
use capstan_plan::command::Push;
use capstan_plan::proposal::{CheckVerdict, DESTROY, Override, Stack, Stage, Unclear, Way};
use capstan_plan::settings::{ManagementClusterUid, PreflightMode};
use capstan_plan::upgrade::Upgrade;
use capstan_report::{
    CheckReport, Conclusion, Gate, JudgedCluster, Judgement, MergeBasis, PullJudgement, StatusState,
    untouched,
};

use super::exemptions::{override_exemption, retirement_exemption};
use super::inputs::{gravity, inputs, inputs_of, overrides_in_words};
use super::preflights::{Trust, is_same_question, trust, trust_in};
use super::*;
use crate::effects::{Effect, FirstStatus};
use crate::facts::BranchNames;
use crate::facts::Reporters;
use crate::proposals::{DecisionStep, Exemption, Remarks};
use crate::testing::{Case, V21, V22, commit, id, now, pull, tree, upgrade};

fn subject(head: char) -> CheckSubject {
    subject_of(&pull(3, "topic", head), Way::Straight, ("main", commit('0')))
}

#[test]
fn whatever_a_report_says_is_among_what_it_is_made_from() {
    let target = id("gauss/peu01").target;
    let overruled = Override {
        rule: "removes-machines".to_owned(),
        reason: "tested".to_owned(),
        by: "ada".to_owned(),
        source: V22.to_owned(),
    };
    let remarks = Remarks::default;
    let none = inputs(&subject('a'), &remarks(), "");
    let finding = Finding::new(rules::TOO_LARGE, "too large");
    let exemption =
        Exemption { target: target.clone(), plan: None, rules: vec![("r".to_owned(), "why".to_owned())] };
    let changed = [
        inputs(&subject('b'), &remarks(), ""),
        inputs(&CheckSubject { base_tip: commit('9'), ..subject('a') }, &remarks(), ""),
        inputs(&CheckSubject { base_branch: "other".to_owned(), ..subject('a') }, &remarks(), ""),
        inputs(&CheckSubject { way: Way::Above(vec![2]), ..subject('a') }, &remarks(), ""),
        inputs(&CheckSubject { way: Way::Aside("x".to_owned()), ..subject('a') }, &remarks(), ""),
        inputs(&CheckSubject { way: Way::Unknown(Unclear::Disagree), ..subject('a') }, &remarks(), ""),
        inputs(&subject('a'), &remarks(), "live"),
        inputs(&subject('a'), &Remarks { notes: vec!["a".to_owned()], ..remarks() }, ""),
        inputs(&subject('a'), &Remarks { blocked: vec!["a".to_owned()], ..remarks() }, ""),
        inputs(&subject('a'), &Remarks { is_edited: true, ..remarks() }, ""),
        inputs(&subject('a'), &Remarks { stage: Some(Stage::Held), ..remarks() }, ""),
        inputs(&subject('a'), &Remarks { stage: Some(Stage::Paused), ..remarks() }, ""),
        inputs(
            &subject('a'),
            &Remarks { gates: vec![Gate { title: String::new(), why: "w".to_owned() }], ..remarks() },
            "",
        ),
        inputs(
            &subject('a'),
            &Remarks { findings: [(target.clone(), vec![finding])].into_iter().collect(), ..remarks() },
            "",
        ),
        inputs(&subject('a'), &Remarks { exemptions: vec![exemption], ..remarks() }, ""),
        inputs(
            &subject('a'),
            &Remarks { overrides: [(target.clone(), vec![overruled])].into_iter().collect(), ..remarks() },
            "",
        ),
        inputs(
            &subject('a'),
            &Remarks {
                upgrades: [(target, upgrade("gauss/peu01", V21, V22).into())].into_iter().collect(),
                ..remarks()
            },
            "",
        ),
    ];
    for (at, one) in changed.iter().enumerate() {
        assert_ne!(*one, none, "{at}");
        assert!(changed[..at].iter().all(|other| other != one), "{at} is told from those before it");
    }
    // The pull request's number, and the base as it last saw it, are in no report.
    let same = CheckSubject { pull: Some(99), seen_base: commit('8'), ..subject('a') };
    assert_eq!(inputs(&same, &remarks(), ""), none);
}

#[test]
fn subjects_that_share_a_commit_share_a_report() {
    let (one, other) = (subject('a'), CheckSubject { base_branch: "other".to_owned(), ..subject('a') });
    let none = [Remarks::default(), Remarks::default()];
    let alone = inputs_of(std::slice::from_ref(&one), &none[..1], "x");
    assert_eq!(alone, inputs(&one, &none[0], "x"));
    let both = inputs_of(&[one.clone(), other], &none, "x");
    assert_ne!(both, alone);
    let heads = by_head(vec![one.clone(), subject('b'), CheckSubject { pull: Some(4), ..one }]);
    assert_eq!(heads.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn a_pull_request_is_judged_against_the_branch_that_it_comes_onto() {
    let onto = |base: &str| PullRequest { base_branch: base.to_owned(), ..pull(3, "topic", 'a') };
    let below = PullRequest { head_branch: "below".to_owned(), ..pull(2, "below", 'b') };
    let case = Case { open: vec![onto("main"), below], ..Case::new() };
    let facts = case.facts();
    let stacked = |below| Stack { base: "main".to_owned(), below };
    for (pull, stack, branch, prefix) in [
        (onto("main"), None, "main", false),
        (onto("release"), None, "release", false),
        (onto("below"), Some(stacked(Some(vec![2]))), "main", true),
        (onto("below"), Some(stacked(None)), "main", true),
    ] {
        let way = facts.way_of(&pull, stack.as_ref());
        assert_eq!(facts.judged_against(&pull, &way), branch, "{way:?}");
        let subject = subject_of(&pull, way, (branch, commit('0')));
        assert_eq!(subject.is_prefix(), prefix);
    }
}

#[test]
fn a_merge_group_is_for_the_branch_in_its_name() {
    let facts = Case::new().facts();
    for (branch, base) in [
        ("gh-readonly-queue/main/pr-7-9d1f", Some("main")),
        ("gh-readonly-queue/release/1.x/pr-7-9d1f", Some("release/1.x")),
        ("gh-readonly-queue/main", None),
        ("topic/main/pr-7", None),
    ] {
        let group = BranchHead { branch: branch.to_owned(), commit: commit('a') };
        assert_eq!(base_of_group(&group), base, "{branch}");
        assert_eq!(base_commit_of_group(&group), None, "{branch} names no commit");
        let Some(base) = base else { continue };
        let subject = subject_of_group(&facts, &group, (base, commit('1')));
        let expected = if base == "main" { Way::Straight } else { Way::Aside(base.to_owned()) };
        assert_eq!((subject.pull, subject.way, subject.seen_base), (None, expected, commit('1')));
    }
    let name = format!("gh-readonly-queue/a-b/pr-7-{}", commit('b'));
    let group = BranchHead { branch: name, commit: commit('a') };
    assert_eq!(base_commit_of_group(&group), Some(commit('b')));
}

#[test]
fn the_gravest_conclusion_of_a_commit_counts() {
    let order = [
        Conclusion::Success,
        Conclusion::Neutral,
        Conclusion::Pending,
        Conclusion::ActionRequired,
        Conclusion::Failure,
    ];
    for pair in order.windows(2) {
        assert!(gravity(pair[0]) < gravity(pair[1]), "{pair:?}");
    }
}

#[test]
fn what_the_check_concluded_last_decides_a_merge() {
    let record = |conclusion: Option<&str>| CheckRecord {
        repository: 7,
        head: commit('a'),
        name: "capstan".to_owned(),
        check_run: 1,
        content: String::new(),
        verdict: conclusion.map(|word| Verdict { conclusion: word.to_owned(), title: "A title".to_owned() }),
        pressed: None,
    };
    let against = || CheckVerdict::Against("A title".to_owned());
    for (record, expected) in [
        (None, CheckVerdict::Pending),
        (Some(record(None)), CheckVerdict::Pending),
        (Some(record(Some("success"))), CheckVerdict::Passes),
        (Some(record(Some("neutral"))), CheckVerdict::Passes),
        (Some(record(Some("failure"))), against()),
        (Some(record(Some("action_required"))), against()),
        (Some(record(Some("what a newer one wrote"))), against()),
    ] {
        assert_eq!(verdict_of(record), expected);
    }
}

#[test]
fn what_is_said_of_a_head_includes_what_is_below_it_and_its_button() {
    let of = |notes: &[&str], stage| Remarks {
        notes: notes.iter().map(|note| (*note).to_owned()).collect(),
        blocked: notes.iter().map(|note| format!("{note} blocks")).collect(),
        stage,
        ..Remarks::default()
    };
    let all: BTreeMap<u64, Remarks> =
        [(2, of(&["below"], None)), (3, of(&["own"], Some(Stage::Offered)))].into_iter().collect();
    let pressed = "`merge`, pressed by `ada`: merged.".to_owned();
    let above = CheckSubject { way: Way::Above(vec![2]), ..subject('a') };
    let remarks = remarks_of(&above, &all, Some(&pressed));
    assert_eq!(remarks.notes, ["own", "`merge`, pressed by `ada`: merged."]);
    assert_eq!(remarks.blocked, ["own blocks", "#2, which is below it: below blocks"]);
    // Only proposals have buttons.
    let persons = remarks_of(&CheckSubject { pull: Some(2), ..subject('a') }, &all, Some(&pressed));
    assert_eq!(persons.notes, ["below"]);
    assert!(remarks_of(&CheckSubject { pull: None, ..subject('a') }, &all, None).says_nothing());
}

fn cluster(path: &str) -> ClusterId {
    id(path).target.id().unwrap().clone()
}

fn judged_cluster(path: &str, findings: Vec<Finding>) -> JudgedCluster {
    let judgement = Judgement { after: findings, ..Judgement::default() };
    JudgedCluster { cluster: cluster(path), judgement, unasked: Vec::new() }
}

#[test]
fn what_passes_passes_for_one_cluster_alone() {
    let error = || Finding::new(rules::REMOVES_MACHINES, "machines go");
    let other = || Finding::new(rules::TOO_LARGE, "too large");
    let overruled = Override {
        rule: rules::REMOVES_MACHINES.id().to_owned(),
        reason: "r".to_owned(),
        by: "ada".to_owned(),
        source: V22.to_owned(),
    };
    let remarks = Remarks {
        overrides: [(id("gauss/peu01").target, vec![overruled])].into_iter().collect(),
        findings: [(id("gauss/peu02").target, vec![other()])].into_iter().collect(),
        ..Remarks::default()
    };
    let mut judged = PullJudgement::default();
    let both =
        || vec![judged_cluster("gauss/peu01", vec![error()]), judged_cluster("gauss/peu02", vec![error()])];
    // The new settings find the same, which is reported once.
    settle(&mut judged, vec![both(), both()], &remarks, (&tree(&[]), &tree(&[])));
    let found =
        |at: usize| judged.clusters[at].judgement.after.iter().map(Finding::severity).collect::<Vec<_>>();
    assert_eq!(found(0), [Severity::Warning]);
    assert_eq!(found(1), [Severity::Error, Severity::Error]);
    assert!(judged.notes.is_empty());
}

#[test]
fn an_exemption_holds_for_just_what_it_was_given_for() {
    let target = id("gauss/peu01").target;
    let (before, after) = (tree(&[("gauss/peu01/a", "1")]), tree(&[("gauss/peu01/a", "2")]));
    let more = tree(&[("gauss/peu01/a", "2"), ("gauss/peu01/b", "2")]);
    let elsewhere = tree(&[("gauss/peu01/a", "2"), ("kiel/b", "2")]);
    let rule = rules::REMOVES_MACHINES.id();
    let overruled = Override {
        rule: rule.to_owned(),
        reason: "tested".to_owned(),
        by: "ada".to_owned(),
        source: V22.to_owned(),
    };
    let exemption = override_exemption(&target, std::slice::from_ref(&overruled), &before, &after).unwrap();
    for (after, passes) in [(&after, true), (&more, false), (&elsewhere, true)] {
        let mut findings = vec![Finding::new(rules::REMOVES_MACHINES, "machines go")];
        let why = exemption.apply(&before, after, &mut findings);
        assert_eq!((findings[0].severity() == Severity::Warning, why.len()), (passes, usize::from(passes)));
    }
    let group = id("group://gauss").target;
    assert!(override_exemption(&group, &[overruled], &before, &after).is_none());
}

#[test]
fn a_tombstone_alone_lets_machines_go() {
    let settings =
        |text: &'static str| tree(&[("gauss/peu01/capstan.yaml", text), ("gauss/peu01/base/a", "1")]);
    let plain = || settings("release: aws/v22.0.0\n");
    let buried = "release: aws/v22.0.0\ndelete: cluster\n";
    let pull_of = |kind: &str| pull(3, &format!("capstan/{kind}/gauss/peu01"), 'a');
    let exemption = retirement_exemption(&BranchNames::default(), &pull_of(DESTROY)).unwrap();
    for (after, expected) in [
        (settings(buried), true),
        (plain(), false),
        (settings("release: aws/v21.0.0\ndelete: cluster\n"), false),
        (tree(&[("gauss/peu01/capstan.yaml", buried)]), false),
    ] {
        let mut findings = vec![Finding::new(rules::REMOVES_MACHINES, "machines go")];
        let why = exemption.apply(&plain(), &after, &mut findings);
        assert_eq!(!why.is_empty(), expected);
    }
    for (kind, expected) in [(DESTROY, true), ("inventory", true), ("upgrade", false), ("create", false)] {
        assert_eq!(
            retirement_exemption(&BranchNames::default(), &pull_of(kind)).is_some(),
            expected,
            "{kind}"
        );
    }
}

#[test]
fn files_that_a_merge_makes_something_else_than_the_plan_are_peoples() {
    let before = tree(&[("gauss/peu01/base/a.yaml", V21), ("x", "1")]);
    let plan: Vec<std::sync::Arc<Upgrade>> = vec![upgrade("gauss/peu01", V21, V22).into()];
    for (after, expected) in [
        (tree(&[("gauss/peu01/base/a.yaml", V22), ("x", "1")]), vec![]),
        (tree(&[("gauss/peu01/base/a.yaml", "other"), ("x", "1")]), vec!["gauss/peu01/base/a.yaml"]),
        (tree(&[("gauss/peu01/base/a.yaml", V22), ("x", "2")]), vec!["x"]),
        (tree(&[("x", "1")]), vec!["gauss/peu01/base/a.yaml"]),
    ] {
        let edited: Vec<String> =
            edited_files(&before, &after, &plan).iter().map(ToString::to_string).collect();
        assert_eq!(edited, expected);
    }
}

#[test]
fn buttons_are_of_open_proposals() {
    let report = |stage| with_buttons(untouched(), &Remarks { stage, ..Remarks::default() });
    let words = |report: CheckReport| report.buttons.iter().map(|verb| verb.word()).collect::<Vec<_>>();
    assert!(words(report(None)).is_empty());
    assert!(!words(report(Some(Stage::Offered))).is_empty());
    assert!(words(report(Some(Stage::Held))).contains(&"unhold"));
}

#[test]
fn clusters_that_use_a_changed_class_are_judged_as_far_as_they_fit_and_others_counted() {
    let many = |count: usize| (0..count).map(|at| cluster(&format!("a/c{at:02}"))).collect::<Vec<_>>();
    let case = many(53).iter().fold(Case::new(), |case, one| case.offered(one.as_str()));
    let more = |count: &str| {
        format!(
            "More clusters than the 50 that Capstan checks here use the ClusterClasses that this pull request changes. Not checked: {count}"
        )
    };
    for (touched, users, judged, said) in [
        (vec![], vec![], 0, None),
        (many(1), vec![], 1, None),
        // It is touched itself, and is judged once.
        (many(1), many(2), 2, None),
        // The base branch has no such cluster.
        (vec![], vec![cluster("elsewhere")], 0, None),
        (vec![], many(50), 50, None),
        (vec![], many(51), 50, Some(more("1 other, a/c50 alone."))),
        (vec![], many(53), 50, Some(more("3 others, a/c50 the first of them."))),
    ] {
        let (clusters, left_out) = to_judge(touched, users, &case.scopes);
        assert_eq!((clusters.len(), left_out), (judged, said));
        assert!(clusters.is_sorted());
    }
}

#[test]
fn overruled_errors_name_their_cluster_on_a_shared_pull_request() {
    let overruled = || Override {
        rule: "removes-machines".to_owned(),
        reason: "tested".to_owned(),
        by: "ada".to_owned(),
        source: V22.to_owned(),
    };
    let of = |targets: &[&str]| Remarks {
        overrides: targets.iter().map(|target| (id(target).target, vec![overruled()])).collect(),
        ..Remarks::default()
    };
    assert!(overrides_in_words(&of(&[])).is_empty());
    assert!(!overrides_in_words(&of(&["gauss/peu01"]))[0].contains("gauss/peu01"));
    assert!(overrides_in_words(&of(&["gauss/peu01", "gauss/peu02"]))[1].starts_with("`gauss/peu02`: "));
}

#[test]
fn what_cannot_be_planned_is_said_on_the_tip() {
    let tip = commit('0');
    let of = |effect: Effect| match effect {
        Effect::Status(of) => (of.status.state, of.status.description, of.first),
        other => panic!("{other:?}"),
    };
    let broken = |case: Case, target: &str| case.plan(target, Err("unreadable."));
    for (case, state, text, first) in [
        (
            Case::new().offered("gauss/peu01"),
            StatusState::Success,
            "all clusters can be planned",
            FirstStatus::Nothing,
        ),
        (
            broken(Case::new(), "gauss/peu01"),
            StatusState::Failure,
            "gauss/peu01 cannot be planned",
            FirstStatus::Written,
        ),
        (
            broken(broken(Case::new(), "gauss/peu01"), "gauss/peu02"),
            StatusState::Failure,
            "2 clusters cannot be planned: gauss/peu01, gauss/peu02",
            FirstStatus::Written,
        ),
    ] {
        assert_eq!(of(tree_status(&tip, &case.plans)), (state, text.to_owned(), first));
    }
    let (state, text, _) = of(tree_status_without_settings(&tip, "no mode"));
    assert_eq!((state, text.as_str()), (StatusState::Failure, "nothing can be planned: no mode"));
    let long = of(tree_status_without_settings(&tip, &"x".repeat(900))).1;
    assert!(long.chars().count() <= 140, "{}", long.len());
}

#[test]
fn a_live_cluster_is_asked_about_heads_that_a_writer_pushed() {
    let own = "capstan[bot]";
    let on = pull(3, "topic", 'a');
    let fork = PullRequest { head_in_repository: false, ..on.clone() };
    let push = |after: char, actor: Option<&str>| {
        vec![Push { after: commit(after), actor: actor.map(str::to_owned), at: now() }]
    };
    let no = |why: &str| DecisionStep::Decided(Trust::No(why.to_owned()));
    for (pull, pushes, expected) in [
        (&fork, Some(push('a', Some("ada"))), no("Its head is in another repository.")),
        (&on, None, no("GitHub does not say who pushed its head.")),
        (
            &on,
            Some(push('b', Some("ada"))),
            DecisionStep::Decided(Trust::NotYet("GitHub does not say who pushed its head.".to_owned())),
        ),
        (&on, Some(push('a', None)), no("The user who pushed its head no longer has an account.")),
        (&on, Some(push('a', Some(own))), DecisionStep::Decided(Trust::Yes)),
        (&on, Some(push('a', Some("ada"))), DecisionStep::Ask("ada".to_owned())),
    ] {
        assert_eq!(trust(pull, pushes.as_deref(), own), expected);
    }
    for (permission, trusted) in [
        (Permission::None, false),
        (Permission::Read, false),
        (Permission::Write, true),
        (Permission::Admin, true),
    ] {
        assert_eq!(trust_in("ada", permission) == Trust::Yes, trusted, "{permission:?}");
    }
}

#[test]
fn nobody_is_asked_where_there_is_no_merge_to_be_tried() {
    let uid: ManagementClusterUid =
        serde_json::from_value(serde_json::json!("6e3a3c9e-52a3-4c39-9c58-1d1b5d1ae0b0")).unwrap();
    let clusters: Vec<ClusterId> = vec![cluster("gauss/peu01")];
    let touched = TouchedClusters { name: "mc", uid: &uid, clusters: &clusters };
    let asked = |basis, mode| is_asked(&Reporters::default(), touched, "main", basis, mode);
    // Without a reconciler nothing is missing, unless the settings require one.
    assert_eq!(asked(MergeBasis::Merge, PreflightMode::Advisory), PreflightNeed::Silently);
    assert!(matches!(asked(MergeBasis::Merge, PreflightMode::Required), PreflightNeed::No(_)));
    assert!(!Preflights::NONE.look_again());
    assert!(Preflights { is_settled: false, ..Preflights::NONE }.look_again());
}

#[test]
fn what_live_clusters_were_asked_is_among_what_a_report_is_made_from() {
    let record = |state: PreflightState| PreflightRecord {
        id: PreflightId::parse("01JQ0000000000000000000000").unwrap(),
        repository: 7,
        head: commit('a'),
        commit: commit('b'),
        content: "made of".to_owned(),
        standing: String::new(),
        management_cluster: serde_json::from_value(serde_json::json!("6e3a3c9e-52a3-4c39-9c58-1d1b5d1ae0b0"))
            .unwrap(),
        clusters: vec![cluster("gauss/peu01")],
        asked_at: now(),
        until: now(),
        state,
    };
    let reporters = Reporters::default();
    let inputs = |known: &[PreflightRecord], at| live_inputs(&reporters, known, at);
    let before = now() - jiff::SignedDuration::from_secs(1);
    let asked = [record(PreflightState::Asked)];
    // The answer may come at any moment.
    assert_eq!(inputs(&asked, before), None);
    let unanswered = inputs(&asked, now()).unwrap();
    let none = inputs(&[], now()).unwrap();
    let refused = inputs(&[record(PreflightState::NotAsked("a fork".to_owned()))], now()).unwrap();
    assert!(unanswered != none && refused != none && refused != unanswered);
    let known = &asked[0];
    for (clusters, content, expected) in [
        (vec![cluster("gauss/peu01")], "made of", true),
        (vec![cluster("gauss/peu01")], "something else", false),
        (vec![cluster("gauss/peu02")], "made of", false),
    ] {
        assert_eq!(is_same_question(known, &clusters, content), expected);
    }
}

#[test]
fn a_pull_request_of_capstans_that_destroys_a_cluster_is_exempt_where_it_is_merged() {
    let own = "capstan[bot]";
    let destroys = |number| pull(number, "capstan/destroy/gauss/peu01", 'a');
    let facts = Case::new().facts();
    let group = CheckSubject { pull: None, ..subject('a') };
    for (subject, pull, expected) in [
        (subject('a'), destroys(3), 1),
        (group.clone(), destroys(4), 1),
        // Another pull request than the one that is checked.
        (subject('a'), destroys(4), 0),
        (group.clone(), PullRequest { author: "eve".to_owned(), ..destroys(4) }, 0),
        (group.clone(), PullRequest { head_in_repository: false, ..destroys(4) }, 0),
        (group.clone(), PullRequest { base_branch: "release".to_owned(), ..destroys(4) }, 0),
        (group, pull(4, "topic", 'a'), 0),
    ] {
        let found = retirement_exemptions(&facts, &subject, &[pull], own);
        assert_eq!(found.len(), expected, "{subject:?}");
    }
}

#[test]
fn overrides_count_above_their_proposal_and_in_a_merge_group() {
    let target = id("gauss/peu01").target;
    let overruled = Override {
        rule: "removes-machines".to_owned(),
        reason: "tested".to_owned(),
        by: "ada".to_owned(),
        source: V22.to_owned(),
    };
    let with = || Remarks {
        overrides: [(target.clone(), vec![overruled.clone()])].into_iter().collect(),
        ..Remarks::default()
    };
    let facts = Case::new().offered("gauss/peu01").proposed(3, "gauss/peu01", 'a').facts();
    let group = CheckSubject { pull: None, ..subject('b') };
    let above =
        |below: &[u64]| CheckSubject { pull: Some(9), way: Way::Above(below.to_vec()), ..subject('b') };
    for (subject, remarks, expected) in [
        (group.clone(), with(), 1),
        (above(&[3]), with(), 1),
        (above(&[2]), with(), 0),
        // In the proposal itself it counts without this.
        (subject('a'), with(), 0),
        (group.clone(), Remarks::default(), 0),
        (CheckSubject { base_branch: "release".to_owned(), ..group }, with(), 0),
    ] {
        let remarks = [(3, remarks)].into_iter().collect();
        assert_eq!(overridden(&facts, &subject, &remarks).len(), expected, "{subject:?}");
    }
}
