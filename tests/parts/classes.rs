//! A ClusterClass, its templates, and a Cluster of it.

/// A class whose patch brings the variable `image` to the machines of workers.
pub const CLASS: &str = "\
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
pub const TEMPLATES: &str = "\
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
pub fn cluster(name: &str, image: &str) -> String {
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
