//! A kubeadm control plane, workers and machine templates of the Docker provider: the release moves
//! version and image together, so templates come under new names and machines are replaced.

use serde_json::json;

use super::{new_record, object};
use capstan_test_parts::sandbox::Sandbox;

const CONTROL_PLANE_FILE: &str = "acme/web/base/control-plane.yaml";
const WORKERS_FILE: &str = "acme/web/base/workers.yaml";
/// By the canonical JSON of the new specs, worked out apart.
const NEW_CONTROL_PLANE: &str = "web-control-plane-e051e7b2";
const NEW_WORKERS: &str = "web-md-0-970666a6";

/// What the platform team publishes: whole objects with variables, workers before the control plane.
fn release(version: &str) -> String {
    format!(
        "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata:
  name: ${{CLUSTER_NAME}}-md-0
spec:
  clusterName: ${{CLUSTER_NAME}}
  replicas: ${{WORKERS:=2}}
  template:
    spec:
      clusterName: ${{CLUSTER_NAME}}
      version: {version}
      bootstrap:
        configRef: {{apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfigTemplate, name: \"${{CLUSTER_NAME}}-md-0\"}}
      infrastructureRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerMachineTemplate, name: \"${{CLUSTER_NAME}}-md-0\"}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DockerMachineTemplate
metadata:
  name: ${{CLUSTER_NAME}}-md-0
spec:
  template:
    spec:
      customImage: kindest/node:{version}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfigTemplate
metadata:
  name: ${{CLUSTER_NAME}}-md-0
spec:
  template:
    spec:
      joinConfiguration:
        nodeRegistration:
          kubeletExtraArgs: {{eviction-hard: 'nodefs.available<5%'}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata:
  name: ${{CLUSTER_NAME}}-control-plane
spec:
  replicas: 3
  version: {version}
  machineTemplate:
    infrastructureRef:
      apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
      kind: DockerMachineTemplate
      name: ${{CLUSTER_NAME}}-control-plane
  kubeadmConfigSpec:
    clusterConfiguration:
      apiServer:
        certSANs: [localhost, 127.0.0.1]
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DockerMachineTemplate
metadata:
  name: ${{CLUSTER_NAME}}-control-plane
spec:
  template:
    spec:
      customImage: kindest/node:{version}
      extraMounts:
      - containerPath: /var/run/docker.sock
        hostPath: /var/run/docker.sock
"
    )
}

/// As a person keeps it: own order, own comments, a SAN of its own, quotes.
fn control_plane(version: &str, template: &str) -> String {
    format!(
        "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata:
  name: web-control-plane
  namespace: acme
spec:
  version: \"{version}\"
  replicas: 3
  kubeadmConfigSpec:
    clusterConfiguration:
      apiServer:
        certSANs:
        - localhost
        - 127.0.0.1
        - api.web.acme.example   # the customer's
  machineTemplate:
    infrastructureRef:
      apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
      kind: DockerMachineTemplate
      name: {template}
---
# mounts the socket for CAPD itself
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DockerMachineTemplate
metadata:
  name: web-control-plane
  namespace: acme
spec:
  template:
    spec:
      customImage: kindest/node:v1.30.4
      extraMounts:
      - containerPath: /var/run/docker.sock
        hostPath: /var/run/docker.sock
"
    )
}

fn workers(version: &str, template: &str) -> String {
    format!(
        "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata:
  name: web-md-0
  namespace: acme
spec:
  clusterName: web
  replicas: 4
  template:
    spec:
      clusterName: web
      version: {version}
      bootstrap:
        configRef:
          apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
          kind: KubeadmConfigTemplate
          name: web-md-0
      infrastructureRef:
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
        kind: DockerMachineTemplate
        name: {template}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DockerMachineTemplate
metadata:
  name: web-md-0
  namespace: acme
spec:
  template:
    spec:
      customImage: kindest/node:v1.30.4
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfigTemplate
metadata:
  name: web-md-0
  namespace: acme
spec:
  template:
    spec:
      joinConfiguration:
        nodeRegistration:
          kubeletExtraArgs: {{eviction-hard: 'nodefs.available<5%', node-labels: tier=web}}
"
    )
}

const ADDED_CONTROL_PLANE: &str = "\
---
# mounts the socket for CAPD itself
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DockerMachineTemplate
metadata:
  name: web-control-plane-e051e7b2
  namespace: acme
spec:
  template:
    spec:
      customImage: kindest/node:v1.31.2
      extraMounts:
      - containerPath: /var/run/docker.sock
        hostPath: /var/run/docker.sock
";
const ADDED_WORKERS: &str = "\
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DockerMachineTemplate
metadata:
  name: web-md-0-970666a6
  namespace: acme
spec:
  template:
    spec:
      customImage: kindest/node:v1.31.2
";

#[test]
fn version_and_image_move_together_and_templates_get_new_names() {
    let sandbox = Sandbox::with(&[
        ("docker/v1.30.4/base/cluster.yaml", &release("v1.30.4")),
        ("docker/v1.31.2/base/cluster.yaml", &release("v1.31.2")),
        (CONTROL_PLANE_FILE, &control_plane("v1.30.4", "web-control-plane")),
        (WORKERS_FILE, &workers("v1.30.4", "web-md-0")),
        (
            "acme/web/overlay/replicas.yaml",
            "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: web-md-0, namespace: acme}
spec: {replicas: 7}
",
        ),
    ]);
    let control_plane_id =
        object("controlplane.cluster.x-k8s.io", "KubeadmControlPlane", Some("acme"), "web-control-plane");
    let deployment_id = object("cluster.x-k8s.io", "MachineDeployment", Some("acme"), "web-md-0");
    let template_id =
        |name: &str| object("infrastructure.cluster.x-k8s.io", "DockerMachineTemplate", Some("acme"), name);

    // Nothing records the release. Capstan infers it, because every field still has the value of v1.30.4.
    let plan = sandbox.capstan(&["plan", "-o", "json"]).json(0);
    assert_eq!(
        plan,
        json!([{
            "cluster": "acme/web", "from": "docker/v1.30.4", "to": "docker/v1.31.2", "basis": "inferred",
            "files": [
                {"path": CONTROL_PLANE_FILE, "action": "modify"},
                {"path": WORKERS_FILE, "action": "modify"},
                {"path": "acme/web/capstan.yaml", "action": "add"},
            ],
            "changes": [
                {"object": control_plane_id, "file": CONTROL_PLANE_FILE, "line": 7, "path": "/spec/version",
                 "op": "replace", "old": "v1.30.4", "new": "v1.31.2", "reason": "release", "origin": null},
                {"object": control_plane_id, "file": CONTROL_PLANE_FILE, "line": 20,
                 "path": "/spec/machineTemplate/infrastructureRef/name",
                 "op": "replace", "old": "web-control-plane", "new": NEW_CONTROL_PLANE, "reason": "reference", "origin": null},
                {"object": template_id("web-control-plane"), "file": CONTROL_PLANE_FILE, "line": 26, "path": "/metadata/name",
                 "op": "replace", "old": "web-control-plane", "new": NEW_CONTROL_PLANE, "reason": "rotation", "origin": null},
                {"object": template_id("web-control-plane"), "file": CONTROL_PLANE_FILE, "line": 31,
                 "path": "/spec/template/spec/customImage",
                 "op": "replace", "old": "kindest/node:v1.30.4", "new": "kindest/node:v1.31.2", "reason": "release", "origin": null},
                {"object": deployment_id, "file": WORKERS_FILE, "line": 12, "path": "/spec/template/spec/version",
                 "op": "replace", "old": "v1.30.4", "new": "v1.31.2", "reason": "release", "origin": null},
                {"object": deployment_id, "file": WORKERS_FILE, "line": 21,
                 "path": "/spec/template/spec/infrastructureRef/name",
                 "op": "replace", "old": "web-md-0", "new": NEW_WORKERS, "reason": "reference", "origin": null},
                {"object": template_id("web-md-0"), "file": WORKERS_FILE, "line": 26, "path": "/metadata/name",
                 "op": "replace", "old": "web-md-0", "new": NEW_WORKERS, "reason": "rotation", "origin": null},
                {"object": template_id("web-md-0"), "file": WORKERS_FILE, "line": 31,
                 "path": "/spec/template/spec/customImage",
                 "op": "replace", "old": "kindest/node:v1.30.4", "new": "kindest/node:v1.31.2", "reason": "release", "origin": null},
            ],
            "conflicts": [],
            "findings": [],
            "rollouts": [
                // The overlay's seven, not the base's four.
                {"object": deployment_id, "machines": 7, "certainty": "offline",
                 "because": ["/spec/template/spec/infrastructureRef/name", "/spec/template/spec/version"]},
                {"object": control_plane_id, "machines": 3, "certainty": "offline",
                 "because": ["/spec/machineTemplate/infrastructureRef/name", "/spec/version"]},
            ],
            "notes": [], "source": "release", "values": {"from": null, "to": null},
        }])
    );

    let before = sandbox.files();
    sandbox.capstan(&["upgrade", "acme/web", "--to", "docker/v1.31.2", "--write"]).ended(0);
    let mut expected = before;
    expected.insert(
        CONTROL_PLANE_FILE.to_owned(),
        control_plane("v1.31.2", NEW_CONTROL_PLANE) + ADDED_CONTROL_PLANE,
    );
    expected.insert(WORKERS_FILE.to_owned(), workers("v1.31.2", NEW_WORKERS) + ADDED_WORKERS);
    expected.insert(
        "acme/web/capstan.yaml".to_owned(),
        new_record("web", "docker/v1.31.2", &sandbox.tree_id("docker/v1.31.2")),
    );
    assert_eq!(sandbox.files(), expected);

    let rendered = sandbox.capstan(&["render", "acme/web", "-o", "json"]).json(0);
    let told: Vec<_> = rendered
        .as_array()
        .unwrap()
        .iter()
        .map(|object| json!([object["kind"], object["metadata"]["name"], object["spec"]["replicas"]]))
        .collect();
    assert_eq!(
        told,
        [
            json!(["KubeadmControlPlane", "web-control-plane", 3]),
            json!(["DockerMachineTemplate", "web-control-plane", null]),
            json!(["DockerMachineTemplate", NEW_CONTROL_PLANE, null]),
            json!(["MachineDeployment", "web-md-0", 7]),
            json!(["DockerMachineTemplate", "web-md-0", null]),
            json!(["KubeadmConfigTemplate", "web-md-0", null]),
            json!(["DockerMachineTemplate", NEW_WORKERS, null]),
        ]
    );
}
