//! Where releases are that are not in their folder: archived, in history, in another repository.

use std::fs;

use super::{fleet, release, workers};
use capstan_test_parts::sandbox::Sandbox;

const WANTED: &str = "{\"from\":\"aws/v1.0.0\",\"to\":\"aws/v1.1.0\",\"basis\":\"known\"}";

fn heading(plan: &serde_json::Value) -> String {
    serde_json::json!({"from": plan["from"], "to": plan["to"], "basis": plan["basis"]}).to_string()
}

fn sorted(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

fn assert_known(plan: &serde_json::Value) {
    assert_eq!(sorted(&heading(plan)), sorted(WANTED), "{plan}");
}

/// Moves the old release out of the way, where both clusters still record it.
fn fleet_without_old(sandbox: &Sandbox) {
    fs::remove_dir_all(sandbox.at("aws/v1.0.0")).unwrap();
    sandbox.repository.commit_all("the old release goes");
}

#[test]
fn a_release_that_moved_to_the_archive_is_the_same_release() {
    let sandbox = fleet();
    fs::create_dir_all(sandbox.at("aws/archived")).unwrap();
    fs::rename(sandbox.at("aws/v1.0.0"), sandbox.at("aws/archived/v1.0.0")).unwrap();
    sandbox.repository.commit_all("archived");
    assert_known(&sandbox.capstan(&["plan", "acme/a", "-o", "json"]).json(0)[0]);
    let releases = sandbox.capstan(&["releases", "-o", "json"]).json(0);
    assert_eq!(releases[0]["release"], "aws/v1.0.0");
    assert_eq!(releases[0]["state"], "archived");
}

#[test]
fn a_release_whose_folder_is_gone_is_found_by_the_recorded_tree() {
    let sandbox = fleet();
    let tree = sandbox.tree_id("aws/v1.0.0");
    sandbox.write("acme/a/capstan.yaml", &format!("release: aws/v1.0.0\nreleaseTree: {tree}\n"));
    fleet_without_old(&sandbox);
    assert_known(&sandbox.capstan(&["plan", "acme/a", "-o", "json"]).json(0)[0]);
}

#[test]
fn without_a_recorded_tree_the_last_commit_that_had_the_folder_counts_and_is_named() {
    let sandbox = fleet();
    // The release changed once; the later content counts.
    sandbox.write("aws/v1.0.0/base/md.yaml", &release("v1.30.4", 2).replace("replicas: 2", "replicas: 9"));
    sandbox.repository.commit_all("the old release changes");
    let last = sandbox.repository.git(&["rev-parse", "HEAD"]);
    fleet_without_old(&sandbox);
    sandbox.write("README.md", "later\n");
    sandbox.repository.commit_all("more");
    let plan = sandbox.capstan(&["plan", "acme/a", "-o", "json"]).json(0);
    assert_known(&plan[0]);
    // 9, 2, 3: the cluster's own two machines stay.
    assert_eq!(plan[0]["conflicts"][0]["base"], 9);
    let text = sandbox.capstan(&["plan", "acme/a"]).ended(0).out.clone();
    assert!(
        text.contains(&format!(
            "aws/v1.0.0 is no longer in a folder; its content is that of commit {}, the last commit that had it.",
            &last[..8]
        )),
        "{text}"
    );
}

#[test]
fn history_finds_an_archived_folder_too() {
    let sandbox = fleet();
    fs::create_dir_all(sandbox.at("aws/archived")).unwrap();
    fs::rename(sandbox.at("aws/v1.0.0"), sandbox.at("aws/archived/v1.0.0")).unwrap();
    sandbox.repository.commit_all("archived");
    fs::remove_dir_all(sandbox.at("aws/archived")).unwrap();
    sandbox.repository.commit_all("and gone");
    assert_known(&sandbox.capstan(&["plan", "acme/a", "-o", "json"]).json(0)[0]);
}

#[test]
fn an_old_release_that_reads_elsewhere_is_not_guessed_from_its_own_folder() {
    let sandbox = fleet();
    sandbox.write(
        "aws/parts/mhc.yaml",
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineHealthCheck\nmetadata: {name: a-mhc}\n",
    );
    sandbox.write("aws/v1.0.0/base/kustomization.yaml", "resources:\n- md.yaml\n- ../../parts/mhc.yaml\n");
    sandbox.repository.commit_all("the old release reads elsewhere");
    let findings = sandbox.capstan(&["validate", "-o", "json"]).json(0);
    assert_eq!(findings[0]["rule"], "release-reads-outside", "{findings}");
    let tree = sandbox.tree_id("aws/v1.0.0");
    sandbox.write("acme/a/capstan.yaml", &format!("release: aws/v1.0.0\nreleaseTree: {tree}\n"));
    fleet_without_old(&sandbox);
    let plan = sandbox.capstan(&["plan", "acme/a", "-o", "json"]).json(1);
    let message = plan[0]["error"]["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("only its own folder was found") && message.contains("../../parts/mhc.yaml"),
        "{plan}"
    );
    assert_eq!(plan[0]["error"]["line"], 3, "{plan}");
}

/// `acme/a` is at `aws/v1.0.0`, whose one object is in `aws/parts`. A later commit edits that file for the new release
/// `aws/v1.1.0`, which reads it too.
fn fleet_with_shared_parts() -> Sandbox {
    let naming = "resources:\n- ../../parts/md.yaml\n";
    let sandbox = Sandbox::with(&[
        ("aws/v0.9.0/base/md.yaml", &release("v1.29.8", 2)),
        ("aws/parts/md.yaml", &release("v1.30.4", 2)),
        ("aws/v1.0.0/base/kustomization.yaml", naming),
        ("acme/a/base/md.yaml", &workers("a", 2, "v1.29.8")),
        ("acme/a/capstan.yaml", "release: aws/v0.9.0\n"),
    ]);
    sandbox.capstan(&["upgrade", "acme/a", "--to", "aws/v1.0.0", "--write"]).ended(0);
    sandbox.repository.commit_all("a is at v1.0.0");
    let (tree, blob) = (sandbox.tree_id("aws/v1.0.0"), sandbox.tree_id("aws/parts/md.yaml"));
    let record =
        format!("release: aws/v1.0.0\nreleaseTree: {tree}\nreleaseReads:\n  ../parts/md.yaml: {blob}\n");
    assert_eq!(sandbox.read("acme/a/capstan.yaml"), record);
    assert_eq!(sandbox.read("acme/a/base/md.yaml"), workers("a", 2, "v1.30.4"));
    sandbox.write("aws/parts/md.yaml", &release("v1.31.2", 3));
    sandbox.write("aws/v1.1.0/base/kustomization.yaml", naming);
    sandbox.repository.commit_all("v1.1.0, by way of the shared part");
    sandbox
}

#[test]
fn what_a_release_reads_elsewhere_counts_as_it_was_when_it_was_taken() {
    let sandbox = fleet_with_shared_parts();
    sandbox.capstan(&["upgrade", "acme/a", "--to", "aws/v1.1.0", "--write"]).ended(0);
    assert_eq!(sandbox.read("acme/a/base/md.yaml"), workers("a", 3, "v1.31.2"));
    assert!(sandbox.read("acme/a/capstan.yaml").starts_with("release: aws/v1.1.0\n"));
    sandbox.repository.commit_all("a is at v1.1.0");
    let plan = sandbox.capstan(&["plan", "acme/a", "-o", "json"]).json(0);
    assert_eq!(
        (&plan[0]["to"], &plan[0]["changes"]),
        (&serde_json::Value::Null, &serde_json::json!([])),
        "{plan}"
    );
}

#[test]
fn a_part_that_changes_under_a_release_is_offered_to_those_who_took_it() {
    let sandbox = fleet_with_shared_parts();
    fs::remove_dir_all(sandbox.at("aws/v1.1.0")).unwrap();
    sandbox.repository.commit_all("v1.1.0 was never meant");
    let plan = sandbox.capstan(&["plan", "acme/a", "-o", "json"]).json(0);
    assert_eq!((&plan[0]["from"], &plan[0]["to"]), (&"aws/v1.0.0".into(), &"aws/v1.0.0".into()), "{plan}");
    let paths: Vec<_> = plan[0]["changes"].as_array().unwrap().iter().map(|change| &change["path"]).collect();
    assert_eq!(paths, ["/spec/replicas", "/spec/template/spec/version"], "{plan}");
}

#[test]
fn a_release_that_is_gone_is_found_with_what_it_read_elsewhere() {
    let sandbox = fleet_with_shared_parts();
    fleet_without_old(&sandbox);
    let plan = sandbox.capstan(&["plan", "acme/a", "-o", "json"]).json(0);
    assert_known(&plan[0]);
    let changes = plan[0]["changes"].as_array().unwrap().len();
    assert_eq!((changes, &plan[0]["conflicts"]), (2, &serde_json::json!([])), "{plan}");
}

#[test]
fn a_recorded_release_that_is_nowhere_is_a_finding_wherever_one_looks() {
    let sandbox = fleet();
    sandbox.write("acme/a/capstan.yaml", "release: aws/v0.9.0\n");
    sandbox.repository.commit_all("a slip of the pen");
    let plan = sandbox.capstan(&["plan", "acme/a", "-o", "json"]).json(3);
    let rules: Vec<_> =
        plan[0]["findings"].as_array().unwrap().iter().map(|finding| &finding["rule"]).collect();
    assert!(rules.contains(&&serde_json::json!("unknown-release")), "{plan}");
    let clusters = sandbox.capstan(&["clusters"]).ended(0).out.clone();
    assert!(
        clusters.contains("recorded at aws/v0.9.0, but no folder and no readable history has that release"),
        "{clusters}"
    );
    let findings = sandbox.capstan(&["validate", "-o", "json"]).json(3);
    assert_eq!(findings[0]["rule"], "unknown-release", "{findings}");
    assert_eq!(findings[0]["file"], "acme/a/capstan.yaml");
}

/// Clusters here, releases there.
fn apart() -> (Sandbox, Sandbox) {
    let gitops = Sandbox::with(&[
        (".capstan.yaml", "releases: {repository: acme/releases}\n"),
        ("acme/a/base/md.yaml", &workers("a", 2, "v1.30.4")),
        ("acme/a/capstan.yaml", "release: aws/v1.0.0\n"),
        ("acme/n/base/md.yaml", &workers("n", 2, "v1.30.4")),
    ]);
    let releases = Sandbox::with(&[
        (".capstan.yaml", "releases: {paths: [\"published/*/v*\"]}\nconsumers: [acme/gitops]\n"),
        ("published/aws/v1.0.0/base/md.yaml", &release("v1.30.4", 2)),
        ("published/aws/v1.1.0/base/md.yaml", &release("v1.31.2", 3)),
        ("drafts/aws/v9.0.0/base/md.yaml", &release("v1.40.0", 3)),
    ]);
    (gitops, releases)
}

#[test]
fn releases_of_another_repository_are_read_from_a_checkout_of_it() {
    let (gitops, releases) = apart();
    gitops.write("acme/a/capstan.yaml", "release: published/aws/v1.0.0\n");
    let there = releases.at("").display().to_string();
    let there = there.as_str();
    let plan = gitops.capstan(&["plan", "acme/a", "--releases", there, "-o", "json"]).json(0);
    assert_eq!(
        (&plan[0]["from"], &plan[0]["to"], &plan[0]["basis"]),
        (&"published/aws/v1.0.0".into(), &"published/aws/v1.1.0".into(), &"known".into())
    );
    let listed = gitops.capstan(&["releases", "--releases", there, "-o", "json"]).json(0);
    let ids: Vec<&str> =
        listed.as_array().unwrap().iter().map(|release| release["release"].as_str().unwrap()).collect();
    assert_eq!(ids, ["published/aws/v1.0.0", "published/aws/v1.1.0"], "that repository's own patterns count");
    let clusters = gitops.capstan(&["clusters", "--releases", there, "-o", "json"]).json(0);
    assert_eq!(clusters[0]["offered"], "published/aws/v1.1.0");
    let adopted = gitops.capstan(&["adopt", "acme/n", "--releases", there, "-o", "json"]).json(0);
    assert_eq!(adopted[0]["release"], "published/aws/v1.0.0");
    let refused = gitops.capstan(&["validate", "--releases", there]).ended(2).err.clone();
    assert!(refused.contains("reads only one repository"), "{refused}");
    gitops.capstan(&["validate"]).ended(0);
    releases.capstan(&["validate"]).ended(0);

    gitops
        .capstan(&["upgrade", "acme/a", "--to", "published/aws/v1.1.0", "--write", "--releases", there])
        .ended(0);
    assert!(gitops.read("acme/a/base/md.yaml").contains("v1.31.2"));
    assert!(gitops.read("acme/a/capstan.yaml").contains(&releases.tree_id("published/aws/v1.1.0")));
}

#[test]
fn an_old_release_is_found_in_the_history_of_its_own_repository() {
    let (gitops, releases) = apart();
    gitops.write("acme/a/capstan.yaml", "release: published/aws/v1.0.0\n");
    fs::remove_dir_all(releases.at("published/aws/v1.0.0")).unwrap();
    releases.repository.commit_all("gone");
    let there = releases.at("").display().to_string();
    let plan = gitops.capstan(&["plan", "acme/a", "--releases", &there, "-o", "json"]).json(0);
    assert_eq!((&plan[0]["from"], &plan[0]["basis"]), (&"published/aws/v1.0.0".into(), &"known".into()));
}

#[test]
fn without_a_checkout_of_the_releases_every_command_about_them_says_so() {
    let (gitops, _) = apart();
    for arguments in [
        &["plan"][..],
        &["upgrade", "acme/a", "--to", "aws/v1.1.0"],
        &["releases"],
        &["clusters"],
        &["adopt"],
    ] {
        gitops.capstan(arguments).refused(
            1,
            "error: .capstan.yaml: the releases are in the repository acme/releases, which was not given: name a \
             checkout of it with --releases DIR",
        );
    }
    gitops.capstan(&["validate"]).ended(0);
    gitops.capstan(&["plan", "--releases", "/nowhere/at/all"]).ended(2);
}
