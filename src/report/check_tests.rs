use super::*;
use capstan_model::finding::{Place, Position, RuleEntry, rules};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_plan::upgrade::{Certainty, Course, Reason};

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

fn judged(judgement: Judgement) -> Judged {
    let cluster = ClusterId::new(RepoPath::parse("gauss/peu01").unwrap());
    Judged { clusters: vec![JudgedCluster { cluster, judgement }], ..Judged::default() }
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
    assert!(report.summary.contains("1 finding stands on the base branch already and does not decide."));
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
            reason: Reason::Release,
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
    assert_eq!(report.title, "1 change in 1 cluster, at least 0 machines deleted");
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
        reason: Reason::Release,
    };
    let clusters = (0..500)
        .map(|number| JudgedCluster {
            cluster: ClusterId::new(RepoPath::parse(&format!("gauss/peu{number}")).unwrap()),
            judgement: Judgement { changes: vec![change.clone(); 200], ..Judgement::default() },
        })
        .collect();
    let mut all = Judged { clusters, ..Judged::default() };
    all.findings = vec![finding(rules::KUBERNETES_DOWNGRADE, 7, "/spec/version"); 5_000];
    let report = check(&all);
    assert!(report.summary.len() <= 65_535);
    assert!(report.summary.contains("more clusters"));
    assert_eq!(report.annotations.len(), 200);
}
