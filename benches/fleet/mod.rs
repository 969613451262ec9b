//! The fleet that benchmarks plan: clusters of eight files, two releases, all clusters at the first.

use std::fmt::Write as _;

/// How many files a cluster's base has.
pub(crate) const FILES: usize = 8;

/// The files of both releases.
pub(crate) fn releases() -> Vec<(String, String)> {
    let releases = [("v1.0.0", "v1.31.4", "ami-0a1"), ("v1.1.0", "v1.32.1", "ami-0b2")];
    let files = releases.into_iter().flat_map(|(version, kubernetes, image)| {
        base(&format!("releases/aws/{version}"), "${CLUSTER_NAME}", kubernetes, image)
    });
    files.collect()
}

/// The files of one cluster; no two clusters share one.
pub(crate) fn cluster(number: usize) -> Vec<(String, String)> {
    let name = format!("c{number:05}");
    let folder = format!("customer-{:02}/{name}", number % 50);
    let mut files = base(&folder, &name, "v1.31.4", "ami-0a1");
    let record = format!("release: releases/aws/v1.0.0\nvariables: {{CLUSTER_NAME: {name}}}\n");
    files.push((format!("{folder}/capstan.yaml"), record));
    files
}

/// Eight files as a cluster of Cluster API has them; version and image change with the release.
fn base(folder: &str, name: &str, kubernetes: &str, image: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut write = |file: &str, text: String| files.push((format!("{folder}/base/{file}"), text));
    write(
        "cluster.yaml",
        format!(
            "# The cluster and its network.\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: {name}\n  namespace: fleet\n  labels:\n    cni: cilium\nspec:\n  clusterNetwork:\n    pods:\n      cidrBlocks: [\"10.244.0.0/16\"]\n    services:\n      cidrBlocks: [\"10.96.0.0/12\"]\n  controlPlaneRef:\n    apiVersion: controlplane.cluster.x-k8s.io/v1beta1\n    kind: KubeadmControlPlane\n    name: {name}\n  infrastructureRef:\n    apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\n    kind: AWSCluster\n    name: {name}\n"
        ),
    );
    write(
        "awscluster.yaml",
        format!(
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSCluster\nmetadata:\n  name: {name}\n  namespace: fleet\nspec:\n  region: eu-central-1\n  sshKeyName: default\n  network:\n    vpc:\n      cidrBlock: 10.0.0.0/16\n"
        ),
    );
    let mut control = format!(
        "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata:\n  name: {name}\n  namespace: fleet\nspec:\n  replicas: 3\n  version: {kubernetes}\n  machineTemplate:\n    infrastructureRef:\n      apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\n      kind: AWSMachineTemplate\n      name: {name}-control-plane\n  kubeadmConfigSpec:\n    clusterConfiguration:\n      apiServer:\n        extraArgs:\n          cloud-provider: external\n    files:\n"
    );
    for number in 0..6 {
        let _ = write!(
            control,
            "    - path: /etc/kubernetes/file-{number}.conf\n      owner: root:root\n      permissions: \"0600\"\n      content: |\n        # managed\n        key-{number}=value\n        other=thing\n"
        );
    }
    write("control-plane.yaml", control);
    for (file, suffix) in [
        ("template-control-plane.yaml", "control-plane"),
        ("template-md-0.yaml", "md-0"),
        ("template-md-1.yaml", "md-1"),
    ] {
        write(
            file,
            format!(
                "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSMachineTemplate\nmetadata:\n  name: {name}-{suffix}\n  namespace: fleet\nspec:\n  template:\n    spec:\n      ami:\n        id: {image}\n      instanceType: m5.large\n      iamInstanceProfile: nodes.cluster-api-provider-aws.sigs.k8s.io\n      sshKeyName: default\n      rootVolume:\n        size: 80\n        type: gp3\n"
            ),
        );
    }
    for (file, pool, replicas) in [("md-0.yaml", "md-0", 3), ("md-1.yaml", "md-1", 5)] {
        write(
            file,
            format!(
                "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata:\n  name: {name}-{pool}\n  namespace: fleet\nspec:\n  clusterName: {name}\n  replicas: {replicas}\n  selector:\n    matchLabels: {{}}\n  template:\n    spec:\n      clusterName: {name}\n      version: {kubernetes}\n      bootstrap:\n        configRef:\n          apiVersion: bootstrap.cluster.x-k8s.io/v1beta1\n          kind: KubeadmConfigTemplate\n          name: {name}-{pool}\n      infrastructureRef:\n        apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\n        kind: AWSMachineTemplate\n        name: {name}-{pool}\n"
            ),
        );
    }
    files
}
