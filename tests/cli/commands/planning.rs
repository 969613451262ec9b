//! `plan`: the JSON, the exit codes, several clusters, `--at`, formats.

use serde_json::{Value, json};

use super::{RECORD, fleet, release, workers};
use capstan_test_parts::sandbox::{Sandbox, without_messages};

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn the_json_has_its_fields_in_the_order_of_the_contract() {
    let sandbox = fleet();
    sandbox.write("acme/a/base/md.yaml", &workers("a", 5, "v1.30.4"));
    let plans = sandbox.capstan(&["plan", "acme/a", "-o", "json"]).json(0);
    let plan = &plans[0];
    assert_eq!(
        keys(plan),
        [
            "cluster",
            "from",
            "to",
            "basis",
            "files",
            "changes",
            "conflicts",
            "findings",
            "rollouts",
            "notes",
            "source",
            "values"
        ]
    );
    assert_eq!(keys(&plan["files"][0]), ["path", "action"]);
    assert_eq!(
        keys(&plan["changes"][0]),
        ["object", "file", "line", "path", "op", "old", "new", "reason", "origin"]
    );
    assert_eq!(keys(&plan["changes"][0]["object"]), ["group", "kind", "namespace", "name"]);
    assert_eq!(
        keys(&plan["conflicts"][0]),
        ["object", "file", "line", "path", "base", "cluster", "release", "kept", "blocks"]
    );
    assert_eq!(keys(&plan["rollouts"][0]), ["object", "machines", "certainty", "because"]);
}

#[test]
fn clusters_come_ordered_and_once() {
    let sandbox = fleet();
    let said = sandbox.capstan(&["plan", "acme/b", "./acme/a/", "acme/b", "-o", "json"]).json(0);
    let ids: Vec<&Value> = said.as_array().unwrap().iter().map(|plan| &plan["cluster"]).collect();
    assert_eq!(ids, ["acme/a", "acme/b"]);
    assert_eq!(said, sandbox.capstan(&["plan", "--all", "-o", "json"]).json(0));
}

#[test]
fn a_cluster_that_cannot_be_read_is_refused_by_name_and_the_others_are_planned() {
    let sandbox = fleet();
    sandbox.write(
        "acme/b/base/md.yaml",
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: [MachineDeployment\nspec: 1\n",
    );
    let plans = sandbox.capstan(&["plan", "--all", "-o", "json"]).json(1);
    assert_eq!(plans[0]["to"], "aws/v1.1.0");
    let refused = &plans[1];
    assert_eq!(keys(refused), ["cluster", "error"]);
    assert_eq!(keys(&refused["error"]), ["message", "file", "line", "column"]);
    assert_eq!(refused["cluster"], "acme/b");
    assert_eq!(refused["error"]["file"], "acme/b/base/md.yaml");
    assert!(refused["error"]["line"].is_u64() && refused["error"]["column"].is_u64(), "{refused}");

    let told = sandbox.capstan(&["plan"]);
    told.ended(1);
    assert!(told.out.contains("acme/b  cannot be planned\n    acme/b/base/md.yaml:"), "{}", told.out);
}

#[test]
fn a_cluster_at_the_newest_release_is_offered_nothing_and_says_why() {
    let sandbox = fleet();
    sandbox.write("acme/a/base/md.yaml", &workers("a", 3, "v1.31.2"));
    let tree = sandbox.tree_id("aws/v1.1.0");
    sandbox.write("acme/a/capstan.yaml", &format!("release: aws/v1.1.0\nreleaseTree: {tree}\n"));
    let plan = sandbox.capstan(&["plan", "acme/a", "-o", "json"]).json(0);
    assert_eq!(
        plan,
        json!([{"cluster": "acme/a", "from": "aws/v1.1.0", "to": null, "basis": "known", "files": [], "changes": [],
                "conflicts": [], "findings": [], "rollouts": [], "notes": plan[0]["notes"], "source": "release", "values": {"from": null, "to": null}}])
    );
    assert!(sandbox.capstan(&["plan", "acme/a"]).ended(0).out.contains("nothing is offered"));
}

#[test]
fn a_forced_skip_is_computed_and_ends_with_3() {
    let sandbox = fleet();
    sandbox.write("aws/v1.3.0/base/md.yaml", &release("v1.33.0", 3));
    // Not forced, the next minor is offered.
    assert_eq!(sandbox.capstan(&["plan", "acme/a", "-o", "json"]).json(0)[0]["to"], "aws/v1.1.0");
    let plan =
        without_messages(sandbox.capstan(&["plan", "acme/a", "--to", "aws/v1.3.0", "-o", "json"]).json(3));
    assert_eq!(
        plan[0]["findings"],
        json!([{"rule": "kubernetes-minor-skip", "severity": "error", "file": "acme/a/base/md.yaml", "line": 8, "column": 16}])
    );
    assert_eq!(plan[0]["changes"].as_array().unwrap().len(), 2);
}

#[test]
fn of_a_blocked_upgrade_files_are_empty_and_changes_tell_what_would_be_done() {
    let sandbox = fleet();
    sandbox.write(".capstan.yaml", "upgrade: {conflicts: block}\n");
    sandbox.write("acme/a/base/md.yaml", &workers("a", 5, "v1.30.4"));
    let plan = sandbox.capstan(&["plan", "acme/a", "-o", "json"]).json(3);
    assert_eq!(plan[0]["files"], json!([]));
    assert_eq!(plan[0]["conflicts"][0]["blocks"], true);
    assert_eq!(plan[0]["changes"][0]["path"], "/spec/template/spec/version");
    let told = sandbox.capstan(&["plan", "acme/a"]);
    assert!(told.ended(3).out.contains("blocked: nothing is written"), "{}", told.out);
}

#[test]
fn a_reason_appears_once_and_json_has_the_notes_too() {
    let sandbox = fleet();
    sandbox.write("acme/a/base/md.yaml", &workers("a", 2, "v1.33.0"));
    let told = sandbox.capstan(&["plan", "acme/a", "--to", "aws/v1.1.0"]);
    let out = &told.ended(3).out;
    assert_eq!(out.matches("Kubernetes cannot be downgraded").count(), 1, "{out}");
    assert!(!out.contains("which is newer than the release's"), "{out}");
    assert!(out.contains("blocked: nothing is written; the findings say why"), "{out}");
    let diff = sandbox.capstan(&["upgrade", "acme/a", "--to", "aws/v1.1.0"]);
    let err = &diff.ended(3).err;
    assert!(err.contains("blocked: acme/a: nothing is written; the findings say why"), "{err}");
    assert!(!err.contains("which is newer than the release's"), "{err}");

    sandbox.write("aws/v1.2.0/base/md.yaml", &release("v1.32.1", 3));
    let plan = sandbox.capstan(&["plan", "acme/b", "-o", "json"]).json(0);
    let out = sandbox.capstan(&["plan", "acme/b"]).out;
    let notes: Vec<&str> = plan[0]["notes"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(!notes.is_empty() && notes.iter().all(|note| out.contains(note)), "{notes:?} {out}");
}

#[test]
fn a_commit_can_be_read_instead_of_the_work_tree() {
    let sandbox = fleet();
    sandbox.write("acme/a/base/md.yaml", "not: [yaml\n");
    sandbox.capstan(&["plan", "acme/a"]).ended(1);
    let plan = sandbox.capstan(&["plan", "acme/a", "--at", "HEAD", "-o", "json"]).json(0);
    assert_eq!(plan[0]["changes"].as_array().unwrap().len(), 2);
}

#[test]
fn the_repository_is_found_from_a_folder_within_and_by_name() {
    let sandbox = fleet();
    let here = sandbox.capstan(&["plan", "-o", "json"]).json(0);
    let within =
        capstan_test_parts::sandbox::capstan(&sandbox.at("acme/a/base"), &["plan", "-o", "json"]).json(0);
    let outside = tempfile::tempdir().unwrap();
    let named = sandbox.repository.path().to_str().unwrap();
    let named =
        capstan_test_parts::sandbox::capstan(outside.path(), &["--repo", named, "plan", "-o", "json"])
            .json(0);
    assert_eq!((&here, &here), (&within, &named));
}

#[test]
fn secrets_are_not_shown_in_any_format() {
    let secret = |token: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: a-cloud, namespace: acme}}\nstringData: {{token: {token}}}\n"
        )
    };
    let config = |content: &str| {
        format!(
            "apiVersion: bootstrap.cluster.x-k8s.io/v1beta1\nkind: KubeadmConfig\nmetadata: {{name: a-boot, namespace: acme}}\n\
             spec:\n  files:\n  - path: /etc/key\n    content: {content}\n"
        )
    };
    let old = format!("{}---\n{}", secret("hunter2"), config("hunter3"));
    let new = format!("{}---\n{}", secret("sesame4"), config("sesame5"));
    let sandbox = Sandbox::with(&[
        ("aws/v1.0.0/base/all.yaml", &old),
        ("aws/v1.1.0/base/all.yaml", &new),
        ("acme/a/base/all.yaml", &old),
        ("acme/a/capstan.yaml", RECORD),
    ]);
    let said = sandbox.capstan(&["plan", "acme/a", "-o", "json"]);
    let hidden = json!({"redacted": true});
    let changes = &said.json(0)[0]["changes"];
    let shown: Vec<(&Value, &Value, &Value)> = changes
        .as_array()
        .unwrap()
        .iter()
        .map(|change| (&change["path"], &change["old"], &change["new"]))
        .collect();
    assert_eq!(
        shown,
        [
            (&json!("/stringData/token"), &hidden, &hidden),
            (&json!("/spec/files/0/content"), &hidden, &hidden),
        ]
    );
    for format in ["json", "yaml", "text", "markdown"] {
        let said = sandbox.capstan(&["plan", "acme/a", "-o", format]);
        for value in ["hunter", "sesame"] {
            assert!(!said.ended(0).out.contains(value), "{format}: {}", said.out);
        }
    }
}

#[test]
fn every_format_without_a_colour_where_nobody_looks() {
    let sandbox = fleet();
    let text = sandbox.capstan(&["plan", "acme/a"]);
    assert_eq!(
        text.ended(0).out,
        "\
acme/a  aws/v1.0.0 -> aws/v1.1.0
  changes
    acme/a/base/md.yaml:5  MachineDeployment acme/a-md-0  /spec/replicas
      2 -> 3
    acme/a/base/md.yaml:8  MachineDeployment acme/a-md-0  /spec/template/spec/version
      \"v1.30.4\" -> \"v1.31.2\"
  machines (judged from Git alone)
    MachineDeployment acme/a-md-0: replaces 2, adds 1, because of /spec/template/spec/version
        At most 4 machines at a time, and at least 2.
"
    );
    for format in ["text", "yaml", "markdown", "diff"] {
        let said = sandbox.capstan(&["plan", "-o", format]);
        said.ended(0);
        assert!(!said.out.contains('\u{1b}') && !said.err.contains('\u{1b}'), "{format}: {said:?}");
        assert!(said.out.contains("v1.31.2"), "{format}: {}", said.out);
    }
    let title = "upgrade: {proposals: {title: \"{cluster} goes to {kubernetesVersion}\"}}\n";
    sandbox.write(".capstan.yaml", title);
    let said = sandbox.capstan(&["plan", "acme/a", "-o", "markdown"]);
    assert!(said.ended(0).out.starts_with("## acme/a goes to v1.31.2\n"), "{}", said.out);
}
