//! The release-structure proposal's own example.

use serde_json::{Value, json};

use super::{new_record, object};
use capstan_test_parts::sandbox::{Sandbox, without_messages};

const POOL_FILE: &str = "gauss/peu01/base/machinepool.yaml";

/// The proposal's pool, with the objects that it names.
fn pool(replicas: u32, version: &str) -> String {
    format!(
        "\
# peu01, ordered by gauss
apiVersion: cluster.x-k8s.io/v1alpha3
kind: MachinePool
metadata:
  name: peu01-mp-0
  namespace: my-org
spec:
  clusterName: peu01
  replicas: {replicas}   # agreed in spring
  template:
    spec:
      bootstrap:
        configRef:
          apiVersion: bootstrap.cluster.x-k8s.io/v1alpha3
          kind: KubeadmConfig
          name: peu01-mp-0
      clusterName: peu01
      infrastructureRef:
        apiVersion: infrastructure.cluster.x-k8s.io/v1alpha3
        kind: AWSMachinePool
        name: peu01-mp-0
      version: {version}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1alpha3
kind: AWSMachinePool
metadata: {{name: peu01-mp-0, namespace: my-org}}
spec: {{minSize: 1, maxSize: 10}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1alpha3
kind: KubeadmConfig
metadata: {{name: peu01-mp-0, namespace: my-org}}
spec:
  joinConfiguration: {{nodeRegistration: {{name: '{{{{ ds.meta_data.local_hostname }}}}'}}}}
"
    )
}

fn fragment(name: &str, replicas: u32, version: &str) -> String {
    format!(
        "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
data:
  spec:
    replicas: {replicas}
    template:
      spec:
        version: {version}
"
    )
}

fn machine_pool() -> Value {
    object("cluster.x-k8s.io", "MachinePool", Some("my-org"), "peu01-mp-0")
}

fn rendered_pool(replicas: u32, version: &str) -> Value {
    json!([
        {
            "apiVersion": "cluster.x-k8s.io/v1alpha3",
            "kind": "MachinePool",
            "metadata": {"name": "peu01-mp-0", "namespace": "my-org"},
            "spec": {
                "clusterName": "peu01",
                "replicas": replicas,
                "template": {"spec": {
                    "bootstrap": {"configRef": {
                        "apiVersion": "bootstrap.cluster.x-k8s.io/v1alpha3", "kind": "KubeadmConfig", "name": "peu01-mp-0",
                    }},
                    "clusterName": "peu01",
                    "infrastructureRef": {
                        "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha3", "kind": "AWSMachinePool", "name": "peu01-mp-0",
                    },
                    "version": version,
                }},
            },
        },
        {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha3",
            "kind": "AWSMachinePool",
            "metadata": {"name": "peu01-mp-0", "namespace": "my-org"},
            "spec": {"minSize": 1, "maxSize": 10},
        },
        {
            "apiVersion": "bootstrap.cluster.x-k8s.io/v1alpha3",
            "kind": "KubeadmConfig",
            "metadata": {"name": "peu01-mp-0", "namespace": "my-org"},
            "spec": {"joinConfiguration": {"nodeRegistration": {"name": "{{ ds.meta_data.local_hostname }}"}}},
        },
    ])
}

#[test]
fn exactly_the_two_scalars_of_the_fragment_change() {
    let sandbox = Sandbox::with(&[
        ("aws/v21.0.0/base/machinepool.yaml", &fragment("machinepool-21-0-0", 3, "v1.21.4")),
        (POOL_FILE, &pool(2, "v1.16.8")),
    ]);

    // The step from 1.16 to 1.21 skips minors, and no release is between them. Capstan offers it, and reports an error.
    let plan = without_messages(sandbox.capstan(&["plan", "--overwrite", "-o", "json"]).json(3));
    assert_eq!(
        plan,
        json!([{
            "cluster": "gauss/peu01", "from": null, "to": "aws/v21.0.0", "basis": "unknown",
            "files": [
                {"path": POOL_FILE, "action": "modify"},
                {"path": "gauss/peu01/capstan.yaml", "action": "add"},
            ],
            "changes": [
                {"object": machine_pool(), "file": POOL_FILE, "line": 9, "path": "/spec/replicas",
                 "op": "replace", "old": 2, "new": 3, "reason": "release", "origin": null},
                {"object": machine_pool(), "file": POOL_FILE, "line": 22, "path": "/spec/template/spec/version",
                 "op": "replace", "old": "v1.16.8", "new": "v1.21.4", "reason": "release", "origin": null},
            ],
            "conflicts": [
                {"object": machine_pool(), "file": POOL_FILE, "line": 9, "path": "/spec/replicas",
                 "base": null, "cluster": 2, "release": 3, "kept": "release", "blocks": false},
                {"object": machine_pool(), "file": POOL_FILE, "line": 22, "path": "/spec/template/spec/version",
                 "base": null, "cluster": "v1.16.8", "release": "v1.21.4", "kept": "release", "blocks": false},
            ],
            "findings": [{"rule": "kubernetes-minor-skip", "severity": "error", "file": POOL_FILE, "line": 22, "column": 16}],
            "rollouts": [{"object": machine_pool(), "machines": 2, "certainty": "offline",
                          "because": ["/spec/template/spec/version"]}],
            "notes": ["No release has Kubernetes 1.17.", "The step goes from Kubernetes 1.16 to 1.21 and skips the minors between."],
            "source": "release", "values": {"from": null, "to": null},
        }])
    );

    sandbox.capstan(&["upgrade", "gauss/peu01", "--to", "aws/v21.0.0", "--overwrite", "--write"]).ended(3);
    assert_eq!(sandbox.read(POOL_FILE), pool(3, "v1.21.4"));
    let tree = sandbox.tree_id("aws/v21.0.0");
    assert_eq!(sandbox.read("gauss/peu01/capstan.yaml"), new_record("peu01", "aws/v21.0.0", &tree));
    assert_eq!(sandbox.files().len(), 3, "nothing else was written");

    let rendered = sandbox.capstan(&["render", "gauss/peu01", "-o", "json"]).json(0);
    assert_eq!(rendered, rendered_pool(3, "v1.21.4"));
}

#[test]
fn what_the_cluster_set_itself_stays_and_is_reported() {
    let record = "release: aws/v20.0.0\n";
    let sandbox = Sandbox::with(&[
        ("aws/v20.0.0/base/machinepool.yaml", &fragment("machinepool-20-0-0", 2, "v1.20.11")),
        ("aws/v21.0.0/base/machinepool.yaml", &fragment("machinepool-21-0-0", 3, "v1.21.4")),
        (POOL_FILE, &pool(5, "v1.20.11")),
        ("gauss/peu01/capstan.yaml", record),
    ]);

    let plan = sandbox.capstan(&["plan", "gauss/peu01", "-o", "json"]).json(0);
    assert_eq!(
        plan,
        json!([{
            "cluster": "gauss/peu01", "from": "aws/v20.0.0", "to": "aws/v21.0.0", "basis": "known",
            "files": [
                {"path": POOL_FILE, "action": "modify"},
                {"path": "gauss/peu01/capstan.yaml", "action": "modify"},
            ],
            "changes": [
                {"object": machine_pool(), "file": POOL_FILE, "line": 22, "path": "/spec/template/spec/version",
                 "op": "replace", "old": "v1.20.11", "new": "v1.21.4", "reason": "release", "origin": null},
            ],
            "conflicts": [
                {"object": machine_pool(), "file": POOL_FILE, "line": 9, "path": "/spec/replicas",
                 "base": 2, "cluster": 5, "release": 3, "kept": "cluster", "blocks": false},
            ],
            "findings": [],
            "rollouts": [{"object": machine_pool(), "machines": 5, "certainty": "offline",
                          "because": ["/spec/template/spec/version"]}],
            "notes": [], "source": "release", "values": {"from": null, "to": null},
        }])
    );

    let said = sandbox.capstan(&["upgrade", "gauss/peu01", "--to", "aws/v21.0.0", "--write"]);
    said.ended(0);
    assert!(
        said.err.contains("conflict: gauss/peu01/base/machinepool.yaml:9:")
            && said.err.contains("/spec/replicas: the cluster's value is kept"),
        "{}",
        said.err
    );
    assert_eq!(sandbox.read(POOL_FILE), pool(5, "v1.21.4"));
    let tree = sandbox.tree_id("aws/v21.0.0");
    assert_eq!(
        sandbox.read("gauss/peu01/capstan.yaml"),
        format!("release: aws/v21.0.0\nreleaseTree: {tree}\n")
    );
    let rendered = sandbox.capstan(&["render", "gauss/peu01", "-o", "json"]).json(0);
    assert_eq!(rendered, rendered_pool(5, "v1.21.4"));

    // The next plan finds the work done.
    let again = sandbox.capstan(&["plan", "-o", "json"]).json(0);
    assert_eq!((&again[0]["to"], &again[0]["files"]), (&json!(null), &json!([])));
}
