//! What is known of the kinds that own machines: which fields replace machines, which are changed in
//! place, who runs a control plane. Everything that a new provider or a new API version adds stands here.
//!
//! Sources: `MachineTemplateUpToDate` (mdutil) for MachineDeployments, `UpToDate` (filters.go) for
//! KubeadmControlPlane, the metadata propagation chapter of the Cluster API book, and the providers'
//! MachinePool controllers.

/// Fields of any control plane that replace no machine: counts, strategies, metadata (propagated in
/// place), deadlines of deletion (in place), remediation, naming.
pub(super) const CONTROL_PLANE_IN_PLACE: &[&str] = &[
    "/spec/replicas",
    "/spec/rolloutStrategy",
    "/spec/rollout",
    "/spec/rolloutAfter",
    "/spec/rolloutBefore",
    "/spec/remediationStrategy",
    "/spec/remediation",
    "/spec/machineNamingStrategy",
    "/spec/machineNaming",
    "/spec/machineTemplate/metadata",
    "/spec/machineTemplate/nodeDrainTimeout",
    "/spec/machineTemplate/nodeVolumeDetachTimeout",
    "/spec/machineTemplate/nodeDeletionTimeout",
    "/spec/machineTemplate/readinessGates",
    "/spec/machineTemplate/spec/deletion",
    "/spec/machineTemplate/spec/readinessGates",
    "/spec/machineTemplate/spec/taints",
    "/spec/nodeDrainTimeout",
];

/// Fields of a MachineDeployment's template that replace machines, but for its references.
pub(super) const WORKER_ROLLS: &[&str] = &[
    "/spec/template/spec/version",
    "/spec/template/spec/failureDomain",
    "/spec/template/spec/bootstrap/dataSecretName",
];

/// Fields of a MachineDeployment's template that are propagated to its machines in place.
pub(crate) const WORKERS_IN_PLACE: &[&str] = &[
    "/spec/template/spec/deletion",
    "/spec/template/spec/minReadySeconds",
    "/spec/template/spec/nodeDeletionTimeout",
    "/spec/template/spec/nodeDrainTimeout",
    "/spec/template/spec/nodeVolumeDetachTimeout",
    "/spec/template/spec/readinessGates",
    "/spec/template/spec/taints",
];

/// Where owners say after which time their machines are made anew, in v1beta1 and v1beta2.
pub(super) const ROLLOUT_AFTER: &[&str] = &["/spec/rolloutAfter", "/spec/rollout/after"];

/// Whether a field says such a time: of an owner, or of a group of a topology.
pub(super) fn is_rollout_after(pointer: &str) -> bool {
    ROLLOUT_AFTER.contains(&pointer) || pointer.ends_with("/rollout/after")
}

/// Where a KubeadmControlPlane says how long before their end certificates are renewed by new machines.
pub(super) const ROLLOUT_BEFORE: &[&str] =
    &["/spec/rolloutBefore/certificatesExpiryDays", "/spec/rollout/before/certificatesExpiryDays"];

/// Where strategies stand, in v1beta1 (MachineDeployment, KubeadmControlPlane) and v1beta2.
pub(super) const STRATEGIES: &[&str] = &["/spec/strategy", "/spec/rolloutStrategy", "/spec/rollout/strategy"];

/// Parts of `kubeadmConfigSpec` that make no machine outdated: they are updated in place, concern joining
/// alone, or never change.
pub(super) const KUBEADM_IGNORED: &[&str] = &[
    "/clusterConfiguration/controlPlaneEndpoint",
    "/clusterConfiguration/dns",
    "/clusterConfiguration/apiServer/timeoutForControlPlane",
    "/clusterConfiguration/apiVersion",
    "/clusterConfiguration/kind",
    "/initConfiguration/apiVersion",
    "/initConfiguration/kind",
    "/initConfiguration/timeouts/controlPlaneComponentHealthCheckSeconds",
    "/joinConfiguration/apiVersion",
    "/joinConfiguration/kind",
    "/joinConfiguration/discovery",
    "/joinConfiguration/timeouts/controlPlaneComponentHealthCheckSeconds",
];

/// What of a MachinePool's infrastructure object replaces instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PoolInfrastructure {
    /// What stands below one of these.
    Below(&'static [&'static str]),
    /// A managed node group, or a kind that is not known: the provider decides.
    ProviderDecides,
}

/// The facts of a MachinePool's infrastructure kind.
pub(crate) fn pool_infrastructure(kind: &str) -> PoolInfrastructure {
    match kind {
        "AWSMachinePool" => PoolInfrastructure::Below(&["/spec/awsLaunchTemplate"]),
        "AzureMachinePool" | "DevMachinePool" | "DockerMachinePool" => {
            PoolInfrastructure::Below(&["/spec/template"])
        }
        "OCIMachinePool" => PoolInfrastructure::Below(&["/spec/instanceConfiguration"]),
        _ => PoolInfrastructure::ProviderDecides,
    }
}

/// Whether a provider runs the instances of a MachinePool with infrastructure of this kind.
pub(super) fn is_managed_pool(kind: &str) -> bool {
    kind.contains("ManagedMachinePool") || kind.eq_ignore_ascii_case("ROSAMachinePool")
}

/// Annotations by which an autoscaler, or somebody else, owns the number of machines.
pub(super) const COUNT_OWNED: &[&str] = &[
    "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size",
    "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size",
    "cluster.x-k8s.io/replicas-managed-by",
];

/// Pauses an object, or everything of a Cluster.
pub(super) const PAUSED: &str = "cluster.x-k8s.io/paused";
/// One worker group of a topology keeps its version.
pub(super) const DEFER_UPGRADE: &str = "topology.cluster.x-k8s.io/defer-upgrade";
/// One worker group of a topology and all that follow it in the list keep their version.
pub(super) const HOLD_UPGRADE: &str = "topology.cluster.x-k8s.io/hold-upgrade-sequence";
/// How many worker groups of a topology are upgraded at once.
pub(super) const CONCURRENCY: &str = "topology.cluster.x-k8s.io/upgrade-concurrency";
