//! A topology cluster: one `Cluster` object carries version, variables and workers.

use serde_json::json;

use super::object;
use capstan_test_parts::sandbox::Sandbox;

const FILE: &str = "scs/edge/base/cluster.yaml";

fn release(version: &str, etcd: &str, new_variable: &str) -> String {
    format!(
        "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: ${{CLUSTER_NAME}}
spec:
  clusterNetwork:
    pods:
      cidrBlocks: [192.168.0.0/16]
  topology:
    class: quick-start
    version: {version}
    controlPlane:
      replicas: 3
    variables:
    - name: etcdImageTag
      value: {etcd}
    - name: podSecurityStandard
      value: {{enabled: true, enforce: baseline}}
{new_variable}    workers:
      machineDeployments:
      - class: default-worker
        name: md-0
        replicas: 2
"
    )
}

fn cluster(version: &str, etcd: &str, new_variable: &str) -> String {
    format!(
        "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: edge
  namespace: scs
  labels: {{region: north}}
spec:
  clusterNetwork:
    pods:
      cidrBlocks: [10.200.0.0/16]
  topology:
    class: quick-start
    version: {version}   # see the calendar before you move this
    controlPlane:
      replicas: 3
    variables:
    # the customer's own, first
    - name: httpProxy
      value: http://proxy.scs.example:3128
    - name: podSecurityStandard
      value:
        enabled: true
        enforce: restricted
    - name: etcdImageTag
      value: {etcd}
{new_variable}    workers:
      machineDeployments:
      - class: gpu-worker
        name: gpu
        replicas: 1
      - class: default-worker
        name: md-0
        replicas: 6
"
    )
}

#[test]
fn the_version_moves_and_the_customers_variables_and_workers_stay() {
    let audit = "    - name: auditPolicy\n      value: metadata\n";
    let sandbox = Sandbox::with(&[
        ("docker/v1.0.0/base/cluster.yaml", &release("v1.30.4", "3.5.12-0", "")),
        ("docker/v1.1.0/base/cluster.yaml", &release("v1.31.2", "3.5.15-0", audit)),
        (FILE, &cluster("v1.30.4", "3.5.12-0", "")),
        ("scs/edge/capstan.yaml", "# ours\nrelease: docker/v1.0.0 # taken in May\n"),
    ]);
    let id = object("cluster.x-k8s.io", "Cluster", Some("scs"), "edge");

    let plan = sandbox.capstan(&["plan", "--all", "-o", "json"]).json(0);
    assert_eq!(
        plan,
        json!([{
            "cluster": "scs/edge", "from": "docker/v1.0.0", "to": "docker/v1.1.0", "basis": "known",
            "files": [
                {"path": FILE, "action": "modify"},
                {"path": "scs/edge/capstan.yaml", "action": "modify"},
            ],
            "changes": [
                {"object": id, "file": FILE, "line": 13, "path": "/spec/topology/version",
                 "op": "replace", "old": "v1.30.4", "new": "v1.31.2", "reason": "release", "origin": null},
                {"object": id, "file": FILE, "line": 25, "path": "/spec/topology/variables/2/value",
                 "op": "replace", "old": "3.5.12-0", "new": "3.5.15-0", "reason": "release", "origin": null},
                {"object": id, "file": FILE, "line": null, "path": "/spec/topology/variables/-",
                 "op": "add", "old": null, "new": {"name": "auditPolicy", "value": "metadata"}, "reason": "release", "origin": null},
            ],
            "conflicts": [],
            "findings": [],
            "rollouts": [{"object": id, "machines": 10, "certainty": "offline", "because": ["/spec/topology/version"]}],
            "notes": [], "source": "release", "values": {"from": null, "to": null},
        }])
    );

    sandbox.capstan(&["upgrade", "scs/edge", "--to", "docker/v1.1.0", "--write"]).ended(0);
    // The new variable is at the same place as in the release: after podSecurityStandard.
    let expected = cluster("v1.31.2", "3.5.15-0", "")
        .replace("        enforce: restricted\n", &format!("        enforce: restricted\n{audit}"));
    assert_eq!(sandbox.read(FILE), expected);
    let tree = sandbox.tree_id("docker/v1.1.0");
    assert_eq!(
        sandbox.read("scs/edge/capstan.yaml"),
        format!("# ours\nrelease: docker/v1.1.0 # taken in May\nreleaseTree: {tree}\n")
    );

    let rendered = sandbox.capstan(&["render", "scs/edge", "-o", "json"]).json(0);
    assert_eq!(
        rendered,
        json!([{
            "apiVersion": "cluster.x-k8s.io/v1beta1",
            "kind": "Cluster",
            "metadata": {"name": "edge", "namespace": "scs", "labels": {"region": "north"}},
            "spec": {
                "clusterNetwork": {"pods": {"cidrBlocks": ["10.200.0.0/16"]}},
                "topology": {
                    "class": "quick-start",
                    "version": "v1.31.2",
                    "controlPlane": {"replicas": 3},
                    "variables": [
                        {"name": "httpProxy", "value": "http://proxy.scs.example:3128"},
                        {"name": "podSecurityStandard", "value": {"enabled": true, "enforce": "restricted"}},
                        {"name": "auditPolicy", "value": "metadata"},
                        {"name": "etcdImageTag", "value": "3.5.15-0"},
                    ],
                    "workers": {"machineDeployments": [
                        {"class": "gpu-worker", "name": "gpu", "replicas": 1},
                        {"class": "default-worker", "name": "md-0", "replicas": 6},
                    ]},
                },
            },
        }])
    );
}
