//! A repository with two releases' worth of room: clusters of machine pools, and releases that set their
//! Kubernetes version.

use capstan_forge::Edit;

/// A release of a Kubernetes version.
pub(crate) fn release(name: &str, kubernetes: &str) -> Edit {
    Edit::write(
        format!("aws/{name}/base/machinepool.yaml"),
        format!("kind: MachinePool\nspec:\n  template:\n    spec:\n      version: {kubernetes}\n"),
    )
}

/// A cluster's machine pool at a Kubernetes version.
pub(crate) fn machine_pool(cluster: &str, kubernetes: &str, replicas: u32) -> Edit {
    let name = cluster.rsplit('/').next().unwrap();
    Edit::write(
        format!("{cluster}/base/machinepool.yaml"),
        format!(
            "apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata:
  name: {name}-mp-0
  namespace: my-org
spec:
  clusterName: {name}
  replicas: {replicas} # as the customer wants it
  template:
    spec:
      clusterName: {name}
      version: {kubernetes}
      bootstrap:
        dataSecretName: {name}-bootstrap
      infrastructureRef:
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
        kind: AWSMachinePool
        name: {name}-mp-0
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AWSMachinePool
metadata:
  name: {name}-mp-0
  namespace: my-org
spec:
  minSize: 1
  maxSize: 10
"
        ),
    )
}

/// A cluster at `aws/v21.0.0`.
pub(crate) fn cluster(id: &str) -> Vec<Edit> {
    let name = id.rsplit('/').next().unwrap();
    vec![
        Edit::write(format!("{id}/capstan.yaml"), "release: aws/v21.0.0\n"),
        Edit::write(
            format!("{id}/base/cluster.yaml"),
            format!(
                "apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: {name}
  namespace: my-org
spec:
  clusterNetwork:
    pods:
      cidrBlocks: [10.0.0.0/16]
"
            ),
        ),
        machine_pool(id, "v1.21.4", 2),
    ]
}

/// Release v21.0.0 and these clusters, under these settings. There is no dashboard unless they speak of one: its issue
/// would take numbers of which conversations about pull requests speak.
pub(crate) fn repository(settings: &str, clusters: &[&str]) -> Vec<Edit> {
    let quiet = if settings.contains("dashboard:") { "" } else { "dashboard: {enabled: false}\n" };
    let mut edits =
        vec![Edit::write(".capstan.yaml", format!("{settings}{quiet}")), release("v21.0.0", "v1.21.4")];
    edits.extend(clusters.iter().flat_map(|id| cluster(id)));
    edits
}
