//! Cluster API's core kinds in v1beta1 and v1beta2:
//! <https://github.com/kubernetes-sigs/cluster-api/tree/main/api/core>.

use super::Entry;
use super::Row::{self, Atomic, Keyed, Part, Value};
use crate::schema::ValueKind::{Duration, Version};

const GROUP: &str = "cluster.x-k8s.io";
const CONDITION_TYPE: &[&str] = &["conditionType"];
const NAME: &[&str] = &["name"];
const TAINT: &[&str] = &["key", "effect"];

pub(super) const SELECTOR: &[Row] = &[Atomic(&["matchExpressions", "matchExpressions[].values"])];

/// What a Machine has in every version.
const MACHINE: &[Row] =
    &[Value("version", Version), Keyed("readinessGates", CONDITION_TYPE), Keyed("taints", TAINT)];

/// How long the steps of a deletion may take; whole seconds from v1beta2 on.
pub(super) const TIMEOUTS: &[Row] = &[
    Value("nodeDeletionTimeout", Duration),
    Value("nodeDrainTimeout", Duration),
    Value("nodeVolumeDetachTimeout", Duration),
];

/// When a machine counts as unhealthy, in v1beta1.
const HEALTH_1: &[Row] = &[
    Value("nodeStartupTimeout", Duration),
    Value("unhealthyConditions[].timeout", Duration),
    Atomic(&["unhealthyMachineConditions"]),
    Value("unhealthyMachineConditions[].timeout", Duration),
];

/// When a machine counts as unhealthy, in v1beta2.
const HEALTH_2: &[Row] = &[Atomic(&["checks.unhealthyMachineConditions", "checks.unhealthyNodeConditions"])];

const TOPOLOGY_1: &[Row] = &[
    Keyed("variables.overrides", NAME),
    Keyed("readinessGates", CONDITION_TYPE),
    Keyed("taints", TAINT),
    Part("machineHealthCheck", HEALTH_1),
];

const TOPOLOGY_2: &[Row] = &[
    Keyed("variables.overrides", NAME),
    Keyed("readinessGates", CONDITION_TYPE),
    Keyed("taints", TAINT),
    Part("healthCheck", HEALTH_2),
];

const POOL_TOPOLOGY: &[Row] = &[Keyed("variables.overrides", NAME), Keyed("taints", TAINT)];

const CLASS_1: &[Row] =
    &[Keyed("readinessGates", CONDITION_TYPE), Keyed("taints", TAINT), Part("machineHealthCheck", HEALTH_1)];

const CLASS_2: &[Row] =
    &[Keyed("readinessGates", CONDITION_TYPE), Keyed("taints", TAINT), Part("healthCheck", HEALTH_2)];

const DRAIN_RULE: &[Row] = &[
    Atomic(&["spec.machines", "spec.pods"]),
    Part("spec.machines[].clusterSelector", SELECTOR),
    Part("spec.machines[].selector", SELECTOR),
    Part("spec.pods[].namespaceSelector", SELECTOR),
    Part("spec.pods[].selector", SELECTOR),
];

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        group: GROUP,
        kinds: &["Cluster"],
        versions: &["v1beta1"],
        rows: &[
            Keyed("spec.availabilityGates", CONDITION_TYPE),
            Value("spec.topology.version", Version),
            Keyed("spec.topology.variables", NAME),
            Part("spec.topology.controlPlane", TOPOLOGY_1),
            Part("spec.topology.controlPlane", TIMEOUTS),
            Keyed("spec.topology.workers.machineDeployments", NAME),
            Part("spec.topology.workers.machineDeployments[]", TOPOLOGY_1),
            Part("spec.topology.workers.machineDeployments[]", TIMEOUTS),
            Keyed("spec.topology.workers.machinePools", NAME),
            Part("spec.topology.workers.machinePools[]", POOL_TOPOLOGY),
            Part("spec.topology.workers.machinePools[]", TIMEOUTS),
        ],
    },
    Entry {
        group: GROUP,
        kinds: &["Cluster"],
        versions: &["v1beta2"],
        rows: &[
            Keyed("spec.availabilityGates", CONDITION_TYPE),
            Atomic(&["spec.clusterNetwork.pods.cidrBlocks", "spec.clusterNetwork.services.cidrBlocks"]),
            Value("spec.topology.version", Version),
            Keyed("spec.topology.variables", NAME),
            Part("spec.topology.controlPlane", TOPOLOGY_2),
            Keyed("spec.topology.workers.machineDeployments", NAME),
            Part("spec.topology.workers.machineDeployments[]", TOPOLOGY_2),
            Keyed("spec.topology.workers.machinePools", NAME),
            Part("spec.topology.workers.machinePools[]", POOL_TOPOLOGY),
            Atomic(&["spec.topology.workers.machinePools[].failureDomains"]),
        ],
    },
    Entry {
        group: GROUP,
        kinds: &["ClusterClass"],
        versions: &["v1beta1"],
        rows: &[
            Keyed("spec.availabilityGates", CONDITION_TYPE),
            Atomic(&["spec.kubernetesVersions"]),
            Part("spec.controlPlane", CLASS_1),
            Part("spec.controlPlane", TIMEOUTS),
            Keyed("spec.workers.machineDeployments", &["class"]),
            Part("spec.workers.machineDeployments[]", CLASS_1),
            Part("spec.workers.machineDeployments[]", TIMEOUTS),
            Keyed("spec.workers.machinePools", &["class"]),
            Keyed("spec.workers.machinePools[].taints", TAINT),
            Part("spec.workers.machinePools[]", TIMEOUTS),
            Keyed("spec.variables[].schema.openAPIV3Schema.x-kubernetes-validations", &["rule"]),
        ],
    },
    Entry {
        group: GROUP,
        kinds: &["ClusterClass"],
        versions: &["v1beta2"],
        rows: &[
            Keyed("spec.availabilityGates", CONDITION_TYPE),
            Atomic(&[
                "spec.kubernetesVersions",
                "spec.patches",
                "spec.patches[].definitions",
                "spec.patches[].definitions[].jsonPatches",
                "spec.patches[].definitions[].selector.matchResources.machineDeploymentClass.names",
                "spec.patches[].definitions[].selector.matchResources.machinePoolClass.names",
                "spec.variables",
                "spec.variables[].schema.openAPIV3Schema.enum",
                "spec.variables[].schema.openAPIV3Schema.required",
                "spec.workers.machinePools[].failureDomains",
            ]),
            Part("spec.controlPlane", CLASS_2),
            Keyed("spec.workers.machineDeployments", &["class"]),
            Part("spec.workers.machineDeployments[]", CLASS_2),
            Keyed("spec.workers.machinePools", &["class"]),
            Keyed("spec.workers.machinePools[].taints", TAINT),
            Keyed("spec.variables[].schema.openAPIV3Schema.x-kubernetes-validations", &["rule"]),
        ],
    },
    Entry {
        group: GROUP,
        kinds: &["Machine"],
        versions: &["v1beta1"],
        rows: &[Part("spec", MACHINE), Part("spec", TIMEOUTS)],
    },
    Entry { group: GROUP, kinds: &["Machine"], versions: &["v1beta2"], rows: &[Part("spec", MACHINE)] },
    Entry {
        group: GROUP,
        kinds: &["MachineDeployment", "MachineSet"],
        versions: &["v1beta1"],
        rows: &[
            Part("spec.selector", SELECTOR),
            Part("spec.template.spec", MACHINE),
            Part("spec.template.spec", TIMEOUTS),
        ],
    },
    Entry {
        group: GROUP,
        kinds: &["MachineDeployment", "MachineSet"],
        versions: &["v1beta2"],
        rows: &[Part("spec.selector", SELECTOR), Part("spec.template.spec", MACHINE)],
    },
    Entry {
        group: GROUP,
        kinds: &["MachinePool"],
        versions: &["v1beta1"],
        rows: &[Part("spec.template.spec", MACHINE), Part("spec.template.spec", TIMEOUTS)],
    },
    Entry {
        group: GROUP,
        kinds: &["MachinePool"],
        versions: &["v1beta2"],
        rows: &[Part("spec.template.spec", MACHINE), Atomic(&["spec.failureDomains", "spec.providerIDList"])],
    },
    // Until v1alpha4 pools had a group of their own.
    Entry {
        group: "exp.cluster.x-k8s.io",
        kinds: &["MachinePool"],
        versions: &["v1beta1"],
        rows: &[Part("spec.template.spec", MACHINE), Part("spec.template.spec", TIMEOUTS)],
    },
    Entry {
        group: GROUP,
        kinds: &["MachineHealthCheck"],
        versions: &["v1beta1"],
        rows: &[Part("spec.selector", SELECTOR), Part("spec", HEALTH_1)],
    },
    Entry {
        group: GROUP,
        kinds: &["MachineHealthCheck"],
        versions: &["v1beta2"],
        rows: &[Part("spec.selector", SELECTOR), Part("spec", HEALTH_2)],
    },
    Entry { group: GROUP, kinds: &["MachineDrainRule"], versions: &[], rows: DRAIN_RULE },
    Entry {
        group: "addons.cluster.x-k8s.io",
        kinds: &["ClusterResourceSet"],
        versions: &["v1beta1"],
        rows: &[Part("spec.clusterSelector", SELECTOR)],
    },
    Entry {
        group: "addons.cluster.x-k8s.io",
        kinds: &["ClusterResourceSet"],
        versions: &["v1beta2"],
        rows: &[Part("spec.clusterSelector", SELECTOR), Atomic(&["spec.resources"])],
    },
    Entry {
        group: "addons.cluster.x-k8s.io",
        kinds: &["ClusterResourceSetBinding"],
        versions: &["v1beta2"],
        rows: &[Atomic(&["spec.bindings", "spec.bindings[].resources"])],
    },
    Entry {
        group: "runtime.cluster.x-k8s.io",
        kinds: &["ExtensionConfig"],
        versions: &[],
        rows: &[Part("spec.namespaceSelector", SELECTOR)],
    },
    // Control planes of other providers follow the contract in this.
    Entry {
        group: "controlplane.cluster.x-k8s.io",
        kinds: &["*"],
        versions: &[],
        rows: &[Value("spec.version", Version), Part("spec.machineTemplate", TIMEOUTS)],
    },
];
