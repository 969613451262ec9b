//! What lists and prints: releases, clusters, schema, rules, completions, render, diff.

use serde_json::{Value, json};

use super::{fleet, workers};

#[test]
fn releases_and_clusters_are_tables_and_json() {
    let sandbox = fleet();
    let out = &sandbox.capstan(&["releases"]).ended(0).out.clone();
    let rows: Vec<Vec<&str>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        rows,
        [
            vec!["RELEASE", "STATE", "KUBERNETES", "DATE", "FOLDER"],
            vec!["aws/v1.0.0", "active", "v1.30.4", "-", "aws/v1.0.0"],
            vec!["aws/v1.1.0", "active", "v1.31.2", "-", "aws/v1.1.0"],
        ]
    );
    let releases = sandbox.capstan(&["releases", "-o", "json"]).json(0);
    assert_eq!(
        releases[1],
        json!({"release": "aws/v1.1.0", "folder": "aws/v1.1.0", "tree": sandbox.tree_id("aws/v1.1.0"),
               "state": "active", "kubernetes": "v1.31.2", "date": null, "components": [], "apps": []})
    );
    let clusters = sandbox.capstan(&["clusters", "-o", "json"]).json(0);
    assert_eq!(clusters[0]["cluster"], "acme/a");
    assert_eq!(clusters[0]["release"], "aws/v1.0.0");
    assert_eq!(clusters[0]["offered"], "aws/v1.1.0");
    assert!(sandbox.capstan(&["clusters"]).ended(0).out.contains("acme/b   aws/v1.0.0  aws/v1.1.0"));
}

#[test]
fn what_blocks_is_not_offered() {
    let sandbox = fleet();
    sandbox.write(".capstan.yaml", "upgrade: {conflicts: block}\n");
    sandbox.write("acme/a/base/md.yaml", &workers("a", 5, "v1.30.4"));
    let clusters = sandbox.capstan(&["clusters", "-o", "json"]).json(0);
    let of = |at: usize| [&clusters[at]["offered"], &clusters[at]["blocked"]];
    assert_eq!(of(0), [&json!(null), &json!("aws/v1.1.0")], "{clusters}");
    assert_eq!(of(1), [&json!("aws/v1.1.0"), &json!(null)], "{clusters}");
    let note = clusters[0]["notes"][0].as_str().unwrap();
    assert!(note.starts_with("Its upgrade to aws/v1.1.0 is blocked. "), "{note}");
    let table = sandbox.capstan(&["clusters"]).ended(0).out.clone();
    assert!(
        table.contains("acme/a   aws/v1.0.0  -           Its upgrade to aws/v1.1.0 is blocked."),
        "{table}"
    );
}

#[test]
fn the_schema_compiles_and_accepts_the_settings_of_the_contract() {
    let schema = fleet().capstan(&["schema"]).json(0);
    let validator = jsonschema::validator_for(&schema).unwrap();
    let settings = json!({
        "mode": "propose",
        "releases": {"paths": ["aws/v*", "capa/archived/v*"], "repository": "acme/releases"},
        "clusters": {"paths": ["*/*"], "base": "base", "overlay": "overlay",
                     "rules": [{"match": "gauss/*", "track": "minor", "provider": "aws"}],
                     "overlayKinds": [{"group": "helm.toolkit.fluxcd.io", "kinds": ["HelmRelease"]}, {"group": ""}],
                     "oneOwner": ["gauss/*"]},
        "managementClusters": [{"name": "mc-eu", "uid": "6f1c", "clusters": ["gauss/*"]}],
        "upgrade": {
            "conflicts": "keep", "whenReleaseUnknown": "infer",
            "fields": [{"kind": "MachineDeployment", "path": "/spec/replicas", "owner": "cluster"}],
            "proposals": {"open": 20, "perHour": 20, "order": ["*/canary*", "*"]},
        },
        "policy": {"component-downgrade": "error"},
        "preflight": {"mode": "advisory", "timeout_seconds": 60},
        "consumers": [],
        "commands": {"prefix": "/capstan"},
    });
    assert!(validator.is_valid(&settings), "{:?}", validator.iter_errors(&settings).next());
    for wrong in [json!({"mod": "propose"}), json!({"mode": "obey"}), json!({"upgrade": {"conflicts": 1}})] {
        assert!(!validator.is_valid(&wrong), "{wrong}");
    }
}

#[test]
fn rules_are_listed_and_explained() {
    let sandbox = fleet();
    let list = sandbox.capstan(&["rules", "-o", "json"]).json(0);
    let severity = |id: &str| {
        let found = list.as_array().unwrap().iter().find(|rule| rule["id"] == id);
        found.unwrap_or_else(|| panic!("no rule {id}"))["severity"].clone()
    };
    for error in [
        "overlay-loses-target",
        "overlay-names-template",
        "component-downgrade",
        "kubernetes-minor-skip",
        "kubernetes-downgrade",
        "step-group-split",
        "removes-cluster",
        "ambiguous-match",
        "unbound-variable",
        "template-edited-in-place",
        "removes-machines",
        "edit-refused",
    ] {
        assert_eq!(severity(error), "error", "{error}");
    }
    for warning in [
        "release-record-differs",
        "overlay-hides-change",
        "unknown-template",
        "rollout-without-change",
        "unmatched-fragment",
    ] {
        assert_eq!(severity(warning), "warning", "{warning}");
    }
    let page = sandbox.capstan(&["rules", "kubernetes-minor-skip"]);
    for part in [
        "# kubernetes-minor-skip\n\nSeverity: error\n\nPage: docs/rules/kubernetes-minor-skip.md\n",
        "\nSource: <https://kubernetes.io/releases/version-skew-policy/",
        "Bad (before)",
        "Good (after)",
        "spec:\n  version: v1.31.0 # <--\n```\n",
    ] {
        assert!(page.ended(0).out.contains(part), "{part}: {}", page.out);
    }
}

#[test]
fn completions_for_three_shells() {
    for shell in ["bash", "zsh", "fish"] {
        let said = fleet().capstan(&["completions", shell]);
        assert!(said.ended(0).out.contains("capstan") && said.out.contains("validate"), "{shell}");
    }
}

#[test]
fn base_and_overlay_are_rendered_together() {
    let sandbox = fleet();
    sandbox.write(
        "acme/a/overlay/replicas.yaml",
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata: {name: a-md-0, namespace: acme}\nspec: {replicas: 9}\n",
    );
    let rendered = sandbox.capstan(&["render", "acme/a", "-o", "json"]).json(0);
    let expected = json!([{
        "apiVersion": "cluster.x-k8s.io/v1beta1",
        "kind": "MachineDeployment",
        "metadata": {"name": "a-md-0", "namespace": "acme"},
        "spec": {"replicas": 9, "clusterName": "a", "template": {"spec": {"version": "v1.30.4", "clusterName": "a"}}},
    }]);
    assert_eq!(rendered, expected);
    assert_eq!(
        sandbox.capstan(&["render", "acme/a"]).ended(0).out,
        format!(
            "---\n{}",
            workers("a", 9, "v1.30.4")
                .replace(
                    "metadata: {name: a-md-0, namespace: acme}",
                    "metadata:\n  name: a-md-0\n  namespace: acme"
                )
                .replace("\"a\"", "a")
        )
    );
    // Of the commit, the overlay is not part.
    let committed = sandbox.capstan(&["render", "acme/a", "--at", "HEAD", "-o", "json"]).json(0);
    assert_eq!(committed[0]["spec"]["replicas"], 2);
}

#[test]
fn a_lost_patch_is_named_and_the_exit_code_says_so() {
    let sandbox = fleet();
    sandbox.write("acme/a/overlay/kustomization.yaml", "patches:\n- path: gone.yaml\n");
    sandbox.write("acme/a/overlay/gone.yaml", &workers("gone", 9, "v1.30.4"));
    let said = sandbox.capstan(&["render", "acme/a", "-o", "json"]);
    let rendered = said.json(3);
    assert_eq!(rendered[0]["spec"]["replicas"], 2);
    assert!(said.err.starts_with("error[overlay-loses-target] acme/a/overlay/gone.yaml:1:"), "{}", said.err);
    assert!(said.err.contains("gone"), "{}", said.err);
}

#[test]
fn a_diff_of_two_commits_speaks_of_fields() {
    let sandbox = fleet();
    sandbox.write(
        "acme/a/base/md.yaml",
        &workers("a", 4, "v1.30.4").replace("replicas: 4", "replicas:   4 # four"),
    );
    let said: Value = sandbox.capstan(&["diff", "acme/a", "--from", "HEAD", "-o", "json"]).json(0);
    assert_eq!(
        said,
        json!([{"object": {"group": "cluster.x-k8s.io", "kind": "MachineDeployment", "namespace": "acme", "name": "a-md-0"},
                "path": "/spec/replicas", "old": 2, "new": 4}])
    );
    assert_eq!(sandbox.capstan(&["diff", "acme/b", "--from", "HEAD", "-o", "json"]).json(0), json!([]));
}
