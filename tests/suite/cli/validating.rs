//! `validate`: findings with places, over the tree or below paths, and between two commits.

use serde_json::json;

use super::{fleet, workers};

#[test]
fn a_good_tree_has_no_findings() {
    let sandbox = fleet();
    let said = sandbox.capstan(&["validate"]);
    assert_eq!(said.ended(0).out, "0 error(s), 0 warning(s); looked at 2 cluster(s), 2 release(s)\n");
    assert_eq!(sandbox.capstan(&["validate", "-o", "json"]).json(0), json!([]));
}

#[test]
fn what_is_wrong_has_its_place_and_paths_narrow_it() {
    let sandbox = fleet();
    sandbox.write("acme/a/base/broken.yaml", "kind: MachineDeployment\nmetadata: [\n");
    sandbox.write("acme/b/capstan.yaml", "release: aws/v1.0.0\ntrak: minor\n");
    let findings = sandbox.capstan(&["validate", "-o", "json"]).json(3);
    let told: Vec<_> = findings
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| (finding["rule"].as_str().unwrap(), finding["file"].as_str().unwrap()))
        .collect();
    assert_eq!(
        told,
        [("invalid-yaml", "acme/a/base/broken.yaml"), ("invalid-settings", "acme/b/capstan.yaml")]
    );
    assert_eq!((&findings[1]["line"], &findings[1]["column"]), (&json!(2), &json!(1)));
    let keys: Vec<&str> = findings[0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["rule", "severity", "message", "file", "line", "column"]);

    let said = sandbox.capstan(&["validate", "acme/b"]);
    assert!(
        said.ended(3).out.starts_with("error[invalid-settings] acme/b/capstan.yaml:2:1: "),
        "{}",
        said.out
    );
    sandbox.capstan(&["validate", "acme/b/base/", "./aws"]).ended(0);
    // Settings that cannot be used are a finding here, not a failure.
    sandbox.write(".capstan.yaml", "mod: propose\n");
    let said = sandbox.capstan(&["validate"]);
    assert!(said.ended(3).out.starts_with("error[invalid-settings] .capstan.yaml:1:1: "), "{}", said.out);
}

#[test]
fn settings_turn_rules_down() {
    let sandbox = fleet();
    sandbox.write("acme/a/overlay/kustomization.yaml", "patches:\n- path: gone.yaml\n");
    sandbox.write("acme/a/overlay/gone.yaml", &workers("gone", 9, "v1.30.4"));
    sandbox.capstan(&["validate"]).ended(3);
    sandbox.write(".capstan.yaml", "policy: {overlay-loses-target: warning}\n");
    let findings = sandbox.capstan(&["validate", "-o", "json"]).json(0);
    assert_eq!(
        (&findings[0]["rule"], &findings[0]["severity"]),
        (&json!("overlay-loses-target"), &json!("warning"))
    );
    sandbox.write(".capstan.yaml", "policy: {overlay-loses-target: off}\n");
    assert_eq!(sandbox.capstan(&["validate", "-o", "json"]).json(0), json!([]));
}

#[test]
fn against_a_commit_the_comparing_rules_speak_too() {
    let template = |image: &str| {
        format!(
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: DockerMachineTemplate\n\
             metadata: {{name: a-md-0, namespace: acme}}\nspec: {{template: {{spec: {{customImage: {image}}}}}}}\n"
        )
    };
    let deployment = workers("a", 2, "v1.30.4")
        + "      infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerMachineTemplate, name: a-md-0}\n";
    let sandbox = fleet();
    sandbox.write("acme/a/base/md.yaml", &deployment);
    sandbox.write("acme/a/base/template.yaml", &template("kindest/node:v1.30.4"));
    sandbox.repository.commit_all("with a template");
    sandbox.write("acme/a/base/template.yaml", &template("kindest/node:v1.30.5"));
    assert_eq!(sandbox.capstan(&["validate", "-o", "json"]).json(0), json!([]), "one tree alone is fine");

    let findings = sandbox.capstan(&["validate", "--from", "HEAD", "-o", "json"]).json(3);
    let told: Vec<_> = findings
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| json!([finding["rule"], finding["severity"], finding["file"], finding["line"]]))
        .collect();
    assert_eq!(told, [json!(["template-edited-in-place", "error", "acme/a/base/template.yaml", 4])]);

    // The deployment itself goes: machines are lost.
    std::fs::remove_file(sandbox.at("acme/a/base/md.yaml")).unwrap();
    sandbox.write("acme/a/base/template.yaml", &template("kindest/node:v1.30.4"));
    let said = sandbox.capstan(&["validate", "acme/a", "--from", "HEAD"]);
    assert!(said.ended(3).out.contains("error[removes-machines] acme/a/base/md.yaml"), "{}", said.out);
}
