use serde_json::json;

use super::*;
use crate::block::tests::id;
use capstan_model::file_change::FileChange;
use capstan_model::finding::{Finding, Place, Position, rules};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::rest::Rest;
use capstan_model::source::{SourceContent, SourceId};
use capstan_model::target::Target;
use capstan_model::tree::{CommitId, RepoPath};
use capstan_model::version::KubernetesVersion;
use capstan_plan::proposal::Sidebar;
use capstan_plan::upgrade::{
    Certainty, Change, ChangeReason, Conflict, Course, Rollout, Side, ValuesStep, Versions,
};

fn object(kind: &str) -> ObjectId {
    ObjectId {
        group: "cluster.x-k8s.io".to_owned(),
        kind: kind.to_owned(),
        namespace: Some("my-org".to_owned()),
        name: "peu01-mp-0".to_owned(),
    }
}

fn file() -> RepoPath {
    RepoPath::parse("gauss/peu01/base/machinepool.yaml").unwrap()
}

pub(crate) fn change(path: &str, old: serde_json::Value, new: serde_json::Value) -> Change {
    Change {
        object: object("MachinePool"),
        place: Place::line_of(file(), 7),
        path: FieldPath::parse(path).unwrap(),
        old: Some(old),
        new: Some(new),
        from: None,
        reason: ChangeReason::Release,
    }
}

pub(crate) fn upgrade() -> Upgrade {
    Upgrade {
        target: Target::parse("gauss/peu01").unwrap(),
        from: SourceId::parse("aws/v21.0.0"),
        to: SourceId::parse("aws/v22.0.0"),
        rest: Rest::default(),
        to_content: SourceContent::parse(&"a".repeat(40)),
        kubernetes: KubernetesVersion::parse("v1.22.5"),
        kubernetes_now: None,
        applied_changes: None,
        release_notes: None,
        basis: Basis::Known,
        files: vec![FileChange { path: file(), before: Some("a".to_owned()), after: Some("b".to_owned()) }],
        changes: vec![change("/spec/template/spec/version", json!("v1.16.8"), json!("v1.21.4"))],
        conflicts: vec![Conflict {
            object: object("MachinePool"),
            place: Place::line_of(file(), 7),
            path: FieldPath::parse("/spec/replicas").unwrap(),
            base: Some(json!(2)),
            cluster: Some(json!(5)),
            release: Some(json!(3)),
            kept: Side::Cluster,
            blocks: false,
            settling: capstan_plan::upgrade::Settlement::default(),
        }],
        findings: vec![
            Finding::new(rules::KUBERNETES_MINOR_SKIP, "`v1.16.8` to `v1.21.4` skips minors")
                .place(Place::at(file(), Position { line: 9, column: 3 })),
        ],
        rollouts: vec![Rollout {
            object: object("MachinePool"),
            machines: Some(5),
            certainty: Certainty::Offline,
            because: vec![FieldPath::parse("/spec/template/spec/version").unwrap()],
            course: Course::default(),
        }],
        components: vec![],
        providers: vec![],
        unasked: vec![],
        services: vec![],
        values: None,
        blocked: vec![],
        notes: vec![],
    }
}

fn title_of(upgrade: &Upgrade) -> String {
    with_proposal(upgrade, |proposal| crate::proposal_title(None, upgrade, proposal.source, Versions::Move))
}

fn body_of(upgrade: &Upgrade) -> String {
    with_proposal(upgrade, |proposal| {
        proposal_body(proposal, 7, None, &TitleDigest::of(""), &BlockKey::derive(b"secret"))
    })
}

fn with_proposal(upgrade: &Upgrade, write: impl FnOnce(&Proposal<'_>) -> String) -> String {
    let source = SourceState::new(upgrade.to.clone().unwrap(), upgrade.to_content.clone());
    let plan = PlanDigest::of(&upgrade.files);
    let (decisions, sidebar) = (Decisions::default(), SidebarStanding::default());
    let proposal = Proposal {
        upgrade,
        source: &source,
        plan: &plan,
        origin: None,
        command_prefix: "/capstan",
        retarget: Retarget::Refused,
        decisions: &decisions,
        drafted: Drafted::No,
        reporter: None,
        sidebar: &sidebar,
        previous: &[],
    };
    write(&proposal)
}

#[test]
fn the_body_says_what_changes_why_and_what_to_do() {
    let body = body_of(&upgrade());
    for part in [
        "Upgrades `gauss/peu01` from `aws/v21.0.0` to `aws/v22.0.0`.",
        "| `MachinePool my-org/peu01-mp-0` | `/spec/template/spec/version` | `v1.16.8` | `v1.21.4` | the release changes it |",
        "| `MachinePool my-org/peu01-mp-0` | `/spec/replicas` | `2` | `5` | `3` | the cluster's value is kept |",
        "- **error** `kubernetes-minor-skip` (`gauss/peu01/base/machinepool.yaml:9:3`): `v1.16.8` to `v1.21.4` skips minors",
        "### Machines\n\nJudged from Git alone.\n\n| Object |",
        "| `MachinePool my-org/peu01-mp-0` | replaces 5 | `/spec/template/spec/version` |  |",
        "| Changes | 1 edit in 1 file |",
        "| Will be replaced | 5 machines |",
        "### What to do next",
        "`/capstan replan`",
    ] {
        assert!(body.contains(part), "{part}\n---\n{body}");
    }
    let block = Block::read(&body, &BlockKey::derive(b"secret"), 7, 12, &id("gauss/peu01")).unwrap();
    assert_eq!(block.source.to_string(), format!("aws/v22.0.0@{}", "a".repeat(40)));
}

#[test]
fn a_body_keeps_githubs_limit_and_says_what_it_left_out() {
    let mut big = upgrade();
    let long = "x`|@<\u{1f600}".repeat(400);
    for number in 0..20_000 {
        big.changes.push(change(&format!("/spec/{number}{long}"), json!(long), json!(long)));
        big.conflicts.push(big.conflicts[0].clone());
        big.findings.push(big.findings[0].clone());
        big.rollouts.push(big.rollouts[0].clone());
        big.notes.push(long.clone());
    }
    let body = body_of(&big);
    assert!(body.chars().count() <= 65_536, "{} characters", body.chars().count());
    for what in ["rollouts.", "conflicts.", "findings.", "edits;"] {
        assert!(
            body.contains(&format!(" more {what} `capstan plan gauss/peu01 --to aws/v22.0.0` in a checkout")),
            "{what}"
        );
    }
    assert!(body.contains("### What to do next"));
    assert!(Block::read(&body, &BlockKey::derive(b"secret"), 7, 12, &id("gauss/peu01")).is_some());

    big.changes.truncate(500);
    big.conflicts.truncate(500);
    big.findings.truncate(500);
    big.rollouts.truncate(500);
    big.notes.truncate(500);
    // The longest values that the settings allow, in the characters that take most room in the record.
    let labels: Vec<String> =
        (0..20).map(|number| format!("{number:02}{}", "\u{1f600}".repeat(48))).collect();
    let people: Vec<String> = (0..15).map(|number| format!("{number:02}{}", "x".repeat(198))).collect();
    let much = Sidebar { labels, assignees: people.clone(), reviewers: people };
    let sidebar = SidebarStanding { done: much.clone(), refused: much };
    let (title, key) = (TitleDigest::of(""), BlockKey::derive(b"secret"));
    let body = with_proposal(&big, |proposal| {
        proposal_body(&Proposal { sidebar: &sidebar, ..*proposal }, 7, Some(12), &title, &key)
    });
    assert!(body.chars().count() <= 65_536, "{} characters", body.chars().count());
    let block = Block::read(&body, &key, 7, 12, &id("gauss/peu01")).unwrap();
    assert_eq!(block.sidebar, sidebar.done);
    assert!(body.contains("asks for: the label `00\u{1f600}") && body.contains(", and 40 more."), "{body}");
}

#[test]
fn secrets_do_not_reach_the_body_and_content_forges_nothing() {
    let mut upgrade = upgrade();
    upgrade.changes.push(change("/spec/files/0/content", json!("hunter2"), json!("hunter3")));
    upgrade.changes.push(change("/metadata/annotations/x", json!("a | b\n### @acme"), json!("`<img>`")));
    let body = body_of(&upgrade);
    assert!(!body.contains("hunter"));
    assert!(body.contains("| `a \\| b⏎### @acme` | `` `<img>` `` |"), "{body}");
}

#[test]
fn a_refresh_and_an_unknown_release_say_so() {
    let mut again = upgrade();
    again.from = again.to.clone();
    assert!(body_of(&again).contains("Release `aws/v22.0.0` has changed since `gauss/peu01` took it."));
    assert_eq!(title_of(&again), "Refresh gauss/peu01 to aws/v22.0.0 as it is now");
    let mut inferred = again;
    inferred.basis = Basis::Inferred;
    assert!(body_of(&inferred).contains("which was not recorded"));
    assert_eq!(title_of(&inferred), "Record gauss/peu01 at aws/v22.0.0");
    assert!(body_of(&inferred).contains("This pull request records it and brings `gauss/peu01` up to date."));
    let mut unknown = upgrade();
    unknown.from = None;
    unknown.basis = Basis::Unknown;
    let body = body_of(&unknown);
    assert!(body.contains("**not known**") && body.contains("`/capstan take PATH`"), "{body}");
}

#[test]
fn a_release_that_was_inferred_is_not_called_recorded() {
    let mut inferred = upgrade();
    inferred.basis = Basis::Inferred;
    assert_eq!(title_of(&inferred), "Upgrade gauss/peu01 from aws/v21.0.0 to aws/v22.0.0");
    let body = body_of(&inferred);
    assert!(
        body.starts_with(
            "Kubernetes v1.16.8 → v1.21.4 · 5 machines are replaced\n\n\
             Upgrades `gauss/peu01` from `aws/v21.0.0` to `aws/v22.0.0`.\n\n\
             > The release that this cluster comes from is not recorded. Capstan inferred it: "
        ),
        "{body}"
    );

    // The cluster is at the offered release already: the upgrade only records it.
    let found = Upgrade { from: inferred.to.clone(), changes: vec![], ..inferred };
    assert_eq!(title_of(&found), "Record gauss/peu01 at aws/v22.0.0");
    let body = body_of(&found);
    assert!(
        body.starts_with(
            "5 machines are replaced\n\nThe content of `gauss/peu01` is that of `aws/v22.0.0`, which was not recorded. \
             This pull request records it and changes nothing else.\n\n"
        ),
        "{body}"
    );
}

#[test]
fn the_body_counts_what_is_applied_as_the_check_does() {
    let body = body_of(&Upgrade { applied_changes: Some(2), ..upgrade() });
    assert!(body.contains("| Changes | 2 changes, by 1 edit in 1 file |"), "{body}");
}

#[test]
fn files_without_an_edit_are_not_counted_and_a_template_comes_after_its_object() {
    let record = FileChange {
        path: RepoPath::parse("gauss/peu01/capstan.yaml").unwrap(),
        before: None,
        after: Some("release: aws/v22.0.0\n".to_owned()),
    };
    let with = |upgrade: Upgrade| Upgrade {
        files: [upgrade.files.as_slice(), std::slice::from_ref(&record)].concat(),
        ..upgrade
    };
    let body = body_of(&with(upgrade()));
    assert!(body.contains("| Changes | 1 edit in 1 file |"), "{body}");
    let body = body_of(&with(Upgrade { changes: Vec::new(), ..upgrade() }));
    assert!(body.contains("| Changes | no edit |"), "{body}");

    let object = |kind: &str, name: &str| ObjectId {
        kind: kind.to_owned(),
        name: name.to_owned(),
        ..upgrade().changes[0].object.clone()
    };
    let of =
        |object: ObjectId, path: &str, new: &str| Change { object, ..change(path, json!(null), json!(new)) };
    let plane = ObjectId {
        group: "controlplane.cluster.x-k8s.io".to_owned(),
        ..object("KubeadmControlPlane", "peu01")
    };
    let changes = vec![
        of(object("MachineDeployment", "md"), "/spec/template/spec/version", "v1.32.0"),
        of(object("AWSMachineTemplate", "cp-2"), "/spec/template/spec/ami/id", "ami-2"),
        of(plane, "/spec/machineTemplate/infrastructureRef/name", "cp-2"),
    ];
    let body = body_of(&Upgrade { changes, ..upgrade() });
    let at = |name: &str| body.find(&format!("| `{name} ")).unwrap();
    assert!(at("KubeadmControlPlane") < at("AWSMachineTemplate"), "{body}");
    assert!(at("AWSMachineTemplate") < at("MachineDeployment"), "{body}");
}

#[test]
fn the_notes_of_a_release_are_linked_in_the_repository_that_has_them() {
    assert!(!body_of(&upgrade()).contains("Release notes"));
    let notes = RepoPath::parse("aws/v22.0.0 (new)/release.md").unwrap();
    let with = Upgrade { release_notes: Some(notes), ..upgrade() };
    let here = "Release notes: [`aws/v22.0.0 (new)/release.md`](<../blob/HEAD/aws/v22.0.0%20%28new%29/release.md>)\n";
    assert!(body_of(&with).contains(here), "{}", body_of(&with));
    let origin = ReleasesOrigin {
        repository: "acme/releases".to_owned(),
        commit: CommitId::parse(&"c".repeat(40)).unwrap(),
    };
    let elsewhere =
        with_proposal(&with, |proposal| visible_text(&Proposal { origin: Some(&origin), ..*proposal }));
    let link = "(<../../../acme/releases/blob/HEAD/aws/v22.0.0%20%28new%29/release.md>)\n";
    assert!(elsewhere.contains(link), "{elsewhere}");
}

#[test]
fn many_changes_are_folded_and_those_of_one_object_together() {
    let plane =
        ObjectId { group: "controlplane.cluster.x-k8s.io".to_owned(), ..object("KubeadmControlPlane") };
    let of = |object: &ObjectId, path: String| Change {
        object: object.clone(),
        ..change(&path, json!(1), json!(2))
    };
    let both =
        |at: usize| [of(&object("MachinePool"), format!("/spec/a{at}")), of(&plane, format!("/spec/b{at}"))];
    let with = |pairs: usize| Upgrade { changes: (0..pairs).flat_map(both).collect(), ..upgrade() };
    let few = body_of(&with(2));
    let rows = "### What changes\n\n4 edits in 2 objects\n\n| Object | Field | Old | New | Why |\n|---|---|---|---|---|\n\
        | `KubeadmControlPlane my-org/peu01-mp-0` | `/spec/b0` | `1` | `2` | the release changes it |\n\
        |  | `/spec/b1` | `1` | `2` | the release changes it |\n\
        | `MachinePool my-org/peu01-mp-0` | `/spec/a0` | `1` | `2` | the release changes it |\n\
        |  | `/spec/a1` | `1` | `2` | the release changes it |\n";
    assert!(few.contains(rows), "{few}");
    assert!(!body_of(&with(10)).contains("<details><summary>20 edits"), "20 are shown as they are");
    let many = body_of(&with(11));
    let folded = "### What changes\n\n<details><summary>22 edits in 2 objects</summary>\n\n| Object |";
    assert!(many.contains(folded), "{many}");
    assert!(many.contains("|\n\n</details>\n\n### What to do next"), "{many}");
}

#[test]
fn a_new_cluster_has_no_machines_that_roll() {
    let values = ValuesStep {
        brought_by: SourceKind::INVENTORY,
        course: ValuesCourse::Comes,
        from: None,
        to: None,
        levels: vec![],
        origins: vec![],
        conflict_origins: vec![],
    };
    let body = body_of(&Upgrade { values: Some(Box::new(values)), rollouts: vec![], ..upgrade() });
    assert!(body.starts_with("Kubernetes v1.22.5 · a new cluster\n\n"), "{body}");
    assert!(!body.contains("earlier upgrade"), "{body}");
    assert!(body.contains("Machines are made only after the merge."), "{body}");
}
