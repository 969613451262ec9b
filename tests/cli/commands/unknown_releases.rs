//! `upgrade.whenReleaseUnknown`: what happens to a cluster without a recorded release.

use serde_json::json;

use super::{release, workers};
use capstan_test_parts::sandbox::Sandbox;

/// Two releases, and a cluster that is the first, without a record.
fn unrecorded(mode: &str) -> Sandbox {
    let with_pause =
        |version: &str, replicas: u32| format!("{}  paused: false\n", release(version, replicas));
    Sandbox::with(&[
        (".capstan.yaml", &format!("upgrade: {{whenReleaseUnknown: {mode}}}\n")),
        ("aws/v1.0.0/base/md.yaml", &with_pause("v1.30.4", 2)),
        ("aws/v1.1.0/base/md.yaml", &release("v1.31.2", 3)),
        ("acme/a/base/md.yaml", &format!("{}  paused: false\n", workers("a", 2, "v1.30.4"))),
    ])
}

const PLAN: [&str; 6] = ["plan", "acme/a", "--to", "aws/v1.1.0", "-o", "json"];

#[test]
fn infer_finds_the_release_still_in_the_tree_and_applies_its_removals() {
    let plan = unrecorded("infer").capstan(&PLAN).json(0);
    assert_eq!(plan[0]["basis"], "inferred");
    assert_eq!(plan[0]["from"], "aws/v1.0.0");
    let paths: Vec<_> = plan[0]["changes"].as_array().unwrap().iter().map(|change| &change["path"]).collect();
    assert!(paths.contains(&&json!("/spec/paused")), "{paths:?}");
}

#[test]
fn an_edited_value_is_lost_only_if_the_command_names_it() {
    let sandbox = unrecorded("infer");
    let edited = |version: &str, replicas: u32| {
        workers("a", replicas, version).replace("replicas: 5", "replicas: 5 # Black Friday")
    };
    let file = "acme/a/base/md.yaml";
    sandbox.write(file, &edited("v1.30.4", 5));
    let upgrade = ["upgrade", "acme/a", "--to", "aws/v1.1.0", "--write"];
    let kept = sandbox.capstan(&upgrade);
    kept.ended(0);
    assert_eq!(sandbox.read(file), edited("v1.31.2", 5));
    assert!(
        kept.err.contains("/spec/replicas: the cluster has 5, the release 3: the cluster's value is kept")
            && kept.err.contains("`--overwrite=/spec/replicas` takes the release's value of one"),
        "{}",
        kept.err
    );

    let sandbox = unrecorded("infer");
    sandbox.write(file, &edited("v1.30.4", 5));
    let refused = sandbox.capstan(&["upgrade", "--overwrite", "acme/a", "--to", "aws/v1.1.0", "--write"]);
    assert!(refused.ended(2).err.contains("a field's path begins with `/`"));
    let named = [&upgrade[..], &["--overwrite", "/spec/replicas"]].concat();
    let taken = sandbox.capstan(&named);
    taken.ended(0);
    assert_eq!(sandbox.read(file), edited("v1.31.2", 3).replace("replicas: 3", "replicas: 3 # Black Friday"));
    assert!(taken.err.contains("the release's value is taken"), "{}", taken.err);
}

#[test]
fn overwrite_does_not_look_and_removes_nothing() {
    let plan = unrecorded("overwrite").capstan(&PLAN).json(0);
    assert_eq!(plan[0]["basis"], "unknown");
    assert_eq!(plan[0]["from"], json!(null));
    let ops: Vec<_> = plan[0]["changes"].as_array().unwrap().iter().map(|change| &change["op"]).collect();
    assert!(!ops.is_empty() && ops.iter().all(|op| **op == "replace"), "{ops:?}");
}

#[test]
fn block_writes_nothing_and_says_what_to_record() {
    let sandbox = unrecorded("block");
    let before = sandbox.files();
    let plan = sandbox.capstan(&PLAN);
    assert_eq!(plan.json(3)[0]["files"], json!([]));
    let upgrade = sandbox.capstan(&["upgrade", "acme/a", "--to", "aws/v1.1.0", "--write"]);
    assert!(upgrade.ended(3).err.contains("whenReleaseUnknown"), "{}", upgrade.err);
    assert_eq!(sandbox.files(), before);
}
