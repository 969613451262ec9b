//! `plan` of a cluster whose ClusterClass lies in a folder of its own.

use super::sandbox::Sandbox;

/// A class whose patch brings the variable `image` to the machines of workers.
pub(crate) const CLASS: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: quick, namespace: acme}
spec:
  controlPlane:
    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: quick}
  workers:
    machineDeployments:
    - class: default
      bootstrap: {templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: quick}}
      infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DockerMachineTemplate, name: quick}}
  variables:
  - {name: image, required: true, schema: {openAPIV3Schema: {type: string}}}
  patches:
  - name: image
    definitions:
    - selector:
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
        kind: DockerMachineTemplate
        matchResources: {machineDeploymentClass: {names: [default]}}
      jsonPatches: [{op: add, path: /spec/template/spec/customImage, valueFrom: {variable: image}}]
";

/// The templates that the class names.
pub(crate) const TEMPLATES: &str = "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlaneTemplate
metadata: {name: quick, namespace: acme}
spec: {template: {spec: {kubeadmConfigSpec: {}}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: quick, namespace: acme}
spec: {template: {spec: {files: [{path: /etc/a, content: a}]}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DockerMachineTemplate
metadata: {name: quick, namespace: acme}
spec: {template: {spec: {bootstrapTimeout: 3m}}}
";

/// A Cluster of that class with four workers.
pub(crate) fn cluster(name: &str, image: &str) -> String {
    format!(
        "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {{name: {name}, namespace: acme}}
spec:
  topology:
    classRef: {{name: quick}}
    version: v1.34.1
    controlPlane: {{replicas: 3}}
    workers: {{machineDeployments: [{{class: default, name: md, replicas: 4}}]}}
    variables: [{{name: image, value: {image}}}]
"
    )
}

fn release(image: &str) -> String {
    format!("kind: Cluster\nspec:\n  topology:\n    variables: [{{name: image, value: {image}}}]\n")
}

#[test]
fn machines_are_counted_through_a_class_that_lies_elsewhere() {
    let sandbox = Sandbox::with(&[
        ("aws/v1.0.0/base/cluster.yaml", &release("node-1")),
        ("aws/v1.1.0/base/cluster.yaml", &release("node-2")),
        ("acme/a/base/cluster.yaml", &cluster("a", "node-1")),
        ("acme/a/capstan.yaml", "release: aws/v1.0.0\n"),
        ("clusterclasses/quick.yaml", CLASS),
        ("clusterclasses/templates.yaml", TEMPLATES),
    ]);
    let rollouts = || sandbox.capstan(&["plan", "acme/a", "-o", "json"]).json(0)[0]["rollouts"].clone();
    let told = rollouts();
    assert_eq!((&told[0]["machines"], &told[0]["certainty"]), (&4.into(), &"offline".into()), "{told}");
    assert_eq!(told[0]["because"], serde_json::json!(["/spec/topology/variables/0/value"]));
    // A second folder says otherwise what the class is: nobody knows which of them is applied.
    sandbox.write("old/quick.yaml", &CLASS.replace("names: [default]", "names: [other]"));
    let told = rollouts();
    assert_eq!((&told[0]["machines"], &told[0]["certainty"]), (&serde_json::Value::Null, &"unknown".into()));
    let text = sandbox.capstan(&["plan", "acme/a"]);
    let why = "ClusterClass `quick` stands in clusterclasses/quick.yaml and old/quick.yaml, and they differ.";
    assert!(text.ended(0).out.contains(why), "{}", text.out);
}
