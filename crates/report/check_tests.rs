use super::*;
use capstan_model::finding::{Place, Position, RuleEntry, rules};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::rest::Rest;
use capstan_plan::forecast::Prospect;
use capstan_plan::upgrade::{Certainty, ChangeReason, Course};

use crate::{Becomes, ChangedRelease, HeadLines};

fn object() -> ObjectId {
    ObjectId {
        group: "cluster.x-k8s.io".to_owned(),
        kind: "MachinePool".to_owned(),
        namespace: None,
        name: "mp".to_owned(),
    }
}

fn finding(rule: &'static RuleEntry, line: u32, path: &str) -> Finding {
    let file = RepoPath::parse("gauss/peu01/base/a.yaml").unwrap();
    Finding::new(rule, "`a` is not `b`")
        .place(Place::at(file, Position { line, column: 3 }))
        .object(&object())
        .path(&FieldPath::parse(path).unwrap())
}

fn judged(judgement: Judgement) -> PullJudgement {
    let cluster = ClusterId::new(RepoPath::parse("gauss/peu01").unwrap());
    PullJudgement {
        clusters: vec![JudgedCluster { cluster, judgement, unasked: vec![] }],
        ..PullJudgement::default()
    }
}

#[test]
fn new_errors_fail_and_are_annotated_at_their_line() {
    let after = vec![
        finding(rules::OVERLAY_HIDES_CHANGE, 9, "/spec/x"),
        finding(rules::KUBERNETES_DOWNGRADE, 7, "/spec/version"),
    ];
    let report = check(&judged(Judgement { after, ..Judgement::default() }));
    assert_eq!(report.conclusion, Conclusion::Failure);
    assert_eq!(report.title, "1 error, 1 warning, 0 changes in 1 cluster");
    let places: Vec<_> =
        report.annotations.iter().map(|a| (a.title.as_str(), a.line, a.column, a.level)).collect();
    assert_eq!(
        places,
        [
            ("kubernetes-downgrade", 7, Some(3), AnnotationLevel::Failure),
            ("overlay-hides-change", 9, Some(3), AnnotationLevel::Warning),
        ]
    );
}

#[test]
fn errors_that_the_base_already_has_are_counted_and_do_not_decide() {
    let before = vec![finding(rules::KUBERNETES_DOWNGRADE, 7, "/spec/version")];
    let after = vec![finding(rules::KUBERNETES_DOWNGRADE, 12, "/spec/version")];
    let report = check(&judged(Judgement { before, after, ..Judgement::default() }));
    assert_eq!(report.conclusion, Conclusion::Success);
    assert!(report.annotations.is_empty());
    assert!(report.summary.contains("1 finding is on the base branch already, and does not count here."));
}

#[test]
fn a_blocked_upgrade_and_a_failure_of_capstans_own_ask_for_a_person() {
    let mut blocked = judged(Judgement::default());
    blocked.blocked = vec!["`v2` would remove the Cluster".to_owned()];
    assert_eq!(check(&blocked).conclusion, Conclusion::ActionRequired);
    let mut failed = judged(Judgement::default());
    failed.failed = Some("Capstan failed; the log knows it as 01ABC".to_owned());
    let report = check(&failed);
    assert_eq!(report.conclusion, Conclusion::ActionRequired);
    assert!(report.summary.contains("01ABC"));
}

#[test]
fn rollouts_and_differences_are_shown_cluster_by_cluster() {
    let object = object();
    let judgement = Judgement {
        changes: vec![Change {
            object: object.clone(),
            place: Place::line_of(RepoPath::parse("gauss/peu01/base/a.yaml").unwrap(), 4),
            path: FieldPath::parse("/spec/replicas").unwrap(),
            old: Some(serde_json::json!(2)),
            new: Some(serde_json::json!(3)),
            from: None,
            reason: ChangeReason::Release,
        }],
        rollouts: vec![Rollout {
            object,
            machines: None,
            certainty: Certainty::Offline,
            because: vec![FieldPath::root()],
            course: Course::default(),
        }],
        ..Judgement::default()
    };
    let report = check(&judged(judgement));
    assert_eq!(report.title, "1 change in 1 cluster, an unknown number of machines are deleted");
    assert!(
        report.summary.contains("| `MachinePool mp` | `/spec/replicas` | `2` | `3` |"),
        "{}",
        report.summary
    );
}

#[test]
fn the_summary_keeps_the_limit_whatever_is_touched() {
    let object = object();
    let change = Change {
        object,
        place: Place::line_of(RepoPath::parse("gauss/peu01/base/a.yaml").unwrap(), 4),
        path: FieldPath::parse("/spec/replicas").unwrap(),
        old: Some(serde_json::json!("x".repeat(500))),
        new: None,
        from: None,
        reason: ChangeReason::Release,
    };
    let clusters = (0..500)
        .map(|number| JudgedCluster {
            cluster: ClusterId::new(RepoPath::parse(&format!("gauss/peu{number}")).unwrap()),
            judgement: Judgement { changes: vec![change.clone(); 200], ..Judgement::default() },
            unasked: vec![],
        })
        .collect();
    let mut all = PullJudgement { clusters, ..PullJudgement::default() };
    let everywhere = (1..=5_000).map(|line| finding(rules::KUBERNETES_DOWNGRADE, line, "/spec/version"));
    all.findings = everywhere.collect();
    let report = check(&all);
    assert!(report.summary.len() <= 65_535);
    assert!(report.summary.contains("more clusters"));
    assert_eq!(report.annotations.len(), 200);
    let said = "\n200 of them are annotated at their lines; 4800 more are not: Capstan annotates at most 200 findings, and only in files of the head.\n";
    assert!(report.summary.contains(said), "{}", report.summary);
}

#[test]
fn annotations_stand_where_the_head_has_the_line_and_each_once() {
    let at = |line| finding(rules::KUBERNETES_DOWNGRADE, line, "/spec/version");
    let cluster = |id: &str, after: Vec<Finding>| JudgedCluster {
        cluster: ClusterId::new(RepoPath::parse(id).unwrap()),
        judgement: Judgement { after, ..Judgement::default() },
        unasked: vec![],
    };
    let gone = Finding::new(rules::RENDER_FAILED, "It is the base branch's.")
        .place(Place::line_of(RepoPath::parse("shared/gone.yaml").unwrap(), 2));
    // A finding in a file that two clusters share is found with both.
    let clusters =
        vec![cluster("gauss/peu01", vec![at(3), at(2)]), cluster("gauss/peu02", vec![at(3), gone])];
    let mut judged = PullJudgement { clusters, ..PullJudgement::default() };
    let files: Vec<String> = annotated_files(&judged).iter().map(ToString::to_string).collect();
    assert_eq!(files, ["gauss/peu01/base/a.yaml", "shared/gone.yaml"]);

    // The base branch adds a line above, and the second line.
    let head_files = [
        (
            "gauss/peu01/base/a.yaml",
            HeadFile::Differs(HeadLines::between("one\nnew\nthree\n", "one\nthree\n")),
        ),
        ("shared/gone.yaml", HeadFile::Absent),
    ];
    judged.head_files =
        head_files.into_iter().map(|(path, file)| (RepoPath::parse(path).unwrap(), file)).collect();
    let report = check(&judged);
    let places: Vec<_> =
        report.annotations.iter().map(|one| (one.path.as_str(), one.line, one.column)).collect();
    let path = "gauss/peu01/base/a.yaml";
    assert_eq!(places, [(path, 2, Some(3)), (path, 1, None)]);
    assert!(report.title.starts_with("3 errors"), "{}", report.title);
    assert!(
        report.summary.contains("2 of them are annotated at their lines; 1 more is not"),
        "{}",
        report.summary
    );
}

#[test]
fn a_check_of_releases_shows_the_offered_clusters_and_the_worst_upgrades() {
    let id = |id: &str| ClusterId::new(RepoPath::parse(id).unwrap());
    let release = |id: &str| capstan_model::ids::ReleaseId::from_path(id);
    let to = capstan_model::source::SourceId::parse("aws/v2").unwrap();
    let prospects = [
        ("c/a", Prospect::Offered(to.clone())),
        ("c/b", Prospect::Blocked(to)),
        ("c/c", Prospect::Nothing(Rest::Held)),
        ("c/d", Prospect::Unplannable("c/d/base/a.yaml:1: it is no YAML".to_owned())),
        ("c/e", Prospect::Offered(capstan_model::source::SourceId::parse("azure/v9").unwrap())),
    ];
    let outlook = ReleaseOutlook {
        releases: vec![ChangedRelease { release: release("aws/v2"), becomes: Becomes::Added }],
        clusters: 7,
        prospects: prospects.into_iter().map(|(cluster, prospect)| (id(cluster), prospect)).collect(),
        withdrawn: vec![],
        worst: vec![],
        consumers: vec!["acme/gitops".to_owned()],
    };
    let before = vec![finding(rules::INVALID_YAML, 1, "/spec")];
    let after = vec![finding(rules::INVALID_YAML, 2, "/spec"), finding(rules::INVALID_YAML, 2, "/new")];
    let releases = JudgedReleases { changed: outlook.releases.clone(), before, after };
    let report = check(&PullJudgement { outlook: Some(outlook), releases, ..PullJudgement::default() });
    assert_eq!(report.conclusion, Conclusion::Failure, "its own errors decide");
    assert_eq!(report.title, "1 error, 1 release that would be offered to at least 2 clusters");
    assert_eq!(report.annotations.len(), 1);
    for said in [
        "1 finding is on the base branch already",
        "- `aws/v2` is new\n",
        "5 of 7 clusters were checked",
        "Would be offered to 2 clusters:\n\n- `c/a`: `aws/v2`\n- `c/b`: `aws/v2`, which **blocks**\n",
        "The others: 1 held, 1 offered a different upgrade and 1 that cannot be planned.",
        "Other repositories use these releases (`acme/gitops`)",
    ] {
        assert!(report.summary.contains(said), "{said}: {}", report.summary);
    }
}

#[test]
fn a_check_of_settings_shows_what_would_change() {
    let id = |id: &str| ClusterId::new(RepoPath::parse(id).unwrap());
    let offered = Prospect::Offered(capstan_model::source::SourceId::parse("aws/v2").unwrap());
    let settings = SettingsOutlook {
        found: vec![id("flat/a")],
        lost: vec![],
        appliers: vec![(id("c/a"), [None, Some("mc-eu".to_owned())])],
        prospects: vec![(id("c/b"), [offered, Prospect::Nothing(Rest::Pinned)])],
        examined: [2, 300],
    };
    let report = check(&PullJudgement { settings: Some(settings), ..PullJudgement::default() });
    assert_eq!(report.conclusion, Conclusion::Success);
    let title = "Under the new settings 1 cluster more and 1 cluster is offered a different upgrade";
    assert_eq!(report.title, title);
    for said in [
        "Folders that become clusters: `flat/a`.",
        "| `c/a` | other tools | `mc-eu` |",
        "| `c/b` | `aws/v2` | nothing (pinned) |",
        "Capstan compared the offers of 2 of 300 clusters",
    ] {
        assert!(report.summary.contains(said), "{said}: {}", report.summary);
    }
}

#[test]
fn what_people_have_to_do_first_wants_action_and_errors_go_before_it() {
    let gate = || Gate { title: "1 of 2 approvals missing".to_owned(), why: "Say `approve`.".to_owned() };
    let gated = PullJudgement { gates: vec![gate()], ..judged(Judgement::default()) };
    let report = check(&gated);
    assert_eq!(report.conclusion, Conclusion::ActionRequired);
    assert_eq!(report.title, "1 of 2 approvals missing, 0 changes in 1 cluster");
    assert!(report.summary.starts_with("> Say `approve`.\n"), "{}", report.summary);
    let after = vec![finding(rules::KUBERNETES_DOWNGRADE, 7, "/spec/version")];
    let failing =
        PullJudgement { gates: vec![gate()], ..judged(Judgement { after, ..Judgement::default() }) };
    assert_eq!(check(&failing).conclusion, Conclusion::Failure);
}

#[test]
fn the_title_counts_clusters_where_there_are_any() {
    let cluster = |at: usize| JudgedCluster {
        cluster: ClusterId::new(RepoPath::parse(&format!("gauss/p{at}")).unwrap()),
        judgement: Judgement::default(),
        unasked: vec![],
    };
    for (clusters, failed, said) in [
        (0, false, "No cluster is touched"),
        (0, true, "Capstan could not judge everything"),
        (1, false, "0 changes in 1 cluster"),
        (2, true, "Capstan could not judge everything, 0 changes in 2 clusters"),
    ] {
        let failed = failed.then(|| "It is known as 01ABC.".to_owned());
        let clusters = (0..clusters).map(cluster).collect();
        assert_eq!(check(&PullJudgement { clusters, failed, ..PullJudgement::default() }).title, said);
    }
}

#[test]
fn findings_that_are_not_annotated_are_counted() {
    let some = |number: u32| -> Vec<Finding> {
        (0..number).map(|line| finding(rules::OVERLAY_HIDES_CHANGE, line + 1, "/spec/x")).collect()
    };
    let why = "Capstan annotates at most 200 findings, and only in files of the head.";
    for (number, annotated, said) in [
        (0, 0, String::new()),
        (2, 2, String::new()),
        (1, 0, format!("\nIt is not annotated: {why}\n")),
        (3, 0, format!("\nNone of them is annotated: {why}\n")),
        (3, 1, format!("\n1 of them is annotated at its line; 2 more are not: {why}\n")),
        (3, 2, format!("\n2 of them are annotated at their lines; 1 more is not: {why}\n")),
    ] {
        assert_eq!(not_annotated(&some(number), annotated), said);
    }
}
