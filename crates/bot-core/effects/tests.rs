//! Effects as values: which run carries a check and what is remembered of it; what is beside a pull request.

use capstan_facts::{
    CheckConclusion, CheckRecord, CheckRun, EarlierPullRequest, NewTreeEntry, PullRequestState, SidebarPart,
};
use capstan_model::file_change::FileChange;
use capstan_model::ids::ClusterId;
use capstan_model::tree::{CommitId, RepoPath};
use capstan_plan::proposal::{BranchStep, Sidebar, guard_new};
use capstan_report::{Annotation, AnnotationLevel, CheckReport, Conclusion, ReportId, RunDecision, RunWish};
use jiff::Timestamp;

use super::{
    BranchThere, CheckOf, CommitFiles, DesiredBranch, EDITION, KeptReport, awaits_pull, branch_step, by_part,
    put_back,
};
use crate::testing::{commit, key, snapshot};

fn head() -> CommitId {
    CommitId::parse("a".repeat(40).as_str()).unwrap()
}

fn report(conclusion: Conclusion, annotations: u32) -> CheckReport {
    let annotation = |line: u32| Annotation {
        path: RepoPath::parse("gauss/peu01/base/a.yaml").unwrap(),
        line,
        column: None,
        level: AnnotationLevel::Failure,
        title: "removes-machines".to_owned(),
        message: "machines go".to_owned(),
    };
    CheckReport {
        conclusion,
        title: "2 findings".to_owned(),
        summary: "What was found.".to_owned(),
        annotations: (1..=annotations).map(annotation).collect(),
        buttons: Vec::new(),
    }
}

fn plain(conclusion: Conclusion) -> CheckOf {
    in_parts(conclusion, 0)
}

fn in_parts(conclusion: Conclusion, annotations: u32) -> CheckOf {
    let until = Timestamp::from_second(60).ok();
    let report = report(conclusion, annotations);
    CheckOf::made_from(&head(), ("abc", until), &report, RunWish::AsItIs)
}

/// A record of a check that says the same as this report.
fn record(run: u64, report: &CheckReport) -> CheckRecord {
    let output = ReportId::of(EDITION, report);
    let content = KeptReport { inputs: "older".to_owned(), until: None, output }.to_string();
    let pressed = Some("`merge`, pressed by `ada`: merged.".to_owned());
    CheckRecord { check_run: run, content, pressed, ..CheckRecord::noted(7, &head(), "capstan") }
}

fn run(id: u64, report: &CheckReport) -> CheckRun {
    CheckRun {
        id,
        name: "capstan".to_owned(),
        external_id: ReportId::of(EDITION, report).to_string(),
        conclusion: CheckConclusion::of(report.conclusion),
        annotations: 0,
    }
}

#[test]
fn a_check_is_written_where_none_says_it_yet() {
    use Conclusion::{Failure, Pending, Success};
    let (failed, passed, pending) = (report(Failure, 0), report(Success, 0), report(Pending, 0));
    let check = plain(Failure);
    for (at, (known, newest, decision)) in [
        (None, None, RunDecision::Ask),
        (None, Some(None), RunDecision::Create),
        (None, Some(Some(run(5, &failed))), RunDecision::Keep(5)),
        (None, Some(Some(run(5, &passed))), RunDecision::Update(5)),
        (None, Some(Some(run(5, &pending))), RunDecision::Update(5)),
        (Some(record(5, &failed)), None, RunDecision::Keep(5)),
        (Some(record(5, &passed)), None, RunDecision::Update(5)),
    ]
    .into_iter()
    .enumerate()
    {
        let newest = newest.as_ref().map(Option::as_ref);
        assert_eq!(check.place(known.as_ref(), newest), decision, "row {at}");
    }
}

#[test]
fn a_rollout_knows_its_last_run_by_itself() {
    let (pending, passed) = (report(Conclusion::Pending, 0), report(Conclusion::Success, 0));
    let last = |report: &CheckReport| Some((5, ReportId::of("1", report)));
    let after = |report: &CheckReport, last| {
        CheckOf::after(("capstan/rollout", &head()), "1", report, last).place(None, None)
    };
    assert_eq!(after(&pending, None), RunDecision::Ask);
    assert_eq!(after(&pending, last(&pending)), RunDecision::Keep(5));
    assert_eq!(after(&passed, last(&pending)), RunDecision::Update(5));
    // A completed run does not go back to work.
    assert_eq!(after(&pending, last(&passed)), RunDecision::Create);
    // What annotates a pending report comes with its conclusion: until then one run says each news.
    let waits = CheckReport { title: "waits".to_owned(), ..report(Conclusion::Pending, 1) };
    let said = CheckOf::after(("capstan/rollout", &head()), "1", &waits, None).says().clone();
    assert!(said.is_pending(), "{said}");
    assert_eq!(after(&waits, Some((5, said.clone()))), RunDecision::Keep(5));
    assert_eq!(after(&report(Conclusion::Pending, 1), Some((5, said))), RunDecision::Update(5));
    let check = CheckOf::after(("capstan/rollout", &head()), "1", &passed, None);
    assert_eq!((check.inputs(), check.record(7, None, 5)), (None, None));
    assert_eq!(check.begun(7, None, RunDecision::Create), None);
}

#[test]
fn what_is_remembered_of_a_check_is_what_its_run_says() {
    let failed = report(Conclusion::Failure, 0);
    let check = plain(Conclusion::Failure);
    let known = record(5, &failed);
    let kept = check.record(7, Some(&known), 6).unwrap();
    assert_eq!((kept.repository, kept.check_run, kept.name.as_str()), (7, 6, "capstan"));
    assert_eq!(kept.pressed, known.pressed, "what came of a button stays");
    let verdict = kept.verdict.unwrap();
    assert_eq!((verdict.conclusion.as_str(), verdict.title.as_str()), ("failure", "2 findings"));
    let read = KeptReport::read(&kept.content);
    assert_eq!((read.inputs.as_str(), read.until), ("abc", Timestamp::from_second(60).ok()));
    assert_eq!(read.output, ReportId::of(EDITION, &failed));
    let run = check.run();
    assert_eq!(run.external_id, read.output.to_string());
    assert_eq!(run.conclusion, Some(CheckConclusion::Failure));
    assert_eq!(plain(Conclusion::Pending).record(7, None, 6).unwrap().verdict, None);
}

#[test]
fn a_kept_report_is_read_as_it_was_written() {
    let output = ReportId::of(EDITION, &report(Conclusion::Success, 0));
    let kept = KeptReport { inputs: "abc".to_owned(), until: None, output: output.clone() };
    let read = KeptReport::read(&kept.to_string());
    assert_eq!((read.inputs.as_str(), read.output.to_string()), ("abc", output.to_string()));
    assert_eq!(KeptReport::read("what an older one wrote").inputs, "what an older one wrote");
}

#[test]
fn a_report_counts_as_long_as_its_inputs_are_the_same_and_its_pause_lasts() {
    let output = ReportId::of(EDITION, &report(Conclusion::Success, 0));
    let at = |second| Some(Timestamp::from_second(second).unwrap());
    for (inputs, until, expected) in [
        ("abc", None, true),
        ("older", None, false),
        ("abc", at(1_800_000_001), true),
        ("abc", at(1_800_000_000), false),
    ] {
        let kept = KeptReport { inputs: inputs.to_owned(), until, output: output.clone() };
        assert_eq!(kept.is_of("abc", Timestamp::from_second(1_800_000_000).unwrap()), expected, "{until:?}");
    }
}

#[test]
fn what_is_sent_in_parts_is_remembered_as_unfinished_before() {
    let check = in_parts(Conclusion::Failure, 51);
    let output = ReportId::of(EDITION, &report(Conclusion::Failure, 51));
    for decision in [RunDecision::Create, RunDecision::Update(5)] {
        let begun = check.begun(7, None, decision).unwrap();
        let kept = KeptReport::read(&begun.content);
        assert_eq!((kept.inputs.as_str(), kept.output, begun.check_run), ("", output.unfinished(), 0));
    }
    // What is kept or gone on with is remembered already.
    assert_eq!(check.begun(7, None, RunDecision::Keep(5)), None);
    assert_eq!(check.begun(7, None, RunDecision::Finish(5)), None);
    assert_eq!(in_parts(Conclusion::Failure, 50).begun(7, None, RunDecision::Create), None);
    // A run without a conclusion has no annotations.
    let pending = in_parts(Conclusion::Pending, 51);
    assert!(pending.run().annotations.is_empty() && pending.begun(7, None, RunDecision::Create).is_none());
}

#[test]
fn reviewers_are_people_teams_of_the_owner_and_strangers() {
    let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let asked = Sidebar {
        labels: names(&["upgrade"]),
        assignees: names(&["ada"]),
        reviewers: names(&["grace", "Acme/platform", "other/team"]),
    };
    let (parts, strangers) = by_part(&asked, "acme");
    assert_eq!(
        parts,
        [
            (SidebarPart::Labels, names(&["upgrade"])),
            (SidebarPart::Assignees, names(&["ada"])),
            (SidebarPart::Reviewers, names(&["grace"])),
            (SidebarPart::TeamReviewers, names(&["platform"])),
        ]
    );
    assert_eq!(strangers, ["other/team"]);
    let mut back = Sidebar::default();
    for (part, names) in parts {
        put_back(&mut back, part, names, "acme");
    }
    let expected = Sidebar { reviewers: names(&["grace", "acme/platform"]), ..asked };
    assert_eq!(back, expected);
}

#[test]
fn a_branch_is_written_where_it_is_capstans_and_holds_something_else() {
    let there = |is_own, holds| BranchThere { head: commit('a'), is_own, holds };
    for (there, expected) in [
        (None, Some(BranchStep::Create)),
        (Some(there(true, true)), Some(BranchStep::Keep)),
        (Some(there(true, false)), Some(BranchStep::Move { before: commit('a') })),
        (Some(there(false, true)), None),
        (Some(there(false, false)), None),
    ] {
        assert_eq!(branch_step(there.as_ref()), expected, "{there:?}");
    }
}

#[test]
fn a_head_that_no_pull_request_had_awaits_one() {
    let newest = EarlierPullRequest {
        number: 2,
        state: PullRequestState::Merged,
        body: String::new(),
        head_branch: "capstan/create/gauss/peu01".to_owned(),
        head: commit('a'),
        base: commit('0'),
    };
    assert!(awaits_pull(None, &commit('a')));
    assert!(awaits_pull(Some(&newest), &commit('b')));
    assert!(!awaits_pull(Some(&newest), &commit('a')));
}

#[test]
fn of_a_commit_only_what_differs_is_sent() {
    let path = |path: &str| RepoPath::parse(path).unwrap();
    let new = |name: &str| FileChange {
        path: path(&format!("gauss/peu01/{name}")),
        before: None,
        after: Some("text\n".to_owned()),
    };
    let parent = snapshot(commit('0'), &[("README.md", "old\n")]);
    let cluster = ClusterId::new(path("gauss/peu01"));
    let files = [new("base/cluster.yaml"), new("capstan.yaml")];
    let written = |files| {
        DesiredBranch {
            name: "capstan/create/gauss/peu01".to_owned(),
            step: BranchStep::Create,
            parent: &parent,
            key: &key(),
            files,
            message: "Create gauss/peu01\n".to_owned(),
        }
        .entries()
    };
    let write = |at: &str, text: &str| NewTreeEntry::Write {
        path: path(at),
        text: text.to_owned(),
        executable: false,
    };
    let guarded = guard_new(&cluster, parent.tree.as_ref(), &files).unwrap();
    assert_eq!(
        written(CommitFiles::OfClusters(guarded)),
        [write("gauss/peu01/base/cluster.yaml", "text\n"), write("gauss/peu01/capstan.yaml", "text\n")]
    );
    let one = CommitFiles::One(path("README.md"), "new\n");
    assert_eq!(written(one), [write("README.md", "new\n")]);
}
