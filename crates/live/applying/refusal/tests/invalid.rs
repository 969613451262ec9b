//! What webhooks and the rules of definitions say of an object.

use super::super::RefusalKind;
use super::{Row, WHOLE, status};

#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn rows() -> Vec<Row> {
    let immutable = format!(
        "Invalid value: {WHOLE}: DevMachineTemplate spec.template.spec field is immutable. Please create a new resource instead. Diff:   v1beta2.DevMachineTemplateSpec{{ - s3cret + s4cret }}"
    );
    vec![
        Row {
            name: "(a) infrastructure template in place",
            code: 422,
            body: status(
                422,
                "Invalid",
                &format!(
                    r#"admission webhook "validation.devmachinetemplate.infrastructure.cluster.x-k8s.io" denied the request: DevMachineTemplate.infrastructure.cluster.x-k8s.io "peu01" is invalid: spec.template.spec: {immutable}"#
                ),
                &[("FieldValueInvalid", "spec.template.spec", &immutable)],
            ),
            kind: RefusalKind::Invalid,
            message: "spec.template.spec: field is immutable (Invalid value)",
            field: Some("spec.template.spec"),
        },
        Row {
            name: "(a) the same without causes",
            code: 422,
            body: status(
                422,
                "Invalid",
                &format!(
                    r#"admission webhook "validation.devmachinetemplate.infrastructure.cluster.x-k8s.io" denied the request: DevMachineTemplate.infrastructure.cluster.x-k8s.io "peu01" is invalid: spec.template.spec: {immutable}"#
                ),
                &[],
            ),
            kind: RefusalKind::Invalid,
            message: r#"admission webhook "validation.devmachinetemplate.infrastructure.cluster.x-k8s.io" denied the request: DevMachineTemplate.infrastructure.cluster.x-k8s.io "peu01" is invalid: spec.template.spec: Invalid value (field is immutable)"#,
            field: Some("spec.template.spec"),
        },
        Row {
            name: "(b) control plane, two minors",
            code: 422,
            body: status(
                422,
                "Invalid",
                r#"admission webhook "validation.kubeadmcontrolplane.controlplane.cluster.x-k8s.io" denied the request: KubeadmControlPlane.controlplane.cluster.x-k8s.io "p1-cp" is invalid: spec.version: Forbidden: cannot update Kubernetes version from v1.35.1 to v1.37.0"#,
                &[(
                    "FieldValueForbidden",
                    "spec.version",
                    "Forbidden: cannot update Kubernetes version from v1.35.1 to v1.37.0",
                )],
            ),
            kind: RefusalKind::Invalid,
            message: "spec.version: Forbidden: cannot update Kubernetes version from v1.35.1 to v1.37.0",
            field: Some("spec.version"),
        },
        Row {
            name: "no field is meant",
            code: 422,
            body: status(
                422,
                "Invalid",
                r#"MachinePool.cluster.x-k8s.io "a" is invalid: [spec.replicas: Required value, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]"#,
                &[
                    ("FieldValueRequired", "spec.replicas", "Required value"),
                    (
                        "FieldValueInvalid",
                        "<nil>",
                        "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
                    ),
                ],
            ),
            kind: RefusalKind::Invalid,
            message: "spec.replicas: Required value",
            field: Some("spec.replicas"),
        },
        Row {
            name: "the object as a whole is meant",
            code: 422,
            body: status(
                422,
                "Invalid",
                r#"Box.acme.example "a" is invalid: <nil>: Invalid value: {"spec":{"key":"s3cret"}}: one of a and b"#,
                &[(
                    "FieldValueInvalid",
                    "<nil>",
                    r#"Invalid value: {"spec":{"key":"s3cret"}}: one of a and b"#,
                )],
            ),
            kind: RefusalKind::Invalid,
            message: "a rule of its definition refuses the object as a whole",
            field: None,
        },
        Row {
            name: "the same without causes",
            code: 422,
            body: status(
                422,
                "Invalid",
                r#"Box.acme.example "a" is invalid: <nil>: Invalid value: {"spec":{"key":"s3cret"}}: one of a and b"#,
                &[],
            ),
            kind: RefusalKind::Invalid,
            message: r#"Box.acme.example "a" is invalid: Invalid value"#,
            field: None,
        },
        Row {
            name: "even replicas",
            code: 422,
            body: status(
                422,
                "Invalid",
                r#"admission webhook "validation.kubeadmcontrolplane.controlplane.cluster.x-k8s.io" denied the request: KubeadmControlPlane.controlplane.cluster.x-k8s.io "p1-cp" is invalid: spec.replicas: Forbidden: cannot be an even number when etcd is stacked"#,
                &[(
                    "FieldValueForbidden",
                    "spec.replicas",
                    "Forbidden: cannot be an even number when etcd is stacked",
                )],
            ),
            kind: RefusalKind::Invalid,
            message: "spec.replicas: Forbidden: cannot be an even number when etcd is stacked",
            field: Some("spec.replicas"),
        },
        Row {
            name: "certificatesDir",
            code: 422,
            body: status(
                422,
                "Invalid",
                r#"KubeadmControlPlane.controlplane.cluster.x-k8s.io "p1-cp" is invalid: spec.kubeadmConfigSpec.clusterConfiguration.certificatesDir: Forbidden: cannot be modified"#,
                &[],
            ),
            kind: RefusalKind::Invalid,
            message: r#"KubeadmControlPlane.controlplane.cluster.x-k8s.io "p1-cp" is invalid: spec.kubeadmConfigSpec.clusterConfiguration.certificatesDir: Forbidden: cannot be modified"#,
            field: Some("spec.kubeadmConfigSpec.clusterConfiguration.certificatesDir"),
        },
        Row {
            name: "clusterName of a deployment: two causes",
            code: 422,
            body: status(
                422,
                "Invalid",
                r#"admission webhook "validation.machinedeployment.cluster.x-k8s.io" denied the request: MachineDeployment.cluster.x-k8s.io "p1-md-0" is invalid: [spec.clusterName: Forbidden: field is immutable, spec.clusterName: Forbidden: spec.clusterName and spec.template.spec.clusterName must be set to the same value]"#,
                &[
                    ("FieldValueForbidden", "spec.clusterName", "Forbidden: field is immutable"),
                    (
                        "FieldValueForbidden",
                        "spec.clusterName",
                        "Forbidden: spec.clusterName and spec.template.spec.clusterName must be set to the same value",
                    ),
                ],
            ),
            kind: RefusalKind::Invalid,
            message: "spec.clusterName: Forbidden: field is immutable; spec.clusterName: Forbidden: spec.clusterName and spec.template.spec.clusterName must be set to the same value",
            field: Some("spec.clusterName"),
        },
        Row {
            name: "topology, two minors",
            code: 422,
            body: status(
                422,
                "Invalid",
                r#"admission webhook "validation.cluster.cluster.x-k8s.io" denied the request: Cluster.cluster.x-k8s.io "t1" is invalid: spec.topology.version: Invalid value: "v1.36.0": version cannot be increased from "1.34.3" to "1.36.0""#,
                &[(
                    "FieldValueInvalid",
                    "spec.topology.version",
                    r#"Invalid value: "v1.36.0": version cannot be increased from "1.34.3" to "1.36.0""#,
                )],
            ),
            kind: RefusalKind::Invalid,
            message: "spec.topology.version: version cannot be increased from 1.34.3 to 1.36.0 (Invalid value)",
            field: Some("spec.topology.version"),
        },
        Row {
            name: "topology downgrade",
            code: 422,
            body: status(
                422,
                "Invalid",
                r#"Cluster.cluster.x-k8s.io "t1" is invalid: spec.topology.version: Invalid value: "v1.33.5": version cannot be decreased from "1.34.3" to "1.33.5""#,
                &[(
                    "FieldValueInvalid",
                    "spec.topology.version",
                    r#"Invalid value: "v1.33.5": version cannot be decreased from "1.34.3" to "1.33.5""#,
                )],
            ),
            kind: RefusalKind::Invalid,
            message: "spec.topology.version: version cannot be decreased from 1.34.3 to 1.33.5 (Invalid value)",
            field: Some("spec.topology.version"),
        },
        Row {
            name: "topology change during an upgrade",
            code: 422,
            body: status(
                422,
                "Invalid",
                r#"Cluster.cluster.x-k8s.io "t1" is invalid: spec.topology.version: Invalid value: "v1.36.1": version cannot be changed: [control plane is still completing a previous upgrade, there are still MachineDeployments completing a previous upgrade: [t1-md-0-ktnj7]]"#,
                &[(
                    "FieldValueInvalid",
                    "spec.topology.version",
                    r#"Invalid value: "v1.36.1": version cannot be changed: [control plane is still completing a previous upgrade, there are still MachineDeployments completing a previous upgrade: [t1-md-0-ktnj7]]"#,
                )],
            ),
            kind: RefusalKind::StillCompleting,
            message: "spec.topology.version: version cannot be changed: an earlier upgrade is still completing (Invalid value)",
            field: Some("spec.topology.version"),
        },
        Row {
            name: "topology change while only deployments complete one",
            code: 422,
            body: status(
                422,
                "Invalid",
                r#"Cluster.cluster.x-k8s.io "t1" is invalid: spec.topology.version: Invalid value: "v1.36.1": version cannot be changed: [there are still MachineDeployments completing a previous upgrade: [t1-md-0-ktnj7]]"#,
                &[],
            ),
            kind: RefusalKind::StillCompleting,
            message: r#"Cluster.cluster.x-k8s.io "t1" is invalid: spec.topology.version: Invalid value (version cannot be changed: an earlier upgrade is still completing)"#,
            field: Some("spec.topology.version"),
        },
        Row {
            name: "unknown ClusterClass",
            code: 422,
            body: status(
                422,
                "Invalid",
                r#"admission webhook "default.cluster.cluster.x-k8s.io" denied the request: Cluster.cluster.x-k8s.io "t2" is invalid: spec.topology.class: Internal error: ClusterClass default/nope not found"#,
                &[(
                    "InternalError",
                    "spec.topology.class",
                    "Internal error: ClusterClass default/nope not found",
                )],
            ),
            kind: RefusalKind::Invalid,
            message: "spec.topology.class: Internal error: ClusterClass default/nope not found",
            field: Some("spec.topology.class"),
        },
        Row {
            name: "unknown worker class",
            code: 422,
            body: status(
                422,
                "Invalid",
                r#"Cluster.cluster.x-k8s.io "t1" is invalid: spec.topology.workers.machineDeployments[0].class: Invalid value: "nope": MachineDeploymentClass with name "nope" does not exist in ClusterClass "in-memory""#,
                &[(
                    "FieldValueInvalid",
                    "spec.topology.workers.machineDeployments[0].class",
                    r#"Invalid value: "nope": MachineDeploymentClass with name "nope" does not exist in ClusterClass "in-memory""#,
                )],
            ),
            kind: RefusalKind::Invalid,
            message: "spec.topology.workers.machineDeployments[0].class: Invalid value",
            field: Some("spec.topology.workers.machineDeployments[0].class"),
        },
        Row {
            name: "a ClusterClass in use is not deleted: a webhook's word, no missing right",
            code: 403,
            body: status(
                403,
                "Forbidden",
                r#"admission webhook "validation.clusterclass.cluster.x-k8s.io" denied the request: clusterclasses.cluster.x-k8s.io "in-memory" is forbidden: ClusterClass cannot be deleted because it is used by Cluster(s): default/t1"#,
                &[],
            ),
            kind: RefusalKind::Invalid,
            message: r#"admission webhook "validation.clusterclass.cluster.x-k8s.io" denied the request: clusterclasses.cluster.x-k8s.io "in-memory" is forbidden: ClusterClass cannot be deleted because it is used by Cluster(s): default/t1"#,
            field: None,
        },
        Row {
            name: "a definition's own rule: the type is told, the value is not",
            code: 422,
            body: status(
                422,
                "Invalid",
                r#"MachineDeployment.cluster.x-k8s.io "a" is invalid: spec.replicas: Invalid value: "s3cret": spec.replicas in body must be of type integer: "s3cret""#,
                &[(
                    "FieldValueTypeInvalid",
                    "spec.replicas",
                    r#"Invalid value: "s3cret": spec.replicas in body must be of type integer: "s3cret""#,
                )],
            ),
            kind: RefusalKind::Invalid,
            message: "spec.replicas: must be of type integer (Invalid value)",
            field: Some("spec.replicas"),
        },
        Row {
            name: "a word that a definition does not know",
            code: 422,
            body: status(
                422,
                "Invalid",
                r#"MachineDeployment.cluster.x-k8s.io "a" is invalid: spec.strategy.type: Unsupported value: "s3cret": supported values: "RollingUpdate", "OnDelete""#,
                &[(
                    "FieldValueNotSupported",
                    "spec.strategy.type",
                    r#"Unsupported value: "s3cret": supported values: "RollingUpdate", "OnDelete""#,
                )],
            ),
            kind: RefusalKind::Invalid,
            message: r#"spec.strategy.type: supported values: "RollingUpdate", "OnDelete" (Unsupported value)"#,
            field: Some("spec.strategy.type"),
        },
        Row {
            name: "a port twice in a list",
            code: 422,
            body: status(
                422,
                "Invalid",
                r#"Service "a" is invalid: spec.ports[1]: Duplicate value: {"port":80,"name":"s3cret"}"#,
                &[],
            ),
            kind: RefusalKind::Invalid,
            message: r#"Service "a" is invalid: spec.ports[1]: Duplicate value"#,
            field: Some("spec.ports[1]"),
        },
        Row {
            name: "two rules of a definition",
            code: 422,
            body: status(
                422,
                "Invalid",
                r#"MachineDeployment.cluster.x-k8s.io "x" is invalid: [spec.clusterName: Too long: may not be more than 63 bytes, .spec.replicas: Invalid value: -5: should be a non-negative integer]"#,
                &[
                    ("FieldValueTooLong", "spec.clusterName", "Too long: may not be more than 63 bytes"),
                    (
                        "FieldValueInvalid",
                        ".spec.replicas",
                        "Invalid value: -5: should be a non-negative integer",
                    ),
                ],
            ),
            kind: RefusalKind::Invalid,
            message: "spec.clusterName: Too long: may not be more than 63 bytes; spec.replicas: must not be negative (Invalid value)",
            field: Some("spec.clusterName"),
        },
        Row {
            name: "a key of a map with a dot",
            code: 422,
            body: status(
                422,
                "Invalid",
                r#"Secret "x" is invalid: [data[tls.crt]: Required value, data[tls.key]: Required value]"#,
                &[
                    ("FieldValueRequired", "data[tls.crt]", "Required value"),
                    ("FieldValueRequired", "data[tls.key]", "Required value"),
                ],
            ),
            kind: RefusalKind::Invalid,
            message: "data[tls.crt]: Required value; data[tls.key]: Required value",
            field: Some("data[tls.crt]"),
        },
    ]
}
