//! `upgrade`: the diff and the work tree.

use std::fs;

use super::{fleet, release, workers};
use capstan_test_parts::sandbox::Sandbox;

#[test]
fn the_diff_is_what_git_applies_and_equals_what_is_written() {
    let written = fleet();
    // Files that are hard on a diff: no final newline, CRLF, a record that is created.
    fs::remove_file(written.at("acme/b/capstan.yaml")).unwrap();
    written.write("acme/a/base/md.yaml", workers("a", 2, "v1.30.4").trim_end());
    written.write("acme/b/base/md.yaml", &workers("b", 2, "v1.30.4").replace('\n', "\r\n"));
    written.repository.commit_all("hard on a diff");
    let arguments = ["upgrade", "acme/a", "acme/b", "--to", "aws/v1.1.0"];
    let before = written.files();
    let diff = written.capstan(&arguments).ended(0).out.clone();
    assert_eq!(written.files(), before, "without --write nothing changes");

    written.git_apply(&diff, &["--check"]).unwrap();
    written.git_apply(&diff, &["--whitespace=nowarn"]).unwrap();
    let applied = written.files();
    written.repository.git(&["checkout", "-q", "."]);
    written.repository.git(&["clean", "-fdq"]);
    assert_eq!(written.files(), before);

    let said = written.capstan(&[&arguments[..], &["--write"]].concat());
    said.ended(0);
    assert_eq!(said.out, "");
    assert_eq!(written.files(), applied);
    assert_eq!(applied["acme/a/base/md.yaml"], workers("a", 3, "v1.31.2").trim_end());
    assert_eq!(applied["acme/b/base/md.yaml"], workers("b", 3, "v1.31.2").replace('\n', "\r\n"));
}

#[test]
fn a_failure_half_way_leaves_the_tree_as_it_was() {
    let sandbox = fleet();
    // Git cannot see an empty folder; the record of the last cluster cannot be written over it.
    fs::remove_file(sandbox.at("acme/b/capstan.yaml")).unwrap();
    sandbox.repository.commit_all("no record");
    fs::create_dir(sandbox.at("acme/b/capstan.yaml")).unwrap();
    let before = sandbox.files();
    let said = sandbox.capstan(&["upgrade", "acme/a", "acme/b", "--to", "aws/v1.1.0", "--write"]);
    said.ended(1);
    assert!(
        said.err.contains("acme/b/capstan.yaml") && said.err.contains("nothing was written"),
        "{}",
        said.err
    );
    assert_eq!(sandbox.files(), before);
    assert!(sandbox.at("acme/b/capstan.yaml").is_dir());
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_symbolic_link() {
    let sandbox = fleet();
    fs::rename(sandbox.at("acme/b/capstan.yaml"), sandbox.at("elsewhere")).unwrap();
    std::os::unix::fs::symlink("../../elsewhere", sandbox.at("acme/b/capstan.yaml")).unwrap();
    let before = sandbox.files();
    let said = sandbox.capstan(&["upgrade", "acme/a", "acme/b", "--to", "aws/v1.1.0", "--write"]);
    said.ended(1);
    assert!(said.err.contains("acme/b/capstan.yaml"), "{}", said.err);
    assert_eq!(sandbox.read("elsewhere"), before["elsewhere"]);
}

#[test]
fn what_is_blocked_or_cannot_be_read_is_skipped_and_the_others_are_written() {
    let sandbox = fleet();
    sandbox.write(".capstan.yaml", "upgrade: {conflicts: block}\n");
    sandbox.write("acme/b/base/md.yaml", &workers("b", 9, "v1.30.4"));
    let arguments = ["upgrade", "acme/a", "acme/b", "--to", "aws/v1.1.0", "--write"];
    let said = sandbox.capstan(&arguments);
    said.ended(3);
    assert!(said.err.contains("blocked: acme/b: "), "{}", said.err);
    assert_eq!(sandbox.read("acme/a/base/md.yaml"), workers("a", 3, "v1.31.2"));
    assert_eq!(sandbox.read("acme/b/base/md.yaml"), workers("b", 9, "v1.30.4"));
    assert_eq!(sandbox.read("acme/b/capstan.yaml"), super::RECORD);

    sandbox.repository.git(&["checkout", "-q", "."]);
    sandbox.write("acme/b/base/md.yaml", "kind: {\n");
    let said = sandbox.capstan(&arguments);
    said.ended(1);
    assert!(said.err.contains("error: acme/b cannot be planned: acme/b/base/md.yaml:"), "{}", said.err);
    assert_eq!(sandbox.read("acme/a/base/md.yaml"), workers("a", 3, "v1.31.2"));
}

#[test]
fn settings_decide_a_conflict() {
    let sandbox = fleet();
    sandbox.write("acme/a/base/md.yaml", &workers("a", 5, "v1.30.4"));
    sandbox.write(".capstan.yaml", "upgrade: {conflicts: take}\n");
    let plan = sandbox.capstan(&["plan", "acme/a", "-o", "json"]).json(0);
    assert_eq!(plan[0]["conflicts"][0]["kept"], "release");
    sandbox.capstan(&["upgrade", "acme/a", "--to", "aws/v1.1.0", "--write"]).ended(0);
    assert_eq!(sandbox.read("acme/a/base/md.yaml"), workers("a", 3, "v1.31.2"));
}

#[test]
fn the_old_release_is_found_by_its_tree_after_its_folder_changed() {
    let sandbox = fleet();
    let tree = sandbox.tree_id("aws/v1.0.0");
    sandbox.write("acme/a/capstan.yaml", &format!("release: aws/v1.0.0\nreleaseTree: {tree}\n"));
    // Somebody edits the published release: judged by it, the cluster's two machines were its own edit.
    sandbox.write("aws/v1.0.0/base/md.yaml", &release("v1.30.4", 4));
    sandbox.repository.commit_all("a release is edited");
    let plan = sandbox.capstan(&["plan", "acme/a", "-o", "json"]).json(0);
    assert_eq!(plan[0]["conflicts"], serde_json::json!([]));
    assert_eq!(plan[0]["changes"][0]["new"], 3);
}

/// A release whose machine template changes, and a cluster whose overlay patches it.
fn patched() -> Sandbox {
    let template = |name: &str, instance: &str| {
        format!(
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSMachineTemplate\nmetadata: {{name: {name}, namespace: acme}}\nspec: {{template: {{spec: {{instanceType: {instance}}}}}}}\n"
        )
    };
    let owner = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata: {name: a-md-0, namespace: acme}\nspec: {replicas: 2, clusterName: a, template: {spec: {clusterName: a, infrastructureRef: {kind: AWSMachineTemplate, name: a-md-0}}}}\n---\n";
    Sandbox::with(&[
        (
            "aws/v1.0.0/base/t.yaml",
            "kind: AWSMachineTemplate\nspec: {template: {spec: {instanceType: m5.large}}}\n",
        ),
        (
            "aws/v1.1.0/base/t.yaml",
            "kind: AWSMachineTemplate\nspec: {template: {spec: {instanceType: m6i.large}}}\n",
        ),
        ("acme/a/base/t.yaml", &(owner.to_owned() + &template("a-md-0", "m5.large"))),
        ("acme/a/overlay/t.yaml", PATCH),
        ("acme/a/capstan.yaml", "release: aws/v1.0.0\n"),
    ])
}

const PATCH: &str = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSMachineTemplate\nmetadata: {name: a-md-0, namespace: acme} # ours\nspec: {template: {spec: {sshKeyName: ours}}}\n";

#[test]
fn retarget_edits_just_the_names_in_the_overlay() {
    let sandbox = patched();
    let before = sandbox.files();
    let blocked = sandbox.capstan(&["upgrade", "acme/a", "--to", "aws/v1.1.0", "--write"]);
    blocked.ended(3);
    assert!(blocked.err.contains("capstan upgrade --retarget"), "{}", blocked.err);
    assert_eq!(sandbox.files(), before, "nothing of a blocked upgrade is written");

    sandbox.capstan(&["upgrade", "acme/a", "--to", "aws/v1.1.0", "--retarget", "--write"]).ended(0);
    let after = sandbox.files();
    assert_eq!(after["acme/a/overlay/t.yaml"], PATCH.replace("a-md-0", "a-md-0-5ef978e2"));
    let template = &after["acme/a/base/t.yaml"];
    assert!(template.contains("{kind: AWSMachineTemplate, name: a-md-0-5ef978e2}"), "{template}");
    sandbox.capstan(&["validate"]).ended(0);
}
