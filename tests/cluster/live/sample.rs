//! Cluster folders on the in-memory provider, and releases that move them.

use std::path::Path;

use capstan_forge::Edit;

/// The customer all clusters belong to; the claim of the management cluster is `gauss/*`.
pub(crate) const CUSTOMER: &str = "gauss";

/// A cluster as its folder describes it.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// Its name; the folder is `gauss/NAME`, the namespace `gauss-NAME`.
    pub(crate) name: String,
    /// The provider of its releases; its own name where it is to have releases of its own.
    pub(crate) provider: String,
    /// Its Kubernetes version, which its machines' image names too.
    pub(crate) kubernetes: String,
    /// How many workers it has.
    pub(crate) workers: u32,
    /// How long a worker takes to boot; `1h` makes a rollout that gets stuck.
    pub(crate) worker_startup: String,
    /// Whether it has a managed topology instead of objects of its own.
    pub(crate) topology: bool,
}

impl Sample {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            provider: name.to_owned(),
            kubernetes: "v1.34.3".to_owned(),
            workers: 2,
            worker_startup: "1s".to_owned(),
            topology: false,
        }
    }

    /// The cluster's id, the path of its folder.
    pub(crate) fn id(&self) -> String {
        format!("{CUSTOMER}/{}", self.name)
    }

    /// The namespace of its objects.
    pub(crate) fn namespace(&self) -> String {
        format!("{CUSTOMER}-{}", self.name)
    }

    /// The folder, at release `v1.0.0` of its provider.
    pub(crate) fn folder(&self) -> Vec<Edit> {
        let id = self.id();
        let settings =
            format!("release: {}/v1.0.0\nvariables: {{CLUSTER_NAME: {}}}\n", self.provider, self.name);
        let mut edits = vec![Edit::write(format!("{id}/capstan.yaml"), settings)];
        edits.extend(
            self.base(&self.name, &self.namespace())
                .into_iter()
                .map(|(file, text)| Edit::write(format!("{id}/base/{file}"), text)),
        );
        edits
    }

    /// A release of this cluster's provider, with what this cluster has.
    pub(crate) fn release(&self, version: &str) -> Vec<Edit> {
        let folder = Path::new(&self.provider).join(version).join("base");
        let namespace = format!("{CUSTOMER}-${{CLUSTER_NAME}}");
        self.base("${CLUSTER_NAME}", &namespace)
            .into_iter()
            .map(|(file, text)| Edit::write(folder.join(file).display().to_string(), text))
            .collect()
    }

    /// One file of the folder, for an edit of it.
    pub(crate) fn file(&self, file: &str) -> (String, String) {
        let found = self.base(&self.name, &self.namespace()).into_iter().find(|(name, _)| name == file);
        let (name, text) = found.unwrap_or_else(|| panic!("no file {file}"));
        (format!("{}/base/{name}", self.id()), text)
    }

    fn base(&self, name: &str, namespace: &str) -> Vec<(String, String)> {
        let fill = |text: &str| {
            text.replace("NAMESPACE", namespace)
                .replace("NAME", name)
                .replace("VERSION", &self.kubernetes)
                .replace("WORKERS", &self.workers.to_string())
                .replace("STARTUP", &self.worker_startup)
        };
        let files: &[(&str, &str)] = if self.topology {
            &[("cluster.yaml", TOPOLOGY)]
        } else {
            &[("cluster.yaml", CLUSTER), ("control-plane.yaml", CONTROL_PLANE), ("workers.yaml", WORKERS)]
        };
        files.iter().map(|(file, text)| ((*file).to_owned(), fill(text))).collect()
    }
}

/// The in-memory backend panics on a DevCluster without any annotation.
const CLUSTER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: NAME
  namespace: NAMESPACE
  labels:
    cluster.x-k8s.io/cluster-name: NAME
spec:
  clusterNetwork:
    pods:
      cidrBlocks: [192.168.0.0/16]
    services:
      cidrBlocks: [10.128.0.0/12]
  controlPlaneRef:
    apiGroup: controlplane.cluster.x-k8s.io
    kind: KubeadmControlPlane
    name: NAME-cp
  infrastructureRef:
    apiGroup: infrastructure.cluster.x-k8s.io
    kind: DevCluster
    name: NAME
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevCluster
metadata:
  name: NAME
  namespace: NAMESPACE
  labels:
    cluster.x-k8s.io/cluster-name: NAME
  annotations:
    example.com/sample: \"true\"
spec:
  backend:
    inMemory: {}
";

const CONTROL_PLANE: &str = "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata:
  name: NAME-cp
  namespace: NAMESPACE
  labels:
    cluster.x-k8s.io/cluster-name: NAME
spec:
  replicas: 1
  version: VERSION
  machineTemplate:
    spec:
      infrastructureRef:
        apiGroup: infrastructure.cluster.x-k8s.io
        kind: DevMachineTemplate
        name: NAME-cp
  kubeadmConfigSpec:
    clusterConfiguration:
      apiServer:
        certSANs: [localhost, 127.0.0.1]
    initConfiguration:
      nodeRegistration:
        criSocket: unix:///var/run/containerd/containerd.sock
    joinConfiguration:
      nodeRegistration:
        criSocket: unix:///var/run/containerd/containerd.sock
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata:
  name: NAME-cp
  namespace: NAMESPACE
  labels:
    cluster.x-k8s.io/cluster-name: NAME
spec:
  template:
    metadata:
      labels:
        image: node-VERSION
    spec:
      backend:
        inMemory:
          vm:
            provisioning:
              startupDuration: 1s
              startupJitter: \"0.2\"
          node:
            provisioning:
              startupDuration: 500ms
          apiServer:
            provisioning:
              startupDuration: 500ms
          etcd:
            provisioning:
              startupDuration: 500ms
";

const WORKERS: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata:
  name: NAME-md
  namespace: NAMESPACE
  labels:
    cluster.x-k8s.io/cluster-name: NAME
spec:
  clusterName: NAME
  replicas: WORKERS
  selector:
    matchLabels: {}
  template:
    spec:
      clusterName: NAME
      version: VERSION
      bootstrap:
        configRef:
          apiGroup: bootstrap.cluster.x-k8s.io
          kind: KubeadmConfigTemplate
          name: NAME-md
      infrastructureRef:
        apiGroup: infrastructure.cluster.x-k8s.io
        kind: DevMachineTemplate
        name: NAME-md
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata:
  name: NAME-md
  namespace: NAMESPACE
  labels:
    cluster.x-k8s.io/cluster-name: NAME
spec:
  template:
    spec:
      joinConfiguration:
        nodeRegistration:
          criSocket: unix:///var/run/containerd/containerd.sock
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata:
  name: NAME-md
  namespace: NAMESPACE
  labels:
    cluster.x-k8s.io/cluster-name: NAME
spec:
  template:
    metadata:
      labels:
        image: node-VERSION
    spec:
      backend:
        inMemory:
          vm:
            provisioning:
              startupDuration: STARTUP
              startupJitter: \"0.2\"
          node:
            provisioning:
              startupDuration: 500ms
";

const TOPOLOGY: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: NAME
  namespace: NAMESPACE
spec:
  clusterNetwork:
    pods:
      cidrBlocks: [192.168.0.0/16]
    services:
      cidrBlocks: [10.128.0.0/12]
  topology:
    classRef:
      name: in-memory
    version: VERSION
    controlPlane:
      replicas: 1
    workers:
      machineDeployments:
      - class: default-worker
        name: md-0
        replicas: WORKERS
";
