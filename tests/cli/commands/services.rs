//! Services inside clusters: planned, written, created and judged by the binary.

use serde_json::{Value, json};

use capstan_test_parts::sandbox::Sandbox;

const CLAIM: &str =
    "managementClusters:\n- {name: mc-eu, uid: 00000000-0000-4000-8000-000000000001, clusters: ['acme/*']}\n";
const CLUSTER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: \"${CLUSTER_NAME}\", namespace: acme}
spec: {paused: true}
";
const ENTRY: &str = "services:\n- {name: cilium, role: cni, from: {folder: services/cilium}}\n";

fn agent(tag: &str, memory: &str) -> String {
    format!(
        "\
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: cilium, namespace: kube-system}}
spec:
  template:
    spec:
      containers:
      - name: agent
        image: quay.io/cilium/cilium:{tag}
        resources:
          limits:
            memory: {memory}
"
    )
}

/// A cluster whose network somebody gave more memory, and the release that moves it.
fn sandbox(claim: &str) -> Sandbox {
    let (old, new, own) =
        (agent("v1.15.3", "512Mi"), agent("v1.16.0", "512Mi"), agent("v1.15.3", "2Gi # large nodes"));
    Sandbox::with(&[
        (".capstan.yaml", claim),
        ("aws/v1.0.0/base/cluster.yaml", CLUSTER),
        ("aws/v1.0.0/services/cilium/agent.yaml", &old),
        ("aws/v1.0.0/capstan.yaml", ENTRY),
        ("aws/v1.1.0/base/cluster.yaml", CLUSTER),
        ("aws/v1.1.0/services/cilium/agent.yaml", &new),
        ("aws/v1.1.0/capstan.yaml", ENTRY),
        ("acme/a/base/cluster.yaml", &CLUSTER.replace("\"${CLUSTER_NAME}\"", "a")),
        ("acme/a/services/cilium/agent.yaml", &own),
        ("acme/a/capstan.yaml", &format!("release: aws/v1.0.0\n{ENTRY}")),
    ])
}

#[test]
fn a_network_moves_with_its_release_and_what_somebody_edited_stays() {
    let sandbox = sandbox(CLAIM);
    let plan = sandbox.capstan(&["plan", "acme/a", "-o", "json"]).json(0)[0].clone();
    assert_eq!(
        plan["services"],
        json!([{
            "name": "cilium",
            "role": "cni",
            "action": "modify",
            "folder": "services/cilium",
            "from": "1.15.3",
            "to": "1.16.0",
            "settings": [],
            "kept": [{
                "object": {"group": "apps", "kind": "DaemonSet", "namespace": "kube-system", "name": "cilium"},
                "path": "/spec/template/spec/containers/0/resources/limits/memory",
            }],
        }])
    );
    let files: Vec<&Value> = plan["files"].as_array().unwrap().iter().map(|file| &file["path"]).collect();
    assert_eq!(files, ["acme/a/capstan.yaml", "acme/a/services/cilium/agent.yaml"]);
    assert_eq!(plan["changes"][0]["new"], "quay.io/cilium/cilium:v1.16.0");
    let text = sandbox.capstan(&["plan", "acme/a"]);
    assert!(text.ended(0).out.contains("\n    cilium (cni)  1.15.3 -> 1.16.0\n"), "{}", text.out);

    sandbox.capstan(&["upgrade", "acme/a", "--to", "aws/v1.1.0", "--write"]).ended(0);
    assert_eq!(sandbox.read("acme/a/services/cilium/agent.yaml"), agent("v1.16.0", "2Gi # large nodes"));
    let again = sandbox.capstan(&["plan", "acme/a", "-o", "json"]).json(0)[0].clone();
    assert_eq!((&again["to"], again.get("services")), (&Value::Null, None));
}

#[test]
fn a_cluster_that_nobody_claims_gets_a_finding_and_no_services() {
    let sandbox = sandbox("mode: propose\n");
    let plan = sandbox.capstan(&["plan", "acme/a", "-o", "json"]).json(0)[0].clone();
    assert_eq!(plan.get("services"), None);
    let files: Vec<&Value> = plan["files"].as_array().unwrap().iter().map(|file| &file["path"]).collect();
    assert_eq!(files, ["acme/a/capstan.yaml"]);
    let finding = &plan["findings"][0];
    assert_eq!(
        (&finding["rule"], &finding["severity"], &finding["file"], &finding["line"]),
        (&json!("services-not-claimed"), &json!("warning"), &json!("acme/a/capstan.yaml"), &json!(2))
    );
    let judged = sandbox.capstan(&["validate", "-o", "json"]).json(0);
    assert_eq!(judged[0]["rule"], "services-not-claimed", "{judged}");
}

#[test]
fn a_new_cluster_comes_with_the_services_of_its_release() {
    let sandbox = sandbox(CLAIM);
    let made = ["create", "acme/b", "--from", "aws/v1.1.0", "--set", "CLUSTER_NAME=b", "--write"];
    sandbox.capstan(&made).ended(0);
    assert_eq!(sandbox.read("acme/b/services/cilium/agent.yaml"), agent("v1.16.0", "512Mi"));
    let record = sandbox.read("acme/b/capstan.yaml");
    assert!(record.contains("services:\n- name: cilium\n  role: cni\n"), "{record}");
    sandbox.repository.commit_all("made");
    assert_eq!(sandbox.capstan(&["validate", "acme/b", "-o", "json"]).json(0), json!([]));
}

#[test]
fn invalid_services_are_reported_with_their_line() {
    let sandbox = sandbox(CLAIM);
    sandbox.write(
        "acme/a/capstan.yaml",
        &format!(
            "release: aws/v1.0.0\n{ENTRY}- {{name: dns, from: {{folder: services/dns}}, after: [cilum]}}\n"
        ),
    );
    sandbox.write("acme/a/overlay/capstan.yaml", "services: [{name: cilium, enabled: false}]\n");
    // The overlay's files for a service are not part of the base's render. They are judged with the service.
    sandbox.write("acme/a/overlay/services/cilium/more.yaml", "metadata: {name: cilium}\n");
    let judged = sandbox.capstan(&["validate", "acme/a", "-o", "json"]).json(3);
    let told: Vec<String> = judged
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            format!("{} {}:{}", one["rule"].as_str().unwrap(), one["file"].as_str().unwrap(), one["line"])
        })
        .collect();
    assert_eq!(
        told[..3],
        [
            "invalid-services acme/a/capstan.yaml:4",
            "invalid-services acme/a/capstan.yaml:4",
            "invalid-services acme/a/overlay/capstan.yaml:1",
        ],
        "{judged}"
    );
    assert!(told[3].starts_with("render-failed acme/a/overlay/services/cilium/more.yaml:"), "{told:?}");
}
