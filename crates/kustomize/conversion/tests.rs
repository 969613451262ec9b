//! Rules and refusals, by example: each expected object was written by hand.

use super::rules::{self, ConversionRule, RULES};
use super::{AtHand, ConversionStep, Unconvertible, apply, convert, convert_or_all};
use crate::schema::{FieldContent, Schemas, TypeFields, Zero};
use capstan_yaml::{Node, Value, YamlFile};

fn read(text: &str) -> Node {
    YamlFile::read(text).unwrap().documents()[0].root.clone()
}

/// `kind`'s group, for the kinds of these tests.
fn group(kind: &str) -> &'static str {
    match kind {
        "KubeadmConfig" | "KubeadmConfigTemplate" => "bootstrap.cluster.x-k8s.io",
        "KubeadmControlPlane" | "KubeadmControlPlaneTemplate" => "controlplane.cluster.x-k8s.io",
        "ClusterResourceSet" => "addons.cluster.x-k8s.io",
        "IPAddress" => "ipam.cluster.x-k8s.io",
        _ => "cluster.x-k8s.io",
    }
}

fn object(kind: &str, version: &str, spec: &str) -> Node {
    let group = group(kind);
    read(&format!("{{apiVersion: {group}/{version}, kind: {kind}, metadata: {{name: x}}, spec: {spec}}}"))
}

fn to_beta2(object: &Node) -> Result<Value, Box<Unconvertible>> {
    let kind = object.text_at("kind").unwrap();
    let conversion = convert(object, &format!("{}/v1beta2", group(kind)), Schemas::built_in())?;
    let mut after = object.clone();
    apply(&mut after, &conversion);
    Ok(after.value())
}

/// Kind, spec in v1beta1, spec in v1beta2.
const CONVERTED: &[(&str, &str, &str)] = &[
    // References only keep their group; everything else in them is removed.
    (
        "Cluster",
        "{paused: true, controlPlaneRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, name: cp, namespace: ns}, infrastructureRef: {kind: DockerCluster, name: c, apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, uid: u}}",
        "{paused: true, controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: cp}, infrastructureRef: {kind: DockerCluster, name: c, apiGroup: infrastructure.cluster.x-k8s.io}}",
    ),
    // A reference to the core group has no apiGroup; a version may be a variable.
    (
        "Machine",
        "{clusterName: c, infrastructureRef: {apiVersion: v1, kind: Pod, name: p}, bootstrap: {configRef: {apiVersion: 'bootstrap.cluster.x-k8s.io/${V}', kind: K, name: '${NAME}-k'}}}",
        "{clusterName: c, infrastructureRef: {kind: Pod, name: p}, bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: K, name: '${NAME}-k'}}}",
    ),
    // Durations become whole seconds: cut, not rounded; zero is a value; what is too long is cut to 32 bits.
    (
        "Machine",
        "{clusterName: c, bootstrap: {dataSecretName: ''}, nodeDrainTimeout: 1m30.9s, nodeVolumeDetachTimeout: 0s, nodeDeletionTimeout: 1000000h}",
        "{clusterName: c, bootstrap: {dataSecretName: ''}, deletion: {nodeDrainTimeoutSeconds: 90, nodeVolumeDetachTimeoutSeconds: 0, nodeDeletionTimeoutSeconds: 2147483647}}",
    ),
    // A topology's strategy needs its type, which nobody else fills in.
    (
        "Cluster",
        "{topology: {class: k, version: v1.33.1, workers: {machineDeployments: [{class: w, name: md, strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}}]}}}",
        "{topology: {classRef: {name: k}, version: v1.33.1, workers: {machineDeployments: [{class: w, name: md, rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}}}]}}}",
    ),
    // A strategy is taken apart; what it leaves empty goes.
    (
        "MachineDeployment",
        "{clusterName: c, replicas: 0, paused: false, minReadySeconds: 10, progressDeadlineSeconds: 600, revisionHistoryLimit: 1, rolloutAfter: '2026-01-02T03:04:05Z', selector: {matchLabels: null}, strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 50%, deletePolicy: Oldest}, remediation: {maxInFlight: 1}}, template: {spec: {clusterName: c, version: v1.35.1}}}",
        "{clusterName: c, replicas: 0, selector: {}, rollout: {after: '2026-01-02T03:04:05Z', strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 50%}}}, deletion: {order: Oldest}, remediation: {maxInFlight: 1}, template: {spec: {clusterName: c, version: v1.35.1, minReadySeconds: 10}}}",
    ),
    (
        "MachineDeployment",
        "{strategy: {rollingUpdate: {deletePolicy: Random}}, machineNamingStrategy: {template: t}}",
        "{deletion: {order: Random}, machineNaming: {template: t}}",
    ),
    // What v1beta1 cannot tell from nothing says nothing.
    (
        "MachineSet",
        "{minReadySeconds: 0, deletePolicy: '', template: {spec: {failureDomain: '', taints: []}}, selector: {}}",
        "{selector: {}}",
    ),
    (
        "MachinePool",
        "{minReadySeconds: 0, template: {spec: {version: v1}}}",
        "{template: {spec: {version: v1, minReadySeconds: 0}}}",
    ),
    (
        "MachineHealthCheck",
        "{clusterName: c, selector: {matchLabels: {a: b}}, maxUnhealthy: 40%, unhealthyRange: '[1-3]', nodeStartupTimeout: 10m, unhealthyConditions: [{type: Ready, status: Unknown, timeout: 300s}], unhealthyMachineConditions: [{type: Ready, status: 'False', timeout: 0s}], remediationTemplate: {apiVersion: x.io/v1, kind: K, name: r, namespace: ns}}",
        "{clusterName: c, selector: {matchLabels: {a: b}}, checks: {nodeStartupTimeoutSeconds: 600, unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 300}], unhealthyMachineConditions: [{type: Ready, status: 'False', timeoutSeconds: 0}]}, remediation: {triggerIf: {unhealthyLessThanOrEqualTo: 40%, unhealthyInRange: '[1-3]'}, templateRef: {apiVersion: x.io/v1, kind: K, name: r}}}",
    ),
    // Topologies: the class is a reference, health checks and timeouts go into groups.
    (
        "Cluster",
        "{topology: {class: quick, classNamespace: classes, version: v1.35.1, rolloutAfter: '2026-01-02T03:04:05Z', variables: [{name: a, value: {b: 1}, definitionFrom: ''}], controlPlane: {replicas: 3, machineHealthCheck: {enable: false, maxUnhealthy: 1}}, workers: {machineDeployments: [{class: w, name: w, nodeDrainTimeout: 5m, strategy: {type: OnDelete, remediation: {maxInFlight: 20%}}, variables: {overrides: [{name: a, value: null}]}}], machinePools: [{class: p, name: p, failureDomains: []}]}}}",
        "{topology: {classRef: {name: quick, namespace: classes}, version: v1.35.1, variables: [{name: a, value: {b: 1}}], controlPlane: {replicas: 3, healthCheck: {enabled: false, remediation: {triggerIf: {unhealthyLessThanOrEqualTo: 1}}}}, workers: {machineDeployments: [{class: w, name: w, deletion: {nodeDrainTimeoutSeconds: 300}, rollout: {strategy: {type: OnDelete}}, healthCheck: {remediation: {maxInFlight: 20%}}, variables: {overrides: [{name: a}]}}], machinePools: [{class: p, name: p}]}}}",
    ),
    // Classes: references keep their version, so patches' paths keep their meaning.
    (
        "ClusterClass",
        "{infrastructure: {ref: {apiVersion: i.io/v1beta1, kind: T, name: t, namespace: ns}}, infrastructureNamingStrategy: {template: x}, controlPlane: {metadata: {labels: {a: b}}, ref: {apiVersion: c.io/v1beta1, kind: C, name: c}, machineInfrastructure: {ref: {apiVersion: i.io/v1beta1, kind: M, name: m}}, namingStrategy: {template: yy}, machineHealthCheck: {}}, workers: {machineDeployments: [{class: w, template: {metadata: {}, bootstrap: {ref: {apiVersion: b.io/v1beta1, kind: B, name: b}}, infrastructure: {ref: {apiVersion: i.io/v1beta1, kind: M, name: m}}}, namingStrategy: {template: z}}]}}",
        "{infrastructure: {templateRef: {apiVersion: i.io/v1beta1, kind: T, name: t}, naming: {template: x}}, controlPlane: {metadata: {labels: {a: b}}, templateRef: {apiVersion: c.io/v1beta1, kind: C, name: c}, machineInfrastructure: {templateRef: {apiVersion: i.io/v1beta1, kind: M, name: m}}, naming: {template: yy}}, workers: {machineDeployments: [{class: w, bootstrap: {templateRef: {apiVersion: b.io/v1beta1, kind: B, name: b}}, infrastructure: {templateRef: {apiVersion: i.io/v1beta1, kind: M, name: m}}, naming: {template: z}}]}}",
    ),
    (
        "ClusterClass",
        "{variables: [{name: v, required: false, metadata: {labels: {a: b}}, schema: {openAPIV3Schema: {type: object, properties: {x: {type: array, uniqueItems: false, items: {type: string, x-kubernetes-int-or-string: true}, default: []}}}}}], patches: [{name: p, enabledIf: '', external: {generateExtension: g, validateExtension: v, settings: {}}, definitions: [{selector: {apiVersion: b.io/v1beta1, kind: B, matchResources: {controlPlane: false, infrastructureCluster: true}}, jsonPatches: [{op: add, path: /spec/template/spec/kubeletExtraArgs, value: {v: '4'}}]}]}]}",
        "{variables: [{name: v, required: false, deprecatedV1Beta1Metadata: {labels: {a: b}}, schema: {openAPIV3Schema: {type: object, properties: {x: {type: array, items: {type: string, x-kubernetes-int-or-string: true}, default: []}}}}}], patches: [{name: p, external: {generatePatchesExtension: g, validateTopologyExtension: v}, definitions: [{selector: {apiVersion: b.io/v1beta1, kind: B, matchResources: {infrastructureCluster: true}}, jsonPatches: [{op: add, path: /spec/template/spec/kubeletExtraArgs, value: {v: '4'}}]}]}]}",
    ),
    // Arguments in the order of their names; timeouts to their own group, the API server's to both.
    (
        "KubeadmConfig",
        "{clusterConfiguration: {apiVersion: kubeadm.k8s.io/v1beta3, kind: ClusterConfiguration, clusterName: c, kubernetesVersion: v1, networking: {podSubnet: 10.0.0.0/8}, apiServer: {timeoutForControlPlane: 20m, extraArgs: {v: '4', audit-log: '', Zone: z}, extraVolumes: [{name: a, hostPath: /a, mountPath: /a, readOnly: false}]}, etcd: {local: {}}}, joinConfiguration: {discovery: {timeout: 5m0s}, nodeRegistration: {taints: [], kubeletExtraArgs: {}}}, useExperimentalRetryJoin: true, files: [{path: /a, append: false, content: '${X}'}], format: ''}",
        "{clusterConfiguration: {apiServer: {extraArgs: [{name: Zone, value: z}, {name: audit-log, value: ''}, {name: v, value: '4'}], extraVolumes: [{name: a, hostPath: /a, mountPath: /a}]}}, joinConfiguration: {timeouts: {controlPlaneComponentHealthCheckSeconds: 1200, tlsBootstrapSeconds: 300}, nodeRegistration: {taints: []}}, initConfiguration: {timeouts: {controlPlaneComponentHealthCheckSeconds: 1200}}, files: [{path: /a, content: '${X}'}]}",
    ),
    // An empty mapping that counts stays; truth values that tell false from nothing keep it.
    (
        "KubeadmConfigTemplate",
        "{template: {spec: {joinConfiguration: {controlPlane: {localAPIEndpoint: {advertiseAddress: ''}}}, users: [{name: u, lockPassword: false, inactive: false, gecos: ''}], diskSetup: {partitions: [{device: d, layout: false, overwrite: false}]}, ntp: {enabled: false, servers: []}, initConfiguration: {bootstrapTokens: [{token: abcdef.0123456789abcdef, ttl: 24h, expires: null}]}}}}",
        "{template: {spec: {joinConfiguration: {controlPlane: {}}, users: [{name: u, lockPassword: false, inactive: false}], diskSetup: {partitions: [{device: d, layout: false, overwrite: false}]}, ntp: {enabled: false}, initConfiguration: {bootstrapTokens: [{token: abcdef.0123456789abcdef, ttlSeconds: 86400}]}}}}",
    ),
    (
        "KubeadmControlPlane",
        "{replicas: 3, version: '${VERSION}', machineTemplate: {metadata: {labels: {a: ''}}, infrastructureRef: {apiVersion: i.io/v1beta1, kind: M, name: m}, nodeDrainTimeout: 1m, readinessGates: [{conditionType: A}], taints: [{key: k, effect: NoSchedule, propagation: Always}]}, rolloutBefore: {certificatesExpiryDays: 21}, rolloutAfter: '2026-01-02T03:04:05Z', rolloutStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0}}, remediationStrategy: {maxRetry: 0, retryPeriod: 0s, minHealthyPeriod: 1h}, machineNamingStrategy: {template: t}, kubeadmConfigSpec: {initConfiguration: {nodeRegistration: {kubeletExtraArgs: {node-labels: a=b}}}}}",
        "{replicas: 3, version: '${VERSION}', machineTemplate: {metadata: {labels: {a: ''}}, spec: {infrastructureRef: {apiGroup: i.io, kind: M, name: m}, deletion: {nodeDrainTimeoutSeconds: 60}, readinessGates: [{conditionType: A}], taints: [{key: k, effect: NoSchedule, propagation: Always}]}}, rollout: {before: {certificatesExpiryDays: 21}, after: '2026-01-02T03:04:05Z', strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0}}}, remediation: {maxRetry: 0, minHealthyPeriodSeconds: 3600}, machineNaming: {template: t}, kubeadmConfigSpec: {initConfiguration: {nodeRegistration: {kubeletExtraArgs: [{name: node-labels, value: a=b}]}}}}",
    ),
    (
        "KubeadmControlPlaneTemplate",
        "{template: {spec: {kubeadmConfigSpec: {format: ignition}, rolloutStrategy: {rollingUpdate: {}}}}}",
        "{template: {spec: {kubeadmConfigSpec: {format: ignition}, rollout: {strategy: {type: RollingUpdate}}}}}",
    ),
    // A strategy of workers of which nothing is left needs no type.
    (
        "ClusterClass",
        "{workers: {machineDeployments: [{class: w, strategy: {rollingUpdate: {deletePolicy: Oldest}, remediation: {maxInFlight: 1}}}]}}",
        "{workers: {machineDeployments: [{class: w, deletion: {order: Oldest}, healthCheck: {remediation: {maxInFlight: 1}}}]}}",
    ),
    // A template of a control plane gets the type that v1beta1 filled in.
    (
        "KubeadmControlPlaneTemplate",
        "{template: {spec: {kubeadmConfigSpec: {format: ignition}, rolloutStrategy: {rollingUpdate: {maxSurge: 1}}, machineTemplate: {nodeDeletionTimeout: 10s}}}}",
        "{template: {spec: {kubeadmConfigSpec: {format: ignition}, rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}, machineTemplate: {spec: {deletion: {nodeDeletionTimeoutSeconds: 10}}}}}}",
    ),
    ("ClusterResourceSet", "{clusterSelector: {}, resources: [], strategy: ''}", "{clusterSelector: {}}"),
    (
        "IPAddress",
        "{prefix: 0, claimRef: {name: c}, poolRef: {apiGroup: '', kind: K, name: p}, gateway: ''}",
        "{prefix: 0, claimRef: {name: c}, poolRef: {kind: K, name: p}}",
    ),
    // What neither version knows is the server's to drop, today as tomorrow.
    ("Machine", "{clusterName: c, colour: {}}", "{clusterName: c, colour: {}}"),
];

#[test]
fn objects_become_what_cluster_api_makes_of_them() {
    for (kind, before, after) in CONVERTED {
        let before = object(kind, "v1beta1", before);
        let expected = object(kind, "v1beta2", after).value();
        assert_eq!(to_beta2(&before), Ok(expected), "{kind} {before:?}");
        let again = object(kind, "v1beta2", after);
        assert_eq!(to_beta2(&again), Ok(again.value()), "{kind} stands in v1beta2 already");
    }
}

#[test]
fn steps_are_fine_and_in_order() {
    let before = object(
        "MachineDeployment",
        "v1beta1",
        "{strategy: {rollingUpdate: {maxSurge: 1, deletePolicy: Oldest}}, template: {spec: {infrastructureRef: {apiVersion: i.io/v1beta1, kind: M, name: m}, nodeDrainTimeout: 1m}}}",
    );
    let conversion = convert(&before, "cluster.x-k8s.io/v1beta2", Schemas::built_in()).unwrap();
    let written: Vec<String> = conversion.steps.iter().map(written).collect();
    let expected = [
        "replace /apiVersion with \"cluster.x-k8s.io/v1beta2\"",
        "move /spec/strategy/rollingUpdate/deletePolicy to /spec/deletion/order",
        "move /spec/strategy to /spec/rollout/strategy",
        "replace /spec/template/spec/infrastructureRef/apiVersion with \"i.io\"",
        "move /spec/template/spec/infrastructureRef/apiVersion to /spec/template/spec/infrastructureRef/apiGroup",
        "replace /spec/template/spec/nodeDrainTimeout with 60",
        "move /spec/template/spec/nodeDrainTimeout to /spec/template/spec/deletion/nodeDrainTimeoutSeconds",
    ];
    assert_eq!(written, expected);
}

fn written(step: &ConversionStep) -> String {
    match step {
        ConversionStep::Move { from, to } => format!("move {from} to {to}"),
        ConversionStep::Replace { at, value } | ConversionStep::Itemize { at, value, .. } => {
            format!("replace {at} with {}", value.value())
        }
        ConversionStep::Remove { at } => format!("remove {at}"),
        ConversionStep::Add { at, value } => format!("add {at}: {}", value.value()),
    }
}

#[test]
fn what_cannot_be_converted_is_refused_by_name() {
    // Kind, spec, the field that is named, a part of the reason.
    let cases = [
        (
            "Machine",
            "{nodeDrainTimeout: '${T}'}",
            "/spec/nodeDrainTimeout",
            "the value of the variable is unknown",
        ),
        ("Machine", "{nodeDrainTimeout: 90}", "/spec/nodeDrainTimeout", "a duration is needed"),
        ("Machine", "{nodeDrainTimeout: 1d}", "/spec/nodeDrainTimeout", "not a duration"),
        ("Machine", "{infrastructureRef: '${REF}'}", "/spec/infrastructureRef", "a mapping is needed"),
        (
            "Machine",
            "{infrastructureRef: {apiVersion: '${V}'}}",
            "/spec/infrastructureRef/apiVersion",
            "the API group must be known",
        ),
        (
            "Machine",
            "{infrastructureRef: {apiVersion: a/b/c}}",
            "/spec/infrastructureRef/apiVersion",
            "the API group must be known",
        ),
        ("Machine", "{deletion: {nodeDrainTimeoutSeconds: 5}}", "/spec/deletion", "would use it"),
        ("Machine", "{clusterName: [a]}", "/spec/clusterName", "a string is needed"),
        ("Machine", "{version: 1.35}", "/spec/version", "a string is needed"),
        ("Machine", "{taints: {a: b}}", "/spec/taints", "a list is needed"),
        ("Machine", "{taints: [null]}", "/spec/taints/0", "there is nothing"),
        (
            "MachineSet",
            "{minReadySeconds: 1, template: {spec: {minReadySeconds: 2}}}",
            "/spec/template/spec/minReadySeconds",
            "there is already a value",
        ),
        (
            "KubeadmConfig",
            "{clusterConfiguration: {scheduler: {extraArgs: {v: 4}}}}",
            "/spec/clusterConfiguration/scheduler/extraArgs/v",
            "must be a string",
        ),
        (
            "KubeadmConfig",
            "{clusterConfiguration: {scheduler: {extraArgs: [{name: v}]}}}",
            "/spec/clusterConfiguration/scheduler/extraArgs",
            "a mapping of names and values",
        ),
        (
            "KubeadmConfig",
            "{files: [{path: /a}, {path: /a, append: true}]}",
            "/spec/files/1/append",
            "the first one's `append`",
        ),
        ("ClusterClass", "{patches: [{name: a}, {name: a}]}", "/spec/patches/1/name", "occurs twice"),
        (
            "MachineHealthCheck",
            "{unhealthyConditions: [{timeout: null, status: x}]}",
            "/spec/unhealthyConditions/0/timeout",
            "a duration is needed",
        ),
    ];
    for (kind, spec, field, why) in cases {
        let before = object(kind, "v1beta1", spec);
        match to_beta2(&before) {
            Err(refused) => {
                assert_eq!(refused.field.to_string(), field, "{kind} {spec}");
                assert!(refused.why.contains(why), "{kind} {spec}: {}", refused.why);
            }
            Ok(after) => assert!(field.is_empty(), "{kind} {spec} became {after}"),
        }
    }
}

#[test]
fn one_look_shows_all_fields_that_prevent_a_conversion() {
    let before = object(
        "MachineDeployment",
        "v1beta1",
        "{rollout: {}, template: {spec: {nodeDrainTimeout: 1d, version: 1.35, taints: {a: b}, readinessGates: [{conditionType: 1}, {conditionType: 2}]}}}",
    );
    let (first, others) =
        convert_or_all(&before, "cluster.x-k8s.io/v1beta2", AtHand::Whole, Schemas::built_in()).unwrap_err();
    let fields: Vec<String> = [*first].iter().chain(&others).map(|why| why.field.to_string()).collect();
    let expected = [
        "/spec/rollout",
        "/spec/template/spec/nodeDrainTimeout",
        "/spec/template/spec/version",
        "/spec/template/spec/taints",
        "/spec/template/spec/readinessGates/0/conditionType",
        "/spec/template/spec/readinessGates/1/conditionType",
    ];
    assert_eq!(fields, expected);
    let config = object(
        "KubeadmConfig",
        "v1beta1",
        "{clusterConfiguration: {scheduler: {extraArgs: {v: 4, a: b, w: 5}}}, files: [{path: /a}, {path: /a, append: true}, {path: /a, append: true}]}",
    );
    let (first, others) =
        convert_or_all(&config, "bootstrap.cluster.x-k8s.io/v1beta2", AtHand::Whole, Schemas::built_in())
            .unwrap_err();
    let mut fields: Vec<String> = [*first].iter().chain(&others).map(|why| why.field.to_string()).collect();
    fields.sort();
    let expected = [
        "/spec/clusterConfiguration/scheduler/extraArgs/v",
        "/spec/clusterConfiguration/scheduler/extraArgs/w",
        "/spec/files/1/append",
        "/spec/files/2/append",
    ];
    assert_eq!(fields, expected);
}

#[test]
fn refusals_read_well() {
    let before = object("Machine", "v1beta1", "{nodeDrainTimeout: 90}");
    assert_eq!(
        to_beta2(&before).unwrap_err().to_string(),
        "Machine cannot be converted from cluster.x-k8s.io/v1beta1 to cluster.x-k8s.io/v1beta2 at \
         /spec/nodeDrainTimeout (90): a duration is needed here; write it as a string such as 10m"
    );
    let back = convert(&object("Machine", "v1beta2", "{}"), "cluster.x-k8s.io/v1beta1", Schemas::built_in());
    assert!(back.unwrap_err().to_string().contains("a conversion to an older version"));
    let noted = read(
        "{apiVersion: cluster.x-k8s.io/v1beta1, kind: Machine, metadata: {annotations: {cluster.x-k8s.io/conversion-data: '{}'}}, spec: {}}",
    );
    let field = to_beta2(&noted).unwrap_err().field;
    assert_eq!(field.to_string(), "/metadata/annotations/cluster.x-k8s.io~1conversion-data");
}

#[test]
fn alpha_versions_are_converted_where_v1beta1_knows_every_field() {
    let alpha = object(
        "KubeadmControlPlane",
        "v1alpha3",
        "{infrastructureTemplate: {apiVersion: i.io/v1alpha3, kind: M, name: m}, nodeDrainTimeout: 1m, kubeadmConfigSpec: {clusterConfiguration: {dns: {type: CoreDNS}}}}",
    );
    let beta = object(
        "KubeadmControlPlane",
        "v1beta2",
        "{machineTemplate: {spec: {infrastructureRef: {apiGroup: i.io, kind: M, name: m}, deletion: {nodeDrainTimeoutSeconds: 60}}}}",
    );
    let mut after = to_beta2(&alpha).unwrap();
    after["spec"].as_object_mut().unwrap().remove("kubeadmConfigSpec");
    assert_eq!(after, beta.value());
    let alpha = object("Machine", "v1alpha3", "{bootstrap: {data: x}}");
    let refused = to_beta2(&alpha).unwrap_err();
    assert_eq!(
        (refused.field.to_string().as_str(), refused.why.as_str()),
        ("/spec/bootstrap/data", "v1beta1 has no such field")
    );
}

/// Walks both tables of fields together, as a conversion does, and collects what goes nowhere.
struct Homeless {
    beta1: &'static TypeFields,
    beta2: &'static TypeFields,
    seen: Vec<(&'static str, Option<&'static str>)>,
    found: Vec<String>,
    /// Rules that take care of a field, with their types.
    used: Vec<(&'static str, ConversionRule)>,
}

impl Homeless {
    fn of_type(&mut self, own: &'static str, other: Option<&'static str>, claimed: &[String]) {
        if claimed.is_empty() {
            if self.seen.contains(&(own, other)) {
                return;
            }
            self.seen.push((own, other));
        }
        let mut below: Vec<String> = claimed.to_vec();
        for rule in rules::at(own) {
            self.used.push((own, rule));
            if let Some(field) = rule.field() {
                below.push(field.to_owned());
                let Some(older) = self.beta1.below(own, field) else {
                    self.found.push(format!("{own} has no {field}, of which a rule speaks"));
                    continue;
                };
                if let (Some(other), Some(target)) = (other, rule.target()) {
                    let Some(newer) = self.beta2.below(other, target) else {
                        self.found.push(format!("{other} has no {target}, to which {own}.{field} goes"));
                        continue;
                    };
                    if matches!(rule, ConversionRule::Move(..)) {
                        let prefix = format!("{field}.");
                        let inner: Vec<String> = below
                            .iter()
                            .filter_map(|path| path.strip_prefix(&prefix))
                            .map(str::to_owned)
                            .collect();
                        self.pair(&format!("{own}.{field}"), &older.of, Some(&newer.of), &inner);
                    }
                }
            }
        }
        for field in self.beta1.of_type(own) {
            if below.iter().any(|path| path == field.name) {
                continue;
            }
            let prefix = format!("{}.", field.name);
            let inner: Vec<String> =
                below.iter().filter_map(|path| path.strip_prefix(&prefix)).map(str::to_owned).collect();
            let newer = other.and_then(|other| self.beta2.field(other, field.name));
            if newer.is_none() && !matches!(field.of, FieldContent::Struct(_)) {
                self.found.push(format!("{own}.{} goes nowhere", field.name));
            }
            self.pair(&format!("{own}.{}", field.name), &field.of, newer.map(|field| &field.of), &inner);
        }
    }

    fn pair(
        &mut self,
        at: &str,
        own: &'static FieldContent,
        other: Option<&'static FieldContent>,
        claimed: &[String],
    ) {
        match (own, other) {
            (FieldContent::Struct(own), Some(FieldContent::Struct(other))) => {
                self.of_type(own, Some(other), claimed)
            }
            (FieldContent::Struct(own), None) => self.of_type(own, None, claimed),
            (FieldContent::List(own), Some(FieldContent::List(other)))
            | (FieldContent::Map(own), Some(FieldContent::Map(other))) => {
                self.pair(at, own, Some(other), claimed);
            }
            (own, Some(other)) if own != other => self.found.push(format!("{at}: {own:?} becomes {other:?}")),
            _ => {}
        }
    }
}

#[test]
fn every_field_of_v1beta1_goes_somewhere_and_every_rule_is_of_use() {
    let kinds = [
        "Cluster",
        "ClusterClass",
        "ClusterResourceSet",
        "ClusterResourceSetBinding",
        "IPAddress",
        "IPAddressClaim",
        "KubeadmConfig",
        "KubeadmConfigTemplate",
        "KubeadmControlPlane",
        "KubeadmControlPlaneTemplate",
        "Machine",
        "MachineDeployment",
        "MachineDrainRule",
        "MachineHealthCheck",
        "MachinePool",
        "MachineSet",
    ];
    let (_, beta1) = TypeFields::of("Cluster", "cluster.x-k8s.io/v1beta1").unwrap();
    let (_, beta2) = TypeFields::of("Cluster", "cluster.x-k8s.io/v1beta2").unwrap();
    let mut homeless = Homeless { beta1, beta2, seen: Vec::new(), found: Vec::new(), used: Vec::new() };
    for kind in kinds {
        homeless.of_type(kind, Some(kind), &[]);
    }
    for (types, rules) in RULES {
        for of in *types {
            for rule in *rules {
                if !homeless.used.contains(&(of, *rule)) {
                    homeless.found.push(format!("{rule:?} at {of} is never of use"));
                }
            }
        }
    }
    assert!(homeless.found.is_empty(), "{}", homeless.found.join("\n"));
    // What v1beta2 writes even where it was absent is required in Kubernetes' own types, so it is there.
    let is_written = |name: &&str| beta2.of_type(name).iter().any(|field| field.zero == Zero::Written);
    let mut written: Vec<&str> = beta2.types().filter(is_written).collect();
    written.sort_unstable();
    let kubernetes = [
        "ConfigMapKeySelector",
        "EnvVar",
        "FileKeySelector",
        "LabelSelectorRequirement",
        "ObjectFieldSelector",
        "ResourceFieldSelector",
        "SecretKeySelector",
        "Taint",
    ];
    assert_eq!(written, kubernetes);
}

/// A provider object's spec in v1alpha1, and in v1alpha2.
const PROVIDERS: &[(&str, &str)] = &[
    ("{version: v2.4.0, secretName: vars}", "{version: v2.4.0, configSecret: {name: vars}}"),
    (
        "{secretName: vars, secretNamespace: capi, fetchConfig: {url: u}}",
        "{configSecret: {name: vars, namespace: capi}, fetchConfig: {url: u}}",
    ),
    (
        "{deployment: {containers: [{name: manager, image: {repository: h.io/a/, name: b, tag: v1}}, {name: other, image: {name: c}}]}}",
        "{deployment: {containers: [{name: manager, imageUrl: 'h.io/a/b:v1'}, {name: other, imageUrl: c}]}}",
    ),
    // Files that say v1alpha1 and write v1alpha2.
    (
        "{configSecret: {name: vars}, deployment: {containers: [{name: manager, imageUrl: 'h.io/b:v1'}]}}",
        "{configSecret: {name: vars}, deployment: {containers: [{name: manager, imageUrl: 'h.io/b:v1'}]}}",
    ),
];

fn provider(version: &str, more: &str) -> Node {
    let group = "operator.cluster.x-k8s.io";
    read(&format!("{{apiVersion: {group}/{version}, kind: InfrastructureProvider, {more}}}"))
}

#[test]
fn provider_objects_become_v1alpha2() {
    for (old, new) in PROVIDERS {
        let object = provider("v1alpha1", &format!("metadata: {{name: aws}}, spec: {old}"));
        let conversion = convert(&object, "operator.cluster.x-k8s.io/v1alpha2", Schemas::built_in()).unwrap();
        let mut after = object.clone();
        apply(&mut after, &conversion);
        let wanted = provider("v1alpha2", &format!("metadata: {{name: aws}}, spec: {new}"));
        assert_eq!(after.value(), wanted.value(), "{old}");
    }
}

#[test]
fn what_a_provider_object_says_twice_or_elsewhere_is_refused_by_name() {
    for (version, more, field, why) in [
        (
            "v1alpha1",
            "metadata: {name: aws}, spec: {secretName: a, configSecret: {name: b}}",
            "/spec/secretName",
            "it says the same as `configSecret`",
        ),
        (
            "v1alpha1",
            "metadata: {name: aws}, spec: {deployment: {containers: [{image: {name: a}, imageUrl: b}]}}",
            "/spec/deployment/containers/0/image",
            "it says the same as `imageUrl`",
        ),
        (
            "v1alpha1",
            "metadata: {name: aws, annotations: {cluster.x-k8s.io/conversion-data: '{}'}}, spec: {}",
            "/metadata/annotations/cluster.x-k8s.io~1conversion-data",
            "this annotation holds fields that only the newer version has",
        ),
    ] {
        let object = provider(version, more);
        let to = "operator.cluster.x-k8s.io/v1alpha2";
        let refused = convert(&object, to, Schemas::built_in()).unwrap_err();
        assert_eq!((refused.field.to_string().as_str(), refused.why.as_str()), (field, why));
    }
    let back =
        convert(&provider("v1alpha2", "spec: {}"), "operator.cluster.x-k8s.io/v1alpha1", Schemas::built_in());
    assert_eq!(back.unwrap_err().why, "the operator's API has only v1alpha2 since v0.20.0");
}

/// The value of a variable of any of the tools is unknown before it is filled in, so it has no type.
#[test]
fn a_text_with_a_variable_has_no_type_anywhere() {
    for (text, is_one) in [
        ("${N}", true),
        ("{{ .Values.n }}", true),
        ("n${N:=1}", true),
        ("$N", false),
        ("{n}", false),
        ("three", false),
    ] {
        assert_eq!(super::has_variables(text), is_one, "{text}");
        let spec = format!("{{replicas: '{text}', version: v1.33.0}}");
        let converted = to_beta2(&object("KubeadmControlPlane", "v1beta1", &spec));
        assert_eq!(converted.is_ok(), is_one, "{text}: {converted:?}");
    }
}
