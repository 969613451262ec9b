//! Kubeadm's bootstrap and control plane kinds in v1beta1 and v1beta2:
//! <https://github.com/kubernetes-sigs/cluster-api/tree/main/api/bootstrap/kubeadm>,
//! <https://github.com/kubernetes-sigs/cluster-api/tree/main/api/controlplane/kubeadm>.
//!
//! v1beta1 says nothing of its lists, and v1beta2 that most are one value; the merge's own table goes
//! before both.

use super::Row::{self, Atomic, Keyed, Part, Value};
use super::cluster_api::TIMEOUTS;
use super::{Entry, kubernetes};
use crate::schema::ValueKind::{Duration, Version};

const BOOTSTRAP: &str = "bootstrap.cluster.x-k8s.io";
const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io";
const ARGUMENT: &[&str] = &["name", "value"];

const CONFIG_1: &[Row] = &[
    Part("clusterConfiguration.apiServer.extraEnvs[]", kubernetes::ENV),
    Part("clusterConfiguration.controllerManager.extraEnvs[]", kubernetes::ENV),
    Part("clusterConfiguration.etcd.local.extraEnvs[]", kubernetes::ENV),
    Part("clusterConfiguration.scheduler.extraEnvs[]", kubernetes::ENV),
    Value("clusterConfiguration.apiServer.timeoutForControlPlane", Duration),
    Value("initConfiguration.bootstrapTokens[].ttl", Duration),
    Value("joinConfiguration.discovery.timeout", Duration),
];

/// A part of the control plane, in v1beta2.
const COMPONENT_2: &[Row] = &[
    Keyed("extraArgs", ARGUMENT),
    Atomic(&["extraEnvs", "extraVolumes"]),
    Part("extraEnvs[]", kubernetes::ENV),
];

const CONFIG_2: &[Row] = &[
    Atomic(&[
        "bootCommands",
        "diskSetup.filesystems",
        "diskSetup.filesystems[].extraOpts",
        "diskSetup.partitions",
        "diskSetup.partitions[].diskLayout",
        "files",
        "mounts",
        "ntp.servers",
        "postKubeadmCommands",
        "preKubeadmCommands",
        "users",
        "users[].sshAuthorizedKeys",
    ]),
    Part("clusterConfiguration.apiServer", COMPONENT_2),
    Part("clusterConfiguration.controllerManager", COMPONENT_2),
    Part("clusterConfiguration.scheduler", COMPONENT_2),
    Keyed("clusterConfiguration.etcd.local.extraArgs", ARGUMENT),
    Part("clusterConfiguration.etcd.local.extraEnvs[]", kubernetes::ENV),
    Atomic(&[
        "clusterConfiguration.apiServer.certSANs",
        "clusterConfiguration.etcd.external.endpoints",
        "clusterConfiguration.etcd.local.extraEnvs",
        "clusterConfiguration.etcd.local.peerCertSANs",
        "clusterConfiguration.etcd.local.serverCertSANs",
    ]),
    Keyed("initConfiguration.nodeRegistration.kubeletExtraArgs", ARGUMENT),
    Atomic(&[
        "initConfiguration.bootstrapTokens",
        "initConfiguration.bootstrapTokens[].groups",
        "initConfiguration.bootstrapTokens[].usages",
        "initConfiguration.nodeRegistration.ignorePreflightErrors",
        "initConfiguration.skipPhases",
    ]),
    Keyed("joinConfiguration.nodeRegistration.kubeletExtraArgs", ARGUMENT),
    Atomic(&[
        "joinConfiguration.discovery.bootstrapToken.caCertHashes",
        "joinConfiguration.discovery.file.kubeConfig.user.exec.args",
        "joinConfiguration.discovery.file.kubeConfig.user.exec.env",
        "joinConfiguration.nodeRegistration.ignorePreflightErrors",
        "joinConfiguration.skipPhases",
    ]),
];

const TAINTS: &[Row] = &[Keyed("taints", &["key", "effect"])];
const GATES: &[Row] = &[Keyed("readinessGates", &["conditionType"])];

/// What a control plane and a template of one have in common.
const CONTROL_PLANE_1: &[Row] = &[
    Part("kubeadmConfigSpec", CONFIG_1),
    Part("machineTemplate", TIMEOUTS),
    Part("machineTemplate", TAINTS),
    Value("remediationStrategy.minHealthyPeriod", Duration),
    Value("remediationStrategy.retryPeriod", Duration),
];

const CONTROL_PLANE_2: &[Row] = &[Part("kubeadmConfigSpec", CONFIG_2), Part("machineTemplate.spec", TAINTS)];

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        group: BOOTSTRAP,
        kinds: &["KubeadmConfig"],
        versions: &["v1beta1"],
        rows: &[Part("spec", CONFIG_1)],
    },
    Entry {
        group: BOOTSTRAP,
        kinds: &["KubeadmConfig"],
        versions: &["v1beta2"],
        rows: &[Part("spec", CONFIG_2)],
    },
    Entry {
        group: BOOTSTRAP,
        kinds: &["KubeadmConfigTemplate"],
        versions: &["v1beta1"],
        rows: &[Part("spec.template.spec", CONFIG_1)],
    },
    Entry {
        group: BOOTSTRAP,
        kinds: &["KubeadmConfigTemplate"],
        versions: &["v1beta2"],
        rows: &[Part("spec.template.spec", CONFIG_2)],
    },
    Entry {
        group: CONTROL_PLANE,
        kinds: &["KubeadmControlPlane"],
        versions: &["v1beta1"],
        rows: &[
            Value("spec.version", Version),
            Part("spec", CONTROL_PLANE_1),
            Part("spec.machineTemplate", GATES),
        ],
    },
    Entry {
        group: CONTROL_PLANE,
        kinds: &["KubeadmControlPlane"],
        versions: &["v1beta2"],
        rows: &[
            Value("spec.version", Version),
            Part("spec", CONTROL_PLANE_2),
            Part("spec.machineTemplate.spec", GATES),
        ],
    },
    Entry {
        group: CONTROL_PLANE,
        kinds: &["KubeadmControlPlaneTemplate"],
        versions: &["v1beta1"],
        rows: &[Part("spec.template.spec", CONTROL_PLANE_1)],
    },
    Entry {
        group: CONTROL_PLANE,
        kinds: &["KubeadmControlPlaneTemplate"],
        versions: &["v1beta2"],
        rows: &[Part("spec.template.spec", CONTROL_PLANE_2)],
    },
];
