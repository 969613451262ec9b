//! What a minor of Kubernetes no longer starts with: a row a minor, and a row a minor of etcd.
//!
//! For the next minor, add a row. Gates and flags that go are from the changelog of the row; those that are locked from
//! `pkg/features/kube_features.go` of v1.36.3, so that locks of gates which 1.36 no longer has are absent; kubeadm's etcd
//! from `cmd/kubeadm/app/constants/constants.go` of each minor.

/// A process that kubeadm starts with arguments of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KubernetesProcess {
    ApiServer,
    ControllerManager,
    Scheduler,
    Kubelet,
}

use KubernetesProcess::{ApiServer, ControllerManager, Kubelet};

/// What a minor no longer starts with.
#[derive(Debug)]
pub(super) struct Minor {
    /// Of Kubernetes 1.
    pub(super) minor: u64,
    /// Flags that it no longer has.
    pub(super) flags: &'static [(KubernetesProcess, &'static [&'static str])],
    /// Flags of which it takes one value alone, or none.
    pub(super) only: &'static [(KubernetesProcess, &'static str, &'static str)],
    /// Admission plugins that it no longer has.
    pub(super) plugins: &'static [&'static str],
    /// Feature gates that it no longer has.
    pub(super) gates: &'static [&'static str],
    /// Feature gates that are locked to true.
    pub(super) locked_on: &'static [&'static str],
    /// Feature gates that are locked to false.
    pub(super) locked_off: &'static [&'static str],
    /// Feature gates that kubeadm no longer has.
    pub(super) kubeadm_gates: &'static [&'static str],
    /// The etcd that kubeadm takes unless the cluster names one.
    pub(super) etcd: [u64; 3],
    /// Where it is written.
    pub(super) source: &'static str,
}

const NOTHING: Minor = Minor {
    minor: 0,
    flags: &[],
    only: &[],
    plugins: &[],
    gates: &[],
    locked_on: &[],
    locked_off: &[],
    kubeadm_gates: &[],
    etcd: [3, 5, 12],
    source: "",
};

/// Ordered by minor.
pub(super) const MINORS: &[Minor] = &[
    Minor {
        minor: 30,
        plugins: &["SecurityContextDeny"],
        locked_on: &["PodSchedulingReadiness"],
        source: "https://github.com/kubernetes/kubernetes/blob/master/CHANGELOG/CHANGELOG-1.30.md",
        ..NOTHING
    },
    Minor {
        minor: 31,
        flags: &[
            (ApiServer, &["address", "insecure-bind-address", "insecure-port", "port"]),
            (
                ControllerManager,
                &[
                    "horizontal-pod-autoscaler-downscale-delay",
                    "horizontal-pod-autoscaler-upscale-delay",
                    "volume-host-allow-local-loopback",
                    "volume-host-cidr-denylist",
                ],
            ),
            (Kubelet, &["iptables-drop-bit", "iptables-masquerade-bit", "keep-terminated-pod-volumes"]),
        ],
        plugins: &["PersistentVolumeLabel"],
        gates: &[
            "APIPriorityAndFairness",
            "CSIMigrationRBD",
            "CSINodeExpandSecret",
            "ConsistentHTTPGetHandlers",
            "CustomResourceValidationExpressions",
            "DefaultHostNetworkHostPortsInPodTemplates",
            "InTreePluginAWSUnregister",
            "InTreePluginAzureDiskUnregister",
            "InTreePluginAzureFileUnregister",
            "InTreePluginGCEUnregister",
            "InTreePluginOpenStackUnregister",
            "InTreePluginRBDUnregister",
            "InTreePluginvSphereUnregister",
            "JobReadyPods",
            "ReadWriteOncePod",
            "ServiceNodePortStaticSubrange",
            "SkipReadOnlyValidationGCE",
        ],
        locked_on: &["LogarithmicScaleDown"],
        etcd: [3, 5, 15],
        source: "https://github.com/kubernetes/kubernetes/blob/master/CHANGELOG/CHANGELOG-1.31.md",
        ..NOTHING
    },
    Minor {
        minor: 32,
        only: &[(ControllerManager, "cloud-provider", "external"), (Kubelet, "runonce", "false")],
        gates: &[
            "CloudDualStackNodeIPs",
            "DRAControlPlaneController",
            "HPAContainerMetrics",
            "KMSv2",
            "KMSv2KDF",
            "LegacyServiceAccountTokenCleanUp",
            "MinDomainsInPodTopologySpread",
            "NewVolumeManagerReconstruction",
            "NodeOutOfServiceVolumeDetach",
            "PodHostIPs",
            "ServerSideApply",
            "ServerSideFieldValidation",
            "StableLoadBalancerNodeSet",
            "ValidatingAdmissionPolicy",
            "ZeroLimitedNominalConcurrencyShares",
        ],
        locked_on: &[
            "CustomResourceFieldSelectors",
            "RetryGenerateName",
            "ServiceAccountTokenJTI",
            "ServiceAccountTokenNodeBindingValidation",
            "ServiceAccountTokenPodNodeInfo",
            "TopologyManagerPolicyOptions",
        ],
        etcd: [3, 5, 16],
        source: "https://github.com/kubernetes/kubernetes/blob/master/CHANGELOG/CHANGELOG-1.32.md",
        ..NOTHING
    },
    Minor {
        minor: 33,
        flags: &[(ApiServer, &["cloud-config", "cloud-provider"])],
        gates: &[
            "APIListChunking",
            "AdmissionWebhookMatchConditions",
            "AggregatedDiscoveryEndpoint",
            "AppArmor",
            "AppArmorFields",
            "CPUManager",
            "DisableCloudProviders",
            "DisableKubeletCloudCredentialProviders",
            "EfficientWatchResumption",
            "JobPodFailurePolicy",
            "KubeProxyDrainingTerminatingNodes",
            "PDBUnhealthyPodEvictionPolicy",
            "PersistentVolumeLastPhaseTransitionTime",
            "RemainingItemCount",
            "VolumeCapacityPriority",
            "WatchBookmark",
        ],
        locked_on: &[
            "AnyVolumeDataSource",
            "BtreeWatchCache",
            "CPUManagerPolicyOptions",
            "CRDValidationRatcheting",
            "JobBackoffLimitPerIndex",
            "JobSuccessPolicy",
            "MatchLabelKeysInPodAffinity",
            "NFTablesProxyMode",
            "NodeInclusionPolicyInPodTopologySpread",
            "RecursiveReadOnlyMounts",
            "ServiceAccountTokenNodeBinding",
            "SidecarContainers",
        ],
        kubeadm_gates: &["EtcdLearnerMode"],
        etcd: [3, 5, 21],
        source: "https://github.com/kubernetes/kubernetes/blob/master/CHANGELOG/CHANGELOG-1.33.md",
        ..NOTHING
    },
    Minor {
        minor: 34,
        flags: &[(Kubelet, &["cloud-config", "register-schedulable"])],
        gates: &[
            "DevicePluginCDIDevices",
            "ElasticIndexedJob",
            "LegacySidecarContainers",
            "PodDisruptionConditions",
            "StatefulSetStartOrdinal",
        ],
        locked_on: &[
            "APIServerTracing",
            "AnonymousAuthConfigurableEndpoints",
            "AuthorizeNodeWithSelectors",
            "AuthorizeWithSelectors",
            "ConsistentListFromCache",
            "JobPodReplacementPolicy",
            "KubeletCgroupDriverFromCRI",
            "KubeletTracing",
            "MultiCIDRServiceAllocator",
            "NodeSwap",
            "OrderedNamespaceDeletion",
            "PodLifecycleSleepAction",
            "PodLifecycleSleepActionAllowZero",
            "RecoverVolumeExpansionFailure",
            "RelaxedDNSSearchValidation",
            "RelaxedEnvironmentVariableValidation",
            "ResilientWatchCacheInitialization",
            "SchedulerQueueingHints",
            "SeparateTaintEvictionController",
            "StreamingCollectionEncodingToJSON",
            "StreamingCollectionEncodingToProtobuf",
            "StructuredAuthenticationConfiguration",
            "WinDSR",
            "WinOverlay",
        ],
        etcd: [3, 6, 4],
        source: "https://github.com/kubernetes/kubernetes/blob/master/CHANGELOG/CHANGELOG-1.34.md",
        ..NOTHING
    },
    Minor {
        minor: 35,
        flags: &[(Kubelet, &["pod-infra-container-image"])],
        gates: &[
            "AllowServiceLBStatusOnNonLB",
            "ComponentSLIs",
            "CronJobsScheduledAnnotation",
            "LoadBalancerIPMode",
            "PodIndexLabel",
            "ProbeHostPodSecurityStandards",
            "SizeMemoryBackedVolumes",
            "StatefulSetAutoDeletePVC",
            "StrictCostEnforcementForVAP",
            "StrictCostEnforcementForWebhooks",
            "UserNamespacesPodSecurityStandards",
        ],
        locked_on: &[
            "AggregatedDiscoveryRemoveBetaType",
            "DisableAllocatorDualWrite",
            "DynamicResourceAllocation",
            "ExecProbeTimeout",
            "ImageMaximumGCAge",
            "InPlacePodVerticalScaling",
            "JobManagedBy",
            "PodObservedGenerationTracking",
            "PreferSameTrafficDistribution",
            "SupplementalGroupsPolicy",
            "SystemdWatchdog",
        ],
        locked_off: &["AllowOverwriteTerminationGracePeriodSeconds"],
        kubeadm_gates: &["WaitForAllControlPlaneComponents"],
        etcd: [3, 6, 6],
        source: "https://github.com/kubernetes/kubernetes/blob/master/CHANGELOG/CHANGELOG-1.35.md",
        ..NOTHING
    },
    Minor {
        minor: 36,
        gates: &[
            "CSIMigrationPortworx",
            "HonorPVReclaimPolicy",
            "InPlacePodVerticalScalingAllocatedStatus",
            "InTreePluginPortworxUnregister",
            "MemoryManager",
            "ServiceTrafficDistribution",
            "StructuredAuthorizationConfiguration",
            "TopologyAwareHints",
            "WatchFromStorageWithoutResourceVersion",
        ],
        locked_on: &[
            "CSIServiceAccountTokenSecrets",
            "DRAAdminAccess",
            "DeclarativeValidation",
            "DisableNodeKubeProxyVersion",
            "ExternalServiceAccountTokenSigner",
            "ImageVolume",
            "KubeletFineGrainedAuthz",
            "KubeletPSI",
            "KubeletPodResourcesDynamicResources",
            "KubeletPodResourcesGet",
            "MutableCSINodeAllocatableCount",
            "NodeLogQuery",
            "ProcMountType",
            "SELinuxChangePolicy",
            "SELinuxMountReadWriteOncePod",
            "UserNamespacesSupport",
            "VolumeAttributesClass",
        ],
        locked_off: &["GitRepoVolumeDriver", "SeparateCacheWatchRPC"],
        kubeadm_gates: &["ControlPlaneKubeletLocalMode"],
        etcd: [3, 6, 8],
        source: "https://github.com/kubernetes/kubernetes/blob/master/CHANGELOG/CHANGELOG-1.36.md",
        ..NOTHING
    },
    Minor {
        minor: 37,
        flags: &[
            (ControllerManager, &["concurrent-service-syncs"]),
            // Those of cAdvisor.
            (
                Kubelet,
                &[
                    "application-metrics-count-limit",
                    "boot-id-file",
                    "container-hints",
                    "containerd",
                    "containerd-namespace",
                    "enable-load-reader",
                    "event-storage-age-limit",
                    "event-storage-event-limit",
                    "global-housekeeping-interval",
                    "log-cadvisor-usage",
                    "machine-id-file",
                    "storage-driver-buffer-duration",
                    "storage-driver-db",
                    "storage-driver-host",
                    "storage-driver-password",
                    "storage-driver-secure",
                    "storage-driver-table",
                    "storage-driver-user",
                ],
            ),
        ],
        gates: &[
            "APIServerTracing",
            "AnonymousAuthConfigurableEndpoints",
            "AnyVolumeDataSource",
            "AuthorizeNodeWithSelectors",
            "AuthorizeWithSelectors",
            "BtreeWatchCache",
            "ConsistentListFromCache",
            "GangScheduling",
            "JobBackoffLimitPerIndex",
            "JobPodReplacementPolicy",
            "JobSuccessPolicy",
            "LogarithmicScaleDown",
            "OrderedNamespaceDeletion",
            "PodLifecycleSleepAction",
            "PodLifecycleSleepActionAllowZero",
            "PreventStaticPodAPIReferences",
            "RelaxedDNSSearchValidation",
            "ResilientWatchCacheInitialization",
            "RetryGenerateName",
            "SchedulerQueueingHints",
            "SidecarContainers",
            "StreamingCollectionEncodingToJSON",
            "StreamingCollectionEncodingToProtobuf",
            "StructuredAuthenticationConfiguration",
            "WorkloadAwarePreemption",
        ],
        kubeadm_gates: &["NodeLocalCRISocket", "PublicKeysECDSA"],
        etcd: [3, 7, 0],
        source: "https://github.com/kubernetes/kubernetes/blob/master/CHANGELOG/CHANGELOG-1.37.md",
        ..NOTHING
    },
];

/// What a minor of etcd no longer has.
#[derive(Debug)]
pub(super) struct EtcdMinor {
    pub(super) minor: [u64; 2],
    /// Flags; one that ends with `*` begins so.
    pub(super) flags: &'static [&'static str],
    /// Where it is written.
    pub(super) source: &'static str,
}

pub(super) const ETCD_MINORS: &[EtcdMinor] = &[
    EtcdMinor {
        minor: [3, 6],
        flags: &["enable-v2", "experimental-enable-v2v3", "proxy", "proxy-*"],
        source: "https://github.com/etcd-io/etcd/blob/main/CHANGELOG/CHANGELOG-3.6.md",
    },
    EtcdMinor {
        minor: [3, 7],
        flags: &["discovery", "discovery-fallback", "discovery-proxy", "experimental-*"],
        source: "https://github.com/etcd-io/etcd/blob/main/CHANGELOG/CHANGELOG-3.7.md",
    },
];

/// A member older than this may bring removed members back when etcd 3.6 joins it.
///
/// <https://github.com/etcd-io/website/pull/1095>
pub(super) const ETCD_BEFORE_3_6: [u64; 3] = [3, 5, 26];

/// The rows up to a minor of Kubernetes 1, the newest first.
pub(super) fn up_to(minor: u64) -> impl Iterator<Item = &'static Minor> {
    MINORS.iter().rev().filter(move |row| row.minor <= minor)
}
