//! What becomes of a proposal that is to be merged.

use super::super::{Approval, Means, Unclear};
use super::*;

fn commit(digit: char) -> CommitId {
    CommitId::parse(&digit.to_string().repeat(40)).unwrap()
}

fn check(name: &str, state: RequiredState) -> Required {
    Required { name: name.to_owned(), state }
}

fn ready() -> MergeView {
    MergeView {
        head: commit('a'),
        draft: Draft::Ready,
        status: MergeStatus::Ready,
        reviews_missing: false,
        queue: Queue::None,
        auto_merge: None,
        auto_merge_allowed: true,
        methods: vec![MergeMethod::Merge, MergeMethod::Squash],
        required: vec![check("capstan", RequiredState::Passed)],
    }
}

/// One whose branch waits for somebody else's check.
fn waiting() -> MergeView {
    let required = vec![check("capstan", RequiredState::Passed), check("build", RequiredState::Pending)];
    MergeView { status: MergeStatus::Blocked, required, ..ready() }
}

struct Case<'a> {
    check: CheckVerdict,
    approved: Approved,
    hold: Option<&'a OnHold>,
    pause: Option<&'a Paused>,
    method: Option<MergeMethod>,
    way: Way,
}

fn case<'a>() -> Case<'a> {
    let check = CheckVerdict::Passes;
    Case { check, approved: Approved::default(), hold: None, pause: None, method: None, way: Way::Straight }
}

fn facts<'a>(case: &'a Case<'a>, view: &'a MergeView, meant: &'a CommitId) -> MergeFacts<'a> {
    MergeFacts {
        meant,
        check: &case.check,
        check_name: "capstan",
        approved: &case.approved,
        hold: case.hold,
        pause: case.pause,
        method: case.method,
        way: &case.way,
        view,
    }
}

fn paused() -> Paused {
    Paused { by: "ada".to_owned(), reason: None, since: jiff::civil::date(2026, 11, 23) }
}

#[test]
fn a_merge_uses_the_method_of_the_branch_or_names_the_obstacles() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let hold = OnHold { by: "ada".to_owned(), reason: None, until: None };
    let pause = paused();
    let missing = Approved { missing: 1, needed: 2, ..Approved::default() };
    let objected = Approved { objections: names(&["grace"]), ..Approved::default() };
    let refuse = |obstacle| MergeStep::Refuse(vec![obstacle]);
    let against = CheckVerdict::Against("1 error".to_owned());
    let queue = MergeView { queue: Queue::Outside, ..ready() };
    let blocked = MergeView { status: MergeStatus::Blocked, ..ready() };
    let rows: Vec<(&str, Case<'_>, MergeView, MergeStep)> = vec![
        ("all is well", case(), ready(), MergeStep::Now(MergeMethod::Merge)),
        (
            "what is below it in a stack",
            Case { way: Way::Above(vec![3, 4]), ..case() },
            ready(),
            refuse(Obstacle::Below(vec![3, 4])),
        ),
        (
            "it is unknown what is below it",
            Case { way: Way::Unknown(Unclear::Disagree), ..case() },
            ready(),
            refuse(Obstacle::WayUnknown),
        ),
        (
            "the settings' method",
            Case { method: Some(MergeMethod::Squash), ..case() },
            ready(),
            MergeStep::Now(MergeMethod::Squash),
        ),
        (
            "a method that the repository has not",
            Case { method: Some(MergeMethod::Rebase), ..case() },
            ready(),
            refuse(Obstacle::Method(MergeMethod::Rebase, vec![MergeMethod::Merge, MergeMethod::Squash])),
        ),
        (
            "the first that it has",
            case(),
            MergeView { methods: vec![MergeMethod::Rebase, MergeMethod::Squash], ..ready() },
            MergeStep::Now(MergeMethod::Squash),
        ),
        (
            "another head",
            case(),
            MergeView { head: commit('b'), ..ready() },
            refuse(Obstacle::HeadMoved(commit('b'))),
        ),
        (
            "the check fails",
            Case { check: against.clone(), ..case() },
            ready(),
            refuse(Obstacle::Check("1 error".to_owned())),
        ),
        (
            "the check runs",
            Case { check: CheckVerdict::Pending, ..case() },
            ready(),
            refuse(Obstacle::CheckPending),
        ),
        (
            "an approval is missing",
            Case { check: against.clone(), approved: missing.clone(), ..case() },
            ready(),
            refuse(Obstacle::Approvals { missing: 1, needed: 2 }),
        ),
        (
            "somebody asks for changes",
            Case { approved: objected, ..case() },
            ready(),
            refuse(Obstacle::ChangesRequested(names(&["grace"]))),
        ),
        (
            "held, hence a draft: both are said",
            Case { hold: Some(&hold), ..case() },
            MergeView { draft: Draft::Draft, status: MergeStatus::Blocked, ..ready() },
            MergeStep::Refuse(vec![Obstacle::Held(hold.clone()), Obstacle::Draft]),
        ),
        ("paused", Case { pause: Some(&pause), ..case() }, ready(), refuse(Obstacle::Paused(pause.clone()))),
        (
            "conflicts",
            case(),
            MergeView { status: MergeStatus::Conflicts, ..ready() },
            refuse(Obstacle::Conflicts),
        ),
        ("behind", case(), MergeView { status: MergeStatus::Behind, ..ready() }, refuse(Obstacle::Behind)),
        ("not computed", case(), MergeView { status: MergeStatus::Unknown, ..ready() }, MergeStep::LookAgain),
        (
            "reviews that the branch wants",
            case(),
            MergeView { reviews_missing: true, ..blocked.clone() },
            refuse(Obstacle::Reviews),
        ),
        ("a rule that GitHub does not name", case(), blocked.clone(), refuse(Obstacle::Rules)),
        (
            "a required check of somebody else fails",
            case(),
            MergeView { required: vec![check("build", RequiredState::Failed)], ..blocked.clone() },
            refuse(Obstacle::RequiredFailed(names(&["build"]))),
        ),
        (
            "GitHub has not taken in what was reported just now",
            case(),
            MergeView { required: vec![check("capstan", RequiredState::Failed)], ..blocked },
            MergeStep::LookAgain,
        ),
        (
            "a required check of somebody else runs",
            case(),
            waiting(),
            MergeStep::WhenReady { method: Some(MergeMethod::Merge), pending: names(&["build"]) },
        ),
        (
            "and the repository has no auto-merge",
            case(),
            MergeView { auto_merge_allowed: false, ..waiting() },
            refuse(Obstacle::NoAutoMerge(names(&["build"]))),
        ),
        (
            "and nobody requires Capstan's check",
            case(),
            MergeView { required: vec![check("build", RequiredState::Pending)], ..waiting() },
            refuse(Obstacle::NotRequired(names(&["build"]))),
        ),
        ("a queue", case(), queue.clone(), MergeStep::Enqueue),
        (
            "a queue, whatever method the settings name",
            Case { method: Some(MergeMethod::Rebase), ..case() },
            queue.clone(),
            MergeStep::Enqueue,
        ),
        (
            "a queue, later",
            case(),
            MergeView { queue: Queue::Outside, ..waiting() },
            MergeStep::WhenReady { method: None, pending: names(&["build"]) },
        ),
        (
            "in the queue",
            case(),
            MergeView { queue: Queue::Entered(By::Other("ada".to_owned())), ..ready() },
            MergeStep::WaitsForGitHub(Standstill::Queued(By::Other("ada".to_owned()))),
        ),
        (
            "on auto-merge",
            case(),
            MergeView { auto_merge: Some(By::Capstan), ..waiting() },
            MergeStep::WaitsForGitHub(Standstill::AutoMerge(By::Capstan)),
        ),
    ];
    for (name, case, view, expected) in rows {
        let meant = commit('a');
        assert_eq!(decide_merge(&facts(&case, &view, &meant)), expected, "{name}");
    }
}

#[test]
fn what_capstan_asked_of_github_is_taken_back_and_what_a_person_asked_is_theirs() {
    let missing = Approved { missing: 1, needed: 1, ..Approved::default() };
    let approval = Approval {
        by: "ada".to_owned(),
        at: jiff::Timestamp::UNIX_EPOCH,
        head: commit('a'),
        result: serde_json::from_str("\"one\"").unwrap(),
        means: Means::Command,
        dismissed: None,
    };
    let given = Approved { counted: vec![approval], needed: 1, ..Approved::default() };
    let other = || By::Other("ada".to_owned());
    let pause = paused();
    let pending = || Case { check: CheckVerdict::Pending, ..case() };
    for (name, auto_merge, queue, now, expected) in [
        ("approved", Some(By::Capstan), Queue::None, Case { approved: given, ..case() }, None),
        (
            "dismissed",
            Some(By::Capstan),
            Queue::None,
            Case { approved: missing.clone(), ..case() },
            Some(Undo::AutoMerge),
        ),
        (
            "dismissed",
            None,
            Queue::Entered(By::Capstan),
            Case { approved: missing.clone(), ..case() },
            Some(Undo::Queue),
        ),
        (
            "paused",
            Some(By::Capstan),
            Queue::None,
            Case { pause: Some(&pause), ..case() },
            Some(Undo::AutoMerge),
        ),
        ("a person's in a pause", Some(other()), Queue::None, Case { pause: Some(&pause), ..case() }, None),
        ("a person's", Some(other()), Queue::None, Case { approved: missing.clone(), ..case() }, None),
        ("a person's", None, Queue::Entered(other()), Case { approved: missing.clone(), ..case() }, None),
        ("the check runs", Some(By::Capstan), Queue::None, pending(), None),
        ("nothing to take back", None, Queue::Outside, Case { approved: missing, ..case() }, None),
    ] {
        let view = MergeView { auto_merge, queue, ..ready() };
        let meant = commit('a');
        let found = decide_undo(&facts(&now, &view, &meant)).map(|(undo, _)| undo);
        assert_eq!(found, expected, "{name}");
    }
}
