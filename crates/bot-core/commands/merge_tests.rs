use super::*;
use crate::testing::{Case, comment, commit, effects_in_words, id, now, pull, tick, words};
use capstan_facts::{PullRequest, RefusedWrite};
use capstan_plan::proposal::{Approved, By, Draft, MergeStatus, Queue, Required, RequiredState, Standstill};
use capstan_plan::settings::{Glob, MergeMethod};

fn judged(pull: PullRequest, whose: BranchOwner) -> JudgedProposal {
    JudgedProposal { pull, approved: Approved::default(), whose }
}

fn one() -> Case {
    Case::new().offered("gauss/peu01").proposed(3, "gauss/peu01", 'a')
}

/// The same, to be merged as the settings say.
fn automatic() -> Case {
    one().settings(|settings| settings.upgrade.merge.automatic = vec![Glob::parse("**").unwrap()])
}

fn asks(text: &str) -> Vec<Request> {
    vec![comment(1, "ada", Some(&one().open[0]), text)]
}

/// The outcome once this proposal's approvals are judged.
fn outcome(case: &Case, target: &str, whose: &BranchOwner) -> Outcome {
    let judged = judged(case.open[0].clone(), whose.clone());
    Outcome { judged: [(id(target), judged)].into_iter().collect(), ..Outcome::default() }
}

#[test]
fn who_wants_a_merge() {
    for (case, requests, whose, expected) in [
        (one(), vec![], BranchOwner::Capstan, None),
        (one(), asks("/capstan merge"), BranchOwner::Capstan, Some("comment 1")),
        (one(), asks("/capstan approve"), BranchOwner::Capstan, Some("")),
        (automatic(), vec![], BranchOwner::Capstan, Some("settings")),
        (automatic(), asks("/capstan merge"), BranchOwner::Capstan, Some("comment 1")),
        (automatic(), vec![], BranchOwner::Unknown, None),
        (one(), vec![comment(1, "ada", None, "/capstan pause")], BranchOwner::Capstan, Some("")),
    ] {
        let due = case.heard(&requests, |planned| {
            merges_due(planned, &requests, &mut outcome(&case, "gauss/peu01", &whose))
        });
        let wishes = due.first().map(|due| {
            let who = |wish: &MergeWish<'_>| wish.id().map_or("settings".to_owned(), |id| id.to_string());
            due.wishes.iter().map(who).collect::<Vec<_>>().join(" ")
        });
        assert_eq!(wishes.as_deref(), expected);
    }
}

#[test]
fn all_who_ask_for_a_merge_get_an_answer_where_the_settings_say_observe() {
    let case = one().settings(|settings| settings.mode = Mode::Observe);
    let mut requests = asks("/capstan merge");
    requests.push(comment(2, "eve", None, "/capstan merge"));
    requests.push(comment(3, "eve", None, "/capstan status"));
    let mut outcome = outcome(&case, "gauss/peu01", &BranchOwner::Capstan);
    assert!(case.heard(&requests, |planned| merges_due(planned, &requests, &mut outcome)).is_empty());
    let told: Vec<String> =
        outcome.merges.iter().map(|(id, answer)| format!("{id}: {}", words(answer))).collect();
    let said = "!The settings say `mode: observe`: nothing is merged.";
    assert_eq!(told, [format!("comment 1: {said}"), format!("comment 2: {said}")]);
    // And nobody is put off.
    case.heard(&requests, |planned| note_unheard(planned, &requests, &mut outcome));
    assert!(outcome.postponed.is_empty());
}

#[test]
fn a_tick_counts_as_a_request_of_the_pull_request_that_carries_its_cluster() {
    let case = Case::new().offered("gauss/peu01").offered("gauss/peu02").shared(
        5,
        "group://gauss",
        'b',
        &["gauss/peu01", "gauss/peu02"],
    );
    let requests = [tick(0, "ada", &id("gauss/peu02"), Some(&case.open[0]), "/capstan merge")];
    let due = case.heard(&requests, |planned| {
        merges_due(planned, &requests, &mut outcome(&case, "group://gauss", &BranchOwner::Capstan))
    });
    assert_eq!(due.iter().map(|due| due.wishes.len()).collect::<Vec<_>>(), [1]);
}

fn view() -> MergeView {
    MergeView {
        head: commit('a'),
        draft: Draft::Ready,
        status: MergeStatus::Ready,
        reviews_missing: false,
        queue: Queue::None,
        auto_merge: None,
        auto_merge_allowed: false,
        methods: vec![MergeMethod::Squash],
        required: Vec::new(),
    }
}

/// One that has to wait for a check of others, as GitHub shows it.
fn waits_for_others() -> MergeView {
    let check = |name: &str, state| Required { name: name.to_owned(), state };
    MergeView {
        status: MergeStatus::Blocked,
        auto_merge_allowed: true,
        required: vec![check(CHECK, RequiredState::Passed), check("build", RequiredState::Pending)],
        ..view()
    }
}

fn queued() -> MergeView {
    MergeView { queue: Queue::Entered(By::Capstan), ..view() }
}

fn set_to_merge(by: By) -> MergeView {
    MergeView { auto_merge: Some(by), ..view() }
}

/// What a merge did: each call to GitHub, what is remembered, and the answers and notes that people read.
#[derive(Debug, Default, PartialEq, Eq)]
struct Happened {
    asked: Vec<String>,
    remembered: Vec<String>,
    again: bool,
    postponed: bool,
    answers: Vec<String>,
    notes: Vec<String>,
}

/// Merges what is due of a case; GitHub answers everything with `answer`.
fn merge(
    case: &Case,
    target: &str,
    requests: &[Request],
    view: &MergeView,
    answer: &MergeAnswer,
) -> Happened {
    let mut outcome = outcome(case, target, &BranchOwner::Capstan);
    let mut happened = Happened::default();
    case.heard(requests, |planned| {
        for due in merges_due(planned, requests, &mut outcome) {
            let seen = MergeSeen { view: view.clone(), check: CheckVerdict::Passes, way: Way::Straight };
            let merge = ProposalMerge::new(planned, &due, seen, &outcome);
            for turn in merge.turns(now()) {
                let asked = turn.effect.clone();
                let answer = asked.is_some().then(|| answer.clone());
                happened.asked.extend(effects_in_words(asked.as_slice()));
                let came = merge.came_of(turn, answer, &mut outcome, now());
                happened.remembered.extend(effects_in_words(&came.effects));
                happened.again |= came.again;
            }
        }
    });
    happened.postponed = !outcome.postponed.is_empty();
    happened.answers = outcome.merges.values().map(words).collect();
    happened.notes = outcome.remarks.get(&3).map(|remarks| remarks.notes.clone()).unwrap_or_default();
    happened
}

fn lines(all: &[&str]) -> Vec<String> {
    all.iter().map(|one| (*one).to_owned()).collect()
}

const DONE: MergeAnswer = MergeAnswer::Done;

fn refused() -> MergeAnswer {
    MergeAnswer::Refused("Base branch was modified".to_owned())
}

#[test]
fn who_asks_for_a_merge_gets_what_the_branch_allows() {
    let sha = "a".repeat(40);
    let audit = format!("audit proposal-merged of gauss/peu01 by capstan: #3 at {sha}, for ada");
    for (view, asked, answer) in [
        (view(), "#3 at aaaa: Now(Squash)", "`gauss/peu01`: Merged at `aaaaaaa` (squash)."),
        (
            MergeView { queue: Queue::Outside, ..view() },
            "#3 at aaaa: Enqueue",
            "`gauss/peu01`: It is in the merge queue at `aaaaaaa`.",
        ),
        (
            waits_for_others(),
            "#3 at aaaa: WhenReady(Some(Squash))",
            "`gauss/peu01`: These required checks are not done: `build`. Auto-merge is enabled at `aaaaaaa`: GitHub merges it when they are done.",
        ),
    ] {
        let happened = merge(&one(), "gauss/peu01", &asks("/capstan merge"), &view, &DONE);
        let expected = Happened {
            asked: lines(&[asked]),
            remembered: lines(&[&audit]),
            answers: lines(&[answer]),
            ..Happened::default()
        };
        assert_eq!(happened, expected);
    }
}

#[test]
fn what_prevents_a_merge_is_answered_and_github_is_asked_nothing() {
    for (view, answer) in [
        (MergeView { draft: Draft::Draft, ..view() }, "!`gauss/peu01`: It is not merged. It is a draft."),
        (
            MergeView { status: MergeStatus::Conflicts, ..view() },
            "!`gauss/peu01`: It is not merged. It conflicts with `main`.",
        ),
        (
            set_to_merge(By::Other("eve".to_owned())),
            "`gauss/peu01`: Auto-merge is enabled, as `eve` asked: GitHub merges it when the rules of `main` allow it.",
        ),
    ] {
        let happened = merge(&one(), "gauss/peu01", &asks("/capstan merge"), &view, &DONE);
        assert_eq!(happened, Happened { answers: lines(&[answer]), ..Happened::default() });
    }
}

#[test]
fn what_github_still_computes_is_answered_later() {
    let computing = MergeView { status: MergeStatus::Unknown, ..view() };
    let asked = merge(&one(), "gauss/peu01", &asks("/capstan merge"), &computing, &DONE);
    assert_eq!(asked, Happened { postponed: true, ..Happened::default() });
    let by_settings = merge(&automatic(), "gauss/peu01", &[], &computing, &DONE);
    assert_eq!(by_settings, Happened { again: true, ..Happened::default() });
}

#[test]
fn a_refusal_is_said_to_who_asked_and_not_remembered() {
    let happened = merge(&one(), "gauss/peu01", &asks("/capstan merge"), &view(), &refused());
    let expected = Happened {
        asked: lines(&["#3 at aaaa: Now(Squash)"]),
        answers: lines(&["!`gauss/peu01`: It is not merged: GitHub refuses it. Base branch was modified."]),
        ..Happened::default()
    };
    assert_eq!(happened, expected);
}

#[test]
fn what_the_settings_merge_is_audited_and_what_github_refuses_is_left_alone_for_a_while() {
    let sha = "a".repeat(40);
    let known = |content: &str| RefusedWrite {
        repository: 7,
        what: "merge gauss/peu01".to_owned(),
        content: content.to_owned(),
        refusals: 1,
        not_before: "2026-03-02T12:01:00Z".parse().unwrap(),
        reason: "a ruleset".to_owned(),
    };
    let with = |refused: Vec<RefusedWrite>| Case { refused, ..automatic() };
    let audit = format!("audit proposal-merged of gauss/peu01 by capstan: #3 at {sha}, as the settings say");
    let asked = ["#3 at aaaa: Now(Squash)"];
    for (case, answer, expected, remembered) in [
        (with(vec![]), DONE, &asked[..], vec![audit.as_str()]),
        // Another head was refused: this one is tried.
        (with(vec![known("older")]), DONE, &asked[..], vec!["forget merge gauss/peu01", &audit]),
        (with(vec![known(&sha)]), DONE, &[], vec![]),
        (
            with(vec![]),
            refused(),
            &asked[..],
            vec![
                "refused until 2026-03-02T12:10:00Z: merge gauss/peu01: Base branch was modified",
                "audit write-refused of gauss/peu01 by capstan: merge gauss/peu01: Base branch was modified",
            ],
        ),
    ] {
        let happened = merge(&case, "gauss/peu01", &[], &view(), &answer);
        let expected =
            Happened { asked: lines(expected), remembered: lines(&remembered), ..Happened::default() };
        assert_eq!(happened, expected, "{answer:?}");
    }
    // Nothing is said of what prevents it: its check does.
    let draft = MergeView { draft: Draft::Draft, ..view() };
    assert_eq!(merge(&with(vec![]), "gauss/peu01", &[], &draft, &DONE), Happened::default());
}

#[test]
fn a_hold_withdraws_what_capstan_asked_of_github() {
    let held = asks("/capstan hold");
    let queue = "It is no longer in the merge queue. On hold by `ada`. `/capstan unhold` undoes it.";
    let auto = "Auto-merge is disabled again. On hold by `ada`. `/capstan unhold` undoes it.";
    for (view, asked, words) in [
        (queued(), "#3 at aaaa: TakeBack(Queue)", queue),
        (set_to_merge(By::Capstan), "#3 at aaaa: TakeBack(AutoMerge)", auto),
    ] {
        let audit = format!("audit merge-taken-back of gauss/peu01 by capstan: #3: {words}");
        let happened = merge(&one(), "gauss/peu01", &held, &view, &DONE);
        let expected = Happened {
            asked: lines(&[asked]),
            remembered: lines(&[&audit]),
            notes: lines(&[words]),
            ..Happened::default()
        };
        assert_eq!(happened, expected);
        // GitHub does not take it: the next run tries again.
        let happened = merge(&one(), "gauss/peu01", &held, &view, &refused());
        let expected =
            Happened { asked: lines(&[asked]), notes: lines(&[words]), again: true, ..Happened::default() };
        assert_eq!(happened, expected);
    }
    // What a person asked of GitHub is theirs.
    let eves = set_to_merge(By::Other("eve".to_owned()));
    assert_eq!(merge(&one(), "gauss/peu01", &held, &eves, &DONE), Happened::default());
}

#[test]
fn the_newest_head_is_withdrawn_and_then_who_asked_is_answered() {
    let moved = MergeView { head: commit('b'), draft: Draft::Draft, ..queued() };
    let happened = merge(&one(), "gauss/peu01", &asks("/capstan merge"), &moved, &DONE);
    assert_eq!(happened.asked, ["#3 at bbbb: TakeBack(Queue)"]);
    assert_eq!(
        happened.answers,
        [
            "!`gauss/peu01`: It is not merged. Its head is now `bbbbbbb`, which is not the commit that the command named. Look at it, and repeat the command."
        ]
    );
}

#[test]
fn a_shared_pull_request_is_audited_for_each_of_its_clusters() {
    let members = ["gauss/peu01", "gauss/peu02"];
    let case =
        Case::new().offered("gauss/peu01").offered("gauss/peu02").shared(3, "group://gauss", 'a', &members);
    let requests = [comment(1, "ada", Some(&case.open[0]), "/capstan merge")];
    let happened = merge(&case, "group://gauss", &requests, &view(), &DONE);
    let sha = "a".repeat(40);
    let audit = |target| format!("audit proposal-merged of {target} by capstan: #3 at {sha}, for ada");
    assert_eq!(happened.remembered, members.map(audit));
}

#[test]
fn what_is_merged_is_the_commit_that_was_named() {
    let on = pull(3, "capstan/upgrade/gauss/peu01", 'a');
    let (view, way, approved) = (view(), Way::Straight, Approved::default());
    let facts = MergeFacts {
        meant: &on.head,
        check: &CheckVerdict::Passes,
        check_name: "capstan",
        approved: &approved,
        hold: None,
        pause: None,
        method: None,
        way: &way,
        view: &view,
    };
    for (text, merges) in [
        ("/capstan merge".to_owned(), true),
        (format!("/capstan merge {}", "a".repeat(40)), true),
        (format!("/capstan merge {}", "b".repeat(40)), false),
    ] {
        let request = comment(1, "ada", Some(&on), &text);
        let step = step_for(&request, &facts, &view.head);
        assert_eq!(matches!(step, MergeStep::Now(MergeMethod::Squash)), merges, "{text}: {step:?}");
        assert_eq!(merge_call(&step).is_some(), merges);
    }
    let stands = MergeStep::WaitsForGitHub(Standstill::Queued(By::Capstan));
    assert_eq!(merge_call(&stands), None);
}

#[test]
fn all_who_asked_for_a_merge_get_an_answer_when_it_fails() {
    let mut requests = asks("/capstan merge");
    requests.push(comment(2, "eve", Some(&one().open[0]), "/capstan merge"));
    let mut outcome = outcome(&one(), "gauss/peu01", &BranchOwner::Capstan);
    one().heard(&requests, |planned| {
        for due in merges_due(planned, &requests, &mut outcome) {
            due.failed("GitHub does not answer", &mut outcome);
        }
    });
    let said = "!`gauss/peu01`: It is not merged: GitHub refuses it. GitHub does not answer.";
    assert_eq!(outcome.merges.values().map(words).collect::<Vec<_>>(), [said, said]);
}

#[test]
fn a_merge_of_an_earlier_run_is_reported_and_an_open_one_is_answered_later() {
    let case = Case::new().offered("gauss/peu01").proposed(3, "gauss/peu01", 'a').persons(9, 'f');
    let on = |number: u64| case.open.iter().find(|pull| pull.number == number).cloned().unwrap();
    let merged = PullRequest { state: PullRequestState::Merged, ..on(3) };
    for (request, said, postponed) in [
        (comment(1, "ada", Some(&merged), "/capstan merge"), Some("#3 is merged.\n"), false),
        (comment(1, "ada", Some(&on(3)), "/capstan merge"), None, true),
        (comment(1, "ada", Some(&on(9)), "/capstan merge"), None, false),
        (comment(1, "ada", Some(&on(3)), "/capstan hold"), None, false),
    ] {
        let mut outcome = Outcome::default();
        case.look(|planned| note_unheard(planned, std::slice::from_ref(&request), &mut outcome));
        let words = outcome.merges.get(&request.id()).map(|answer| answer.text());
        assert_eq!(words.as_deref(), said);
        assert_eq!(outcome.postponed.contains(&request.id()), postponed);
    }
}
