//! `upgrade`: the diff and the work tree.

use std::fs;

use super::{fleet, release, workers};

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
