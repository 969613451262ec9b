//! `adopt`: which release a base comes from, how well, and the record.

use super::{release, workers};
use capstan_test_parts::sandbox::Sandbox;

/// Three releases; `acme/a` is the second, edited in one field; `acme/b` records its release.
fn town() -> Sandbox {
    let with_more = |version: &str, replicas: u32, drain: u32| {
        format!(
            "{}  minReadySeconds: {drain}\n  revisionHistoryLimit: 2\n  paused: false\n",
            release(version, replicas)
        )
    };
    let mine = format!(
        "{}  minReadySeconds: 20\n  revisionHistoryLimit: 2\n  paused: false\n",
        workers("a", 7, "v1.31.2")
    );
    Sandbox::with(&[
        ("aws/archived/v1.0.0/base/md.yaml", &with_more("v1.30.4", 2, 10)),
        ("aws/v1.1.0/base/md.yaml", &with_more("v1.31.2", 3, 20)),
        ("aws/v1.2.0/base/md.yaml", &with_more("v1.32.0", 3, 30)),
        ("acme/a/base/md.yaml", &mine),
        ("acme/b/base/md.yaml", &workers("b", 2, "v1.30.4")),
        ("acme/b/capstan.yaml", "release: aws/v1.0.0\n"),
    ])
}

#[test]
fn the_release_that_fits_best_is_found_and_its_fit_is_reported() {
    let sandbox = town();
    let answer = sandbox.capstan(&["adopt", "-o", "json"]).json(0);
    let tree = sandbox.tree_id("aws/v1.1.0");
    // apiVersion, replicas (edited), version, minReadySeconds, revisionHistoryLimit, paused.
    assert_eq!(
        answer[0],
        serde_json::json!({
            "cluster": "acme/a", "outcome": "fits", "recorded": null, "release": "aws/v1.1.0", "releaseTree": tree,
            "fit": {"equal": 5, "differing": 1, "missing": 0, "percent": 83},
            "file": "acme/a/capstan.yaml", "reason": null,
            "candidates": [
                {"release": "aws/v1.1.0", "releaseTree": tree,
                 "fit": {"equal": 5, "differing": 1, "missing": 0, "percent": 83}},
                {"release": "aws/v1.0.0", "releaseTree": sandbox.tree_id("aws/archived/v1.0.0"),
                 "fit": {"equal": 3, "differing": 3, "missing": 0, "percent": 50}},
                {"release": "aws/v1.2.0", "releaseTree": sandbox.tree_id("aws/v1.2.0"),
                 "fit": {"equal": 3, "differing": 3, "missing": 0, "percent": 50}},
            ],
        })
    );
    assert_eq!(answer[1]["outcome"], "recorded");
    assert_eq!(answer[1]["recorded"], "aws/v1.0.0");
    assert_eq!(answer[1]["release"], serde_json::Value::Null);

    let text = sandbox.capstan(&["adopt"]).ended(0).out.clone();
    assert_eq!(
        text,
        "\
acme/a  aws/v1.1.0  has 83% of its fields: 5 equal, 1 differing, 0 missing
    next best: aws/v1.0.0, 50% of its fields: 3 equal, 3 differing, 0 missing
acme/b  Its release is recorded already: aws/v1.0.0.
"
    );
}

#[test]
fn only_write_writes_and_then_the_next_upgrade_knows_the_old_release() {
    let sandbox = town();
    let before = sandbox.files();
    sandbox.capstan(&["adopt", "acme/a"]).ended(0);
    assert_eq!(sandbox.files(), before);

    let said = sandbox.capstan(&["adopt", "--write"]);
    said.ended(0);
    assert!(said.out.contains("recorded in acme/a/capstan.yaml"), "{}", said.out);
    assert_eq!(
        sandbox.read("acme/a/capstan.yaml"),
        format!(
            "\
apiVersion: capstan.dev/v1alpha1
kind: ClusterSettings
metadata:
  name: a
  annotations:
    config.kubernetes.io/local-config: \"true\"
release: aws/v1.1.0
releaseTree: {}
",
            sandbox.tree_id("aws/v1.1.0")
        )
    );
    assert_eq!(sandbox.read("acme/b/capstan.yaml"), before["acme/b/capstan.yaml"]);
    let plan = sandbox.capstan(&["plan", "acme/a", "-o", "json"]).json(0);
    assert_eq!(plan[0]["basis"], "known");
    let paths: Vec<&str> = plan[0]["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| change["path"].as_str().unwrap())
        .collect();
    assert_eq!(
        paths,
        ["/spec/template/spec/version", "/spec/minReadySeconds"],
        "replicas are the cluster's own"
    );
    let again = sandbox.capstan(&["adopt", "acme/a", "-o", "json"]).json(0);
    assert_eq!(again[0]["outcome"], "recorded");
}

#[test]
fn a_file_that_exists_is_edited_where_the_record_goes_and_nowhere_else() {
    let sandbox = town();
    sandbox.write("acme/a/capstan.yaml", "# ours\ntrack:   patch # slowly\nvariables: {CLUSTER_NAME: a}\n");
    sandbox.capstan(&["adopt", "acme/a", "--write"]).ended(0);
    let text = sandbox.read("acme/a/capstan.yaml");
    assert!(text.contains("# ours\n") && text.contains("track:   patch # slowly\n"), "{text}");
    assert!(
        text.contains("variables: {CLUSTER_NAME: a}\n") && text.contains("release: aws/v1.1.0\n"),
        "{text}"
    );
}

#[test]
fn equals_are_named_and_not_chosen_between() {
    let sandbox = town();
    sandbox.write("aws/v1.1.1/base/md.yaml", &sandbox.read("aws/v1.1.0/base/md.yaml"));
    let before = sandbox.files();
    let said = sandbox.capstan(&["adopt", "acme/a", "--write"]);
    said.ended(3);
    assert!(
        said.out.starts_with("acme/a  aws/v1.1.0 and aws/v1.1.1 fit equally well (83% of its fields: "),
        "{}",
        said.out
    );
    assert_eq!(sandbox.files(), before);
    let answer = sandbox.capstan(&["adopt", "acme/a", "-o", "json"]).json(3);
    assert_eq!((&answer[0]["outcome"], &answer[0]["release"]), (&"equals".into(), &serde_json::Value::Null));
}

#[test]
fn a_base_that_resembles_no_release_is_left_alone_and_the_figure_is_said() {
    let sandbox = town();
    sandbox.write("acme/c/base/md.yaml", &workers("c", 9, "v1.29.0"));
    sandbox.repository.commit_all("another");
    let said = sandbox.capstan(&["adopt", "--write"]);
    said.ended(3);
    let line = said.out.lines().last().unwrap();
    assert!(
        line.starts_with(
            "acme/c  Even aws/v1.0.0 has only 16% of its fields: 1 equal, 2 differing, 3 missing."
        ),
        "{}",
        said.out
    );
    assert!(said.out.contains("recorded in acme/a/capstan.yaml"), "the others are written: {}", said.out);
    assert!(!sandbox.at("acme/c/capstan.yaml").exists());
}

#[test]
fn an_unreadable_cluster_is_reported_and_the_others_are_done() {
    let sandbox = town();
    sandbox.write("acme/a/base/broken.yaml", "a: [\n");
    sandbox
        .write("acme/d/base/md.yaml", &sandbox.read("acme/a/base/md.yaml").replace("name: a-", "name: d-"));
    let answer = sandbox.capstan(&["adopt", "-o", "json"]).json(1);
    assert_eq!(answer[0]["error"]["file"], "acme/a/base/broken.yaml");
    assert_eq!(answer[2]["release"], "aws/v1.1.0");
}

#[test]
fn what_cannot_be_asked_for_is_wrong_usage() {
    let sandbox = town();
    sandbox.capstan(&["adopt", "acme/x"]).ended(2);
    sandbox.capstan(&["adopt", "--write", "--at", "HEAD"]).ended(2);
    sandbox.capstan(&["adopt", "-o", "diff"]).ended(2);
}
