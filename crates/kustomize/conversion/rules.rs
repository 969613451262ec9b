//! What Cluster API changed between v1beta1 and v1beta2, type by type.
//!
//! From its conversion webhooks (version 1.14: `core/webhooks/conversion`,
//! `bootstrap/kubeadm/webhooks/conversion`, `controlplane/kubeadm/webhooks/conversion`) and the functions
//! that they call in `api/…/v1beta1/conversion.go`. Paths are below the rule's v1beta1 type; a field without
//! a rule has the same name in both versions. Rules of deeper fields come before those of the fields around
//! them. A test reads both tables of fields and fails where a field of v1beta1 goes nowhere.

/// What becomes of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConversionRule {
    /// It moves; its content is converted on the way.
    Move(&'static str, &'static str),
    /// A duration goes elsewhere, as whole seconds.
    Seconds(&'static str, &'static str),
    /// The same, where v1beta1 cannot tell no time from none given: `0s` goes.
    SecondsUnlessZero(&'static str, &'static str),
    /// A duration also counts elsewhere, as whole seconds; the field itself is another rule's.
    SecondsToo(&'static str, &'static str),
    /// A map of arguments becomes a list of names and values, ordered by name.
    Arguments(&'static str),
    /// A reference keeps the group of its `apiVersion`, as `apiGroup`, its kind and its name, there or
    /// elsewhere.
    Reference(&'static str, &'static str),
    /// A reference goes elsewhere with `apiVersion`, kind and name.
    VersionedReference(&'static str, &'static str),
    /// It means nothing (any more).
    Drop(&'static str),
    /// Where one of the fields has a value, the mapping that holds them gets a text in a field that has none.
    Default(&'static [&'static str], &'static str, &'static str, &'static str),
    /// A list, the field that names its items, and a switch that Cluster API's own conversion takes from
    /// the first of several items of one name.
    FirstOf(&'static str, &'static str, &'static str),
    /// A list whose items its own conversion tells apart by this field.
    Unique(&'static str, &'static str),
}

use ConversionRule::{
    Arguments, Default, Drop, FirstOf, Move, Reference, Seconds, SecondsToo, SecondsUnlessZero, Unique,
    VersionedReference,
};

/// Rules, and the types of v1beta1 at which they stand.
pub(super) const RULES: &[(&[&str], &[ConversionRule])] = &[
    (
        &["ClusterSpec"],
        &[
            Reference("controlPlaneRef", "controlPlaneRef"),
            Reference("infrastructureRef", "infrastructureRef"),
        ],
    ),
    (
        &["Topology"],
        &[
            Move("class", "classRef.name"),
            Move("classNamespace", "classRef.namespace"),
            // It never did anything.
            Drop("rolloutAfter"),
        ],
    ),
    (&["ClusterVariable"], &[Drop("definitionFrom")]),
    (&["MachineSpec"], &[Reference("infrastructureRef", "infrastructureRef")]),
    (&["Bootstrap"], &[Reference("configRef", "configRef")]),
    (
        &[
            "ControlPlaneClass",
            "ControlPlaneTopology",
            "MachineDeploymentClass",
            "MachineDeploymentTopology",
            "MachinePoolClass",
            "MachinePoolTopology",
            "MachineSpec",
        ],
        &[
            Seconds("nodeDrainTimeout", "deletion.nodeDrainTimeoutSeconds"),
            Seconds("nodeVolumeDetachTimeout", "deletion.nodeVolumeDetachTimeoutSeconds"),
            Seconds("nodeDeletionTimeout", "deletion.nodeDeletionTimeoutSeconds"),
        ],
    ),
    (
        &["MachineDeploymentClass", "MachineDeploymentTopology"],
        &[
            // No webhook fills it in here, and the newer version requires it.
            Default(
                &["strategy.rollingUpdate.maxSurge", "strategy.rollingUpdate.maxUnavailable"],
                "strategy",
                "type",
                "RollingUpdate",
            ),
            Move("strategy.rollingUpdate.deletePolicy", "deletion.order"),
            Move("strategy.remediation.maxInFlight", "healthCheck.remediation.maxInFlight"),
            Drop("strategy.remediation"),
            Move("strategy", "rollout.strategy"),
        ],
    ),
    (
        &["ControlPlaneTopology", "MachineDeploymentTopology"],
        &[Move("machineHealthCheck.enable", "healthCheck.enabled")],
    ),
    (
        &["ControlPlaneClass", "ControlPlaneTopology", "MachineDeploymentClass", "MachineDeploymentTopology"],
        &[
            Move("machineHealthCheck.unhealthyConditions", "healthCheck.checks.unhealthyNodeConditions"),
            Move(
                "machineHealthCheck.unhealthyMachineConditions",
                "healthCheck.checks.unhealthyMachineConditions",
            ),
            Seconds("machineHealthCheck.nodeStartupTimeout", "healthCheck.checks.nodeStartupTimeoutSeconds"),
            Move(
                "machineHealthCheck.maxUnhealthy",
                "healthCheck.remediation.triggerIf.unhealthyLessThanOrEqualTo",
            ),
            Move("machineHealthCheck.unhealthyRange", "healthCheck.remediation.triggerIf.unhealthyInRange"),
            VersionedReference(
                "machineHealthCheck.remediationTemplate",
                "healthCheck.remediation.templateRef",
            ),
        ],
    ),
    (
        &["MachineHealthCheckSpec"],
        &[
            Move("unhealthyConditions", "checks.unhealthyNodeConditions"),
            Move("unhealthyMachineConditions", "checks.unhealthyMachineConditions"),
            Seconds("nodeStartupTimeout", "checks.nodeStartupTimeoutSeconds"),
            Move("maxUnhealthy", "remediation.triggerIf.unhealthyLessThanOrEqualTo"),
            Move("unhealthyRange", "remediation.triggerIf.unhealthyInRange"),
            VersionedReference("remediationTemplate", "remediation.templateRef"),
        ],
    ),
    (&["UnhealthyCondition", "UnhealthyMachineCondition"], &[Seconds("timeout", "timeoutSeconds")]),
    (
        &["ClusterClassSpec"],
        &[
            Move("infrastructureNamingStrategy", "infrastructure.naming"),
            Unique("patches", "name"),
            Unique("variables", "name"),
        ],
    ),
    (&["LocalObjectTemplate", "ControlPlaneClass"], &[VersionedReference("ref", "templateRef")]),
    (&["ControlPlaneClass"], &[Move("namingStrategy", "naming")]),
    (
        &["MachineDeploymentClass", "MachinePoolClass"],
        &[
            Move("template.metadata", "metadata"),
            Move("template.bootstrap", "bootstrap"),
            Move("template.infrastructure", "infrastructure"),
            Move("namingStrategy", "naming"),
        ],
    ),
    (&["ClusterClassVariable"], &[Move("metadata", "deprecatedV1Beta1Metadata")]),
    (
        &["ExternalPatchDefinition"],
        &[
            Move("generateExtension", "generatePatchesExtension"),
            Move("validateExtension", "validateTopologyExtension"),
        ],
    ),
    (
        &["MachineDeploymentSpec", "MachinePoolSpec", "MachineSetSpec"],
        &[Move("minReadySeconds", "template.spec.minReadySeconds")],
    ),
    (
        &["MachineDeploymentSpec"],
        &[
            Move("rolloutAfter", "rollout.after"),
            Move("strategy.rollingUpdate.deletePolicy", "deletion.order"),
            Move("strategy.remediation.maxInFlight", "remediation.maxInFlight"),
            Drop("strategy.remediation"),
            Move("strategy", "rollout.strategy"),
            // Neither ever did anything since v1beta1.
            Drop("progressDeadlineSeconds"),
            Drop("revisionHistoryLimit"),
        ],
    ),
    (&["MachineSetSpec"], &[Move("deletePolicy", "deletion.order")]),
    (
        &[
            "KubeadmControlPlaneSpec",
            "KubeadmControlPlaneTemplateResourceSpec",
            "MachineDeploymentSpec",
            "MachineSetSpec",
        ],
        &[Move("machineNamingStrategy", "machineNaming")],
    ),
    (
        &["KubeadmConfigSpec"],
        &[
            SecondsToo(
                "clusterConfiguration.apiServer.timeoutForControlPlane",
                "initConfiguration.timeouts.controlPlaneComponentHealthCheckSeconds",
            ),
            Seconds(
                "clusterConfiguration.apiServer.timeoutForControlPlane",
                "joinConfiguration.timeouts.controlPlaneComponentHealthCheckSeconds",
            ),
            Seconds("joinConfiguration.discovery.timeout", "joinConfiguration.timeouts.tlsBootstrapSeconds"),
            Drop("useExperimentalRetryJoin"),
            FirstOf("files", "path", "append"),
            FirstOf("clusterConfiguration.apiServer.extraVolumes", "hostPath", "readOnly"),
            FirstOf("clusterConfiguration.controllerManager.extraVolumes", "hostPath", "readOnly"),
            FirstOf("clusterConfiguration.scheduler.extraVolumes", "hostPath", "readOnly"),
        ],
    ),
    (
        &["ClusterConfiguration"],
        // What Cluster API fills in itself, from the Cluster and its control plane.
        &[
            Drop("apiVersion"),
            Drop("kind"),
            Drop("networking"),
            Drop("kubernetesVersion"),
            Drop("clusterName"),
        ],
    ),
    (&["InitConfiguration", "JoinConfiguration"], &[Drop("apiVersion"), Drop("kind")]),
    (&["APIServer", "ControlPlaneComponent", "LocalEtcd"], &[Arguments("extraArgs")]),
    (&["NodeRegistrationOptions"], &[Arguments("kubeletExtraArgs")]),
    (&["BootstrapToken"], &[Seconds("ttl", "ttlSeconds")]),
    (
        &["KubeadmControlPlaneTemplateResourceSpec"],
        &[Default(&["rolloutStrategy"], "rolloutStrategy", "type", "RollingUpdate")],
    ),
    (
        &["KubeadmControlPlaneSpec", "KubeadmControlPlaneTemplateResourceSpec"],
        &[
            Move("rolloutBefore", "rollout.before"),
            Move("rolloutAfter", "rollout.after"),
            Move("rolloutStrategy", "rollout.strategy"),
            Move("remediationStrategy", "remediation"),
        ],
    ),
    (
        &["KubeadmRemediationStrategy"],
        &[
            SecondsUnlessZero("retryPeriod", "retryPeriodSeconds"),
            Seconds("minHealthyPeriod", "minHealthyPeriodSeconds"),
        ],
    ),
    (
        &["KubeadmControlPlaneMachineTemplate"],
        &[
            Reference("infrastructureRef", "spec.infrastructureRef"),
            Move("readinessGates", "spec.readinessGates"),
        ],
    ),
    (
        &["KubeadmControlPlaneMachineTemplate", "KubeadmControlPlaneTemplateMachineTemplate"],
        &[
            Seconds("nodeDrainTimeout", "spec.deletion.nodeDrainTimeoutSeconds"),
            Seconds("nodeVolumeDetachTimeout", "spec.deletion.nodeVolumeDetachTimeoutSeconds"),
            Seconds("nodeDeletionTimeout", "spec.deletion.nodeDeletionTimeoutSeconds"),
            Move("taints", "spec.taints"),
        ],
    ),
];

/// The rules at a type, in the order of the table.
pub(super) fn at(name: &str) -> impl Iterator<Item = ConversionRule> {
    RULES.iter().filter(move |(types, _)| types.contains(&name)).flat_map(|(_, rules)| rules.iter().copied())
}

impl ConversionRule {
    /// The field that it takes care of, if it does.
    pub(super) const fn field(self) -> Option<&'static str> {
        match self {
            Move(from, _)
            | Seconds(from, _)
            | SecondsUnlessZero(from, _)
            | VersionedReference(from, _)
            | Reference(from, _)
            | Arguments(from)
            | Drop(from) => Some(from),
            SecondsToo(..) | Default(..) | FirstOf(..) | Unique(..) => None,
        }
    }

    /// Where it puts a value.
    pub(super) const fn target(self) -> Option<&'static str> {
        match self {
            Move(_, to)
            | Seconds(_, to)
            | SecondsUnlessZero(_, to)
            | SecondsToo(_, to)
            | VersionedReference(_, to)
            | Reference(_, to)
            | Arguments(to) => Some(to),
            Drop(_) | Default(..) | FirstOf(..) | Unique(..) => None,
        }
    }
}
