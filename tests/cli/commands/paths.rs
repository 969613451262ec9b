//! `plan --path`: the whole way, in words and as JSON.

use serde_json::json;

use capstan_test_parts::sandbox::Sandbox;

fn release(kubernetes: &str, date: &str, cilium: &str, state: &str) -> String {
    format!(
        "apiVersion: release.giantswarm.io/v1alpha1\nkind: Release\nmetadata: {{name: aws}}\nspec:\n  apps: [{{name: cilium, version: {cilium}}}]\n  \
         components: [{{name: kubernetes, version: {kubernetes}}}]\n  date: \"{date}T12:00:00Z\"\n  state: {state}\n"
    )
}

/// A cluster at `capa/v32.0.0`, and a way of two steps.
fn giant_swarm() -> Sandbox {
    let values = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: dev01-values}\ndata:\n  values: |\n    global: {release: {version: 32.0.0}}\n";
    let app = "apiVersion: application.giantswarm.io/v1alpha1\nkind: App\nmetadata: {name: dev01}\nspec:\n  name: cluster-aws\n  userConfig: {configMap: {name: dev01-values}}\n";
    Sandbox::with(&[
        ("capa/v32.0.0/release.yaml", &release("1.32.4", "2025-09-15", "1.3.0", "active")),
        ("capa/v33.4.0/release.yaml", &release("1.33.6", "2026-06-02", "1.3.2", "active")),
        ("capa/v34.0.0/release.yaml", &release("1.34.3", "2026-01-23", "1.3.1", "active")),
        ("capa/v34.1.0/release.yaml", &release("1.34.4", "2026-07-01", "1.2.9", "active")),
        ("capa/v35.0.0/release.yaml", &release("1.35.0", "2026-08-01", "1.4.0", "wip")),
        (
            "capa/requests.yaml",
            "releases:\n- name: '>= 32.0.0'\n  requests:\n  - {name: cilium, version: '>= 1.3.0'}\n",
        ),
        ("org/dev01/base/values.yaml", values),
        ("org/dev01/base/app.yaml", app),
    ])
}

#[test]
fn the_whole_path_is_shown_step_by_step_with_its_reasons_and_warnings() {
    let said = giant_swarm().capstan(&["plan", "--path"]);
    assert_eq!(
        said.ended(0).out,
        "\
org/dev01  capa/v32.0.0 (Kubernetes 1.32.4, 2025-09-15)
  1. capa/v32.0.0 -> capa/v33.4.0, Kubernetes 1.32.4 -> 1.33.6, 2025-09-15 -> 2026-06-02
     capa/v34.0.0 has Kubernetes 1.34, but 1.33 comes first: one minor at a time. capa/v35.0.0 is wip.
  2. capa/v33.4.0 -> capa/v34.0.0, Kubernetes 1.33.6 -> 1.34.3, 2026-06-02 -> 2026-01-23
     capa/v35.0.0 is wip.
     warning: capa/v34.0.0 is of 2026-01-23, capa/v33.4.0 of 2026-06-02: it goes back in time.
     warning: cilium goes back from 1.3.2 to 1.3.1.
  The cluster is at capa/v34.0.0; the newest release capa/v35.0.0 is not offered, because it is wip.
"
    );
}

#[test]
fn the_way_is_one_object_a_cluster_in_json() {
    let sandbox = giant_swarm();
    sandbox.write("org/dev01/overlay/capstan.yaml", "hold: {reason: audit, until: 2999-12-01}\n");
    let way = sandbox.capstan(&["plan", "org/dev01", "--path", "--to", "33.4.0", "-o", "json"]).json(0);
    assert_eq!(
        way,
        json!([{
            "cluster": "org/dev01", "from": "capa/v32.0.0", "kubernetes": "1.32.4", "date": "2025-09-15",
            "steps": [{
                "from": "capa/v32.0.0", "to": "capa/v33.4.0", "direction": "forward",
                "kubernetes": {"from": "1.32.4", "to": "1.33.6"},
                "date": {"from": "2025-09-15", "to": "2026-06-02"},
                "skips": null, "why": "It was asked for.", "warnings": [],
            }],
            "held": "The overlay holds upgrades back until 2999-12-01: audit.",
            "end": "capa/v33.4.0 was asked for.",
            "notes": [],
        }])
    );
    sandbox
        .capstan(&["plan", "--path", "-o", "diff"])
        .refused(2, "error: `plan --path` prints text, json, yaml or markdown: a path is not a diff");
    sandbox.write("org/dev01/capstan.yaml", "release: capa/v32.0.0\n");
    sandbox.write("org/dev01/base/values.yaml", "apiVersion: v1\nkind: [ConfigMap\n");
    let refused = sandbox.capstan(&["plan", "org/dev01", "--path", "-o", "json"]).json(1);
    assert_eq!(refused[0]["error"]["file"], "org/dev01/base/values.yaml");
}

/// `capa/v34.1.0` lacks what is asked of it, and the older minor before it is younger.
#[test]
fn what_is_wrong_with_a_step_is_a_finding_of_its_plan() {
    let sandbox = giant_swarm();
    let findings = |arguments: &[&str], code: i32| {
        let plan = sandbox.capstan(&[&["plan", "org/dev01", "-o", "json"], arguments].concat()).json(code);
        let findings = plan[0]["findings"].as_array().unwrap().clone();
        findings.iter().map(|finding| finding["rule"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(findings(&[], 0), [""; 0]);
    assert_eq!(
        findings(&["--to", "34.1.0"], 3),
        ["release-breaks-requests", "component-downgrade", "kubernetes-minor-skip"]
    );
    let tree = sandbox.tree_id("capa/v33.4.0");
    sandbox.write("org/dev01/capstan.yaml", &format!("release: capa/v33.4.0\nreleaseTree: {tree}\n"));
    let values = sandbox.read("org/dev01/base/values.yaml").replace("32.0.0", "33.4.0");
    sandbox.write("org/dev01/base/values.yaml", &values);
    assert_eq!(findings(&[], 3), ["component-downgrade", "release-goes-back-in-time"]);
    let validated = sandbox.capstan(&["validate"]);
    let line = "warning[release-breaks-requests] capa/requests.yaml:4:5: capa/v34.1.0 does not meet the requests: cilium is 1.2.9";
    assert!(validated.ended(0).out.contains(line), "{}", validated.out);
}
