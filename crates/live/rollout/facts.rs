//! What is known of the kinds that own machines: which fields replace machines, which are changed in place, who runs a
//! control plane. A new provider or a new API version adds its facts here.
//!
//! Sources: `MachineTemplateUpToDate` (mdutil) for MachineDeployments, `UpToDate` (filters.go) for
//! KubeadmControlPlane, the metadata propagation chapter of the Cluster API book, and the providers'
//! MachinePool controllers. Of control planes of other providers: `MachinesNeedingRollout`
//! (controllers/controlplane.go) of siderolabs/cluster-api-control-plane-provider-talos v0.5.12, `UpToDate`
//! (pkg/rke2/control_plane.go) and machine_filters.go of rancher/cluster-api-provider-rke2, and inplace.go of
//! k0sproject/k0smotron (internal/controller/controlplane). TalosConfigTemplates and RKE2ConfigTemplates are
//! read by MachineSets alone, by name: changed under their name they replace nothing (Talos' webhook refuses
//! it), and a new name replaces the machines.

/// Cluster API's own control plane.
pub(super) const KUBEADM: &str = "KubeadmControlPlane";
/// The control plane of k0smotron whose machines are the user's own.
pub(super) const K0S: &str = "K0sControlPlane";

/// Whether outdated machines of a control plane are replaced one by one with `maxSurge` 1 or 0, as Cluster API's
/// own does it.
pub(super) fn rolls_as_kubeadm(kind: &str) -> bool {
    [KUBEADM, K0S, "RKE2ControlPlane", "TalosControlPlane"].contains(&kind)
}

/// The fields besides version and machine template that a control plane's controller compares with its machines; `None`
/// if its code is not known here.
///
/// Talos compares the configuration for joining machines and never `init`, RKE2 all of its embedded
/// `RKE2ConfigSpec` and the configuration of the server. k0smotron compares `k0sConfigSpec` but for `k0s` (helper.go),
/// of which [`K0S_MAY_ROLL`] counts for machines from before its annotation.
pub(super) fn own_fields_that_roll(kind: &str) -> Option<&'static [&'static str]> {
    match kind {
        "TalosControlPlane" => Some(&["/spec/controlPlaneConfig/controlplane"]),
        K0S => Some(&["/spec/k0sConfigSpec"]),
        "RKE2ControlPlane" => Some(&[
            "/spec/agentConfig",
            "/spec/files",
            "/spec/gzipUserData",
            "/spec/postRKE2Commands",
            "/spec/preRKE2Commands",
            "/spec/privateRegistriesConfig",
            "/spec/serverConfig",
        ]),
        _ => None,
    }
}

/// What of `k0sConfigSpec` is written to machines where they are.
pub(super) const K0S_IN_PLACE: &str = "/spec/k0sConfigSpec/k0s";
/// What of it replaces the machines that lack the annotation of their configuration.
pub(super) const K0S_MAY_ROLL: &[&str] =
    &["/spec/k0sConfigSpec/k0s/spec/api", "/spec/k0sConfigSpec/k0s/spec/storage"];

/// Templates that a ClusterClass names and that the API lets anybody edit under their name. The topology controller
/// takes the edit up at its next look, in the copies that it makes for each group.
pub(super) const TAKEN_UP_IN_PLACE: &[&str] = &["KubeadmConfigTemplate", "RKE2ConfigTemplate"];

/// Canonical Kubernetes refreshes its snap to this on the machines that are there (canonical/cluster-api-k8s, on
/// MachineDeployments, and on Machines by its control plane).
pub(super) const CANONICAL_IN_PLACE: &str = "v1beta2.k8sd.io/in-place-upgrade-to";

/// The note for machines whose strategy is `OnDelete`.
pub(super) const ON_DELETE: &str = "`OnDelete`: machines are replaced only when somebody deletes them.";

/// What `rollout.after` does in a control plane, whose controller compares each machine with the time.
pub(super) fn made_before(machines: &str, time: &str) -> String {
    format!("{machines} made before {time} are replaced after that time.")
}

/// What it does in a MachineDeployment, whose controller compares the MachineSet (`FindNewAndOldMachineSets` of mdutil).
pub(super) fn set_made_before(machines: &str, time: &str) -> String {
    format!(
        "{machines} are replaced after {time}, however young they are. Only those whose MachineSet was made after that time stay."
    )
}

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
    "/spec/updateStrategy",
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

/// Where owners say after which time their machines are replaced, in v1beta1 and v1beta2.
pub(super) const ROLLOUT_AFTER: &[&str] = &["/spec/rolloutAfter", "/spec/rollout/after"];

/// Whether a field says such a time: of an owner, or of a group of a topology.
pub(super) fn is_rollout_after(pointer: &str) -> bool {
    ROLLOUT_AFTER.contains(&pointer) || pointer.ends_with("/rollout/after")
}

/// Where a KubeadmControlPlane says how long before their end certificates are renewed by new machines.
pub(super) const ROLLOUT_BEFORE: &[&str] =
    &["/spec/rolloutBefore/certificatesExpiryDays", "/spec/rollout/before/certificatesExpiryDays"];

/// The paths of strategies, in v1beta1 (MachineDeployment, KubeadmControlPlane) and v1beta2.
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

/// Annotations by which an autoscaler, or another controller, owns the number of machines.
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
