//! Every answer of the facts sheet, and some more: what is shown of it and what is made of it.

use serde_json::{Value, json};

use super::{LONGEST_MESSAGE, Refusal, RefusalKind};
use capstan_kustomize::render::{Folders, RenderedObject, render};
use capstan_model::tree::RepoPath;
use capstan_test_support::Files;

/// A `Status` as API servers send it.
fn status(code: u16, reason: &str, message: &str, causes: &[(&str, &str, &str)]) -> Value {
    let causes: Vec<Value> = causes
        .iter()
        .map(|(reason, field, message)| json!({"reason": reason, "field": field, "message": message}))
        .collect();
    let details = if causes.is_empty() { json!({}) } else { json!({"causes": causes}) };
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "details": details, "code": code,
    })
}

const WHOLE: &str = r#"{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2","kind":"DevMachineTemplate","metadata":{"managedFields":[{"manager":"x"}]},"spec":{"template":{"spec":{"password":"s3cret"}}}}"#;

struct Row {
    name: &'static str,
    code: u16,
    body: Value,
    kind: RefusalKind,
    message: &'static str,
    field: Option<&'static str>,
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn rows() -> Vec<Row> {
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
            name: "(e) unknown field by server-side apply: 500 without a reason",
            code: 500,
            body: status(
                500,
                "",
                "failed to create typed patch object (/; cluster.x-k8s.io/v1beta2, Kind=MachineDeployment): .spec.replicaz: field not declared in schema",
                &[],
            ),
            kind: RefusalKind::Schema,
            message: "failed to create typed patch object (/; cluster.x-k8s.io/v1beta2, Kind=MachineDeployment): .spec.replicaz: field not declared in schema",
            field: Some("spec.replicaz"),
        },
        Row {
            name: "wrong type by server-side apply: the value is not shown",
            code: 500,
            body: status(
                500,
                "",
                r#"failed to create typed patch object (org/a; /v1, Kind=Secret): .stringData.password: expected string, got &value.valueUnstructured{Value:"s3cret"}"#,
                &[],
            ),
            kind: RefusalKind::Schema,
            message: "failed to create typed patch object (org/a; /v1, Kind=Secret): .stringData.password: expected string…",
            field: Some("stringData.password"),
        },
        Row {
            name: "(e) unknown field by a strict POST",
            code: 400,
            body: status(
                400,
                "BadRequest",
                r#"MachineDeployment in version "v1beta2" cannot be handled as a MachineDeployment: strict decoding error: unknown field "spec.replicaz""#,
                &[],
            ),
            kind: RefusalKind::Schema,
            message: r#"MachineDeployment in version "v1beta2" cannot be handled as a MachineDeployment: strict decoding error: unknown field "spec.replicaz" (unknown field `spec.replicaz`)"#,
            field: Some("spec.replicaz"),
        },
        Row {
            name: "(e) the same by a strict merge patch, which embeds the object",
            code: 422,
            body: status(
                422,
                "Invalid",
                &format!(
                    r#""" is invalid: patch: Invalid value: "{WHOLE}": strict decoding error: unknown field "spec.replicaz""#
                ),
                &[(
                    "FieldValueInvalid",
                    "patch",
                    &format!(
                        r#"Invalid value: "{WHOLE}": strict decoding error: unknown field "spec.replicaz""#
                    ),
                )],
            ),
            kind: RefusalKind::Schema,
            message: "patch: unknown field `spec.replicaz` (Invalid value)",
            field: Some("patch"),
        },
        Row {
            name: "server-side apply conflict",
            code: 409,
            body: status(
                409,
                "Conflict",
                r#"Apply failed with 1 conflict: conflict with "proof": .spec.replicas"#,
                &[("FieldManagerConflict", ".spec.replicas", r#"conflict with "proof""#)],
            ),
            kind: RefusalKind::Contested,
            message: r#"spec.replicas: conflict with "proof""#,
            field: Some("spec.replicas"),
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
            name: "no right",
            code: 403,
            body: status(
                403,
                "Forbidden",
                r#"clusters.cluster.x-k8s.io is forbidden: User "system:serviceaccount:org:capstan-applier" cannot list resource "clusters" in API group "cluster.x-k8s.io" at the cluster scope"#,
                &[],
            ),
            kind: RefusalKind::Forbidden,
            message: r#"clusters.cluster.x-k8s.io is forbidden: User "system:serviceaccount:org:capstan-applier" cannot list resource "clusters" in API group "cluster.x-k8s.io" at the cluster scope"#,
            field: None,
        },
        Row {
            name: "no such namespace",
            code: 404,
            body: json!({"kind": "Status", "message": r#"namespaces "org" not found"#, "reason": "NotFound",
                         "details": {"name": "org", "kind": "namespaces"}, "code": 404}),
            kind: RefusalKind::MissingNamespace,
            message: r#"namespaces "org" not found"#,
            field: None,
        },
        Row {
            name: "no such kind",
            code: 404,
            body: json!({"kind": "Status", "message": "the server could not find the requested resource",
                         "reason": "NotFound", "details": {}, "code": 404}),
            kind: RefusalKind::MissingKind,
            message: "the server could not find the requested resource",
            field: None,
        },
        Row {
            name: "the namespace is going",
            code: 403,
            body: status(
                403,
                "Forbidden",
                r#"configmaps "a" is forbidden: unable to create new content in namespace org because it is being terminated"#,
                &[("NamespaceTerminating", "metadata.namespace", "namespace org is being terminated")],
            ),
            kind: RefusalKind::Terminating,
            message: "metadata.namespace: namespace org is being terminated",
            field: Some("metadata.namespace"),
        },
        Row {
            name: "a webhook is away",
            code: 500,
            body: status(
                500,
                "InternalError",
                r#"Internal error occurred: failed calling webhook "default.cluster.cluster.x-k8s.io": failed to call webhook: Post "https://127.0.0.1:9443/mutate?timeout=10s": dial tcp 127.0.0.1:9443: connect: connection refused"#,
                &[],
            ),
            kind: RefusalKind::Webhook,
            message: r#"Internal error occurred: failed calling webhook "default.cluster.cluster.x-k8s.io": failed to call webhook: Post "https://127.0.0.1:9443/mutate?timeout=10s": dial tcp 127.0.0.1:9443: connect: connection refused"#,
            field: None,
        },
        Row {
            name: "changed meanwhile",
            code: 409,
            body: status(
                409,
                "Conflict",
                r#"Operation cannot be fulfilled on machinedeployments.cluster.x-k8s.io "a": the object has been modified; please apply your changes to the latest version and try again"#,
                &[],
            ),
            kind: RefusalKind::Conflict,
            message: r#"Operation cannot be fulfilled on machinedeployments.cluster.x-k8s.io "a": the object has been modified; please apply your changes to the latest version and try again"#,
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
            name: "a Secret that cannot be converted: 500 without a reason",
            code: 500,
            body: status(
                500,
                "",
                "failed to convert new object (default/x; /v1, Kind=Secret) to proper version: unable to convert unstructured object to /v1, Kind=Secret: error decoding from json: illegal base64 data at input byte 6",
                &[],
            ),
            kind: RefusalKind::Schema,
            message: "failed to convert new object (default/x; /v1, Kind=Secret) to proper version: unable to convert unstructured object to /v1, Kind=Secret: error decoding from json: illegal base64 data at input byte 6",
            field: None,
        },
        Row {
            name: "a Secret of a wrong shape",
            code: 500,
            body: status(
                500,
                "",
                r#"failed to create typed patch object (default/x; /v1, Kind=Secret): .stringData.a: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"b":"s3cret"}}"#,
                &[],
            ),
            kind: RefusalKind::Schema,
            message: "failed to create typed patch object (default/x; /v1, Kind=Secret): .stringData.a: expected string…",
            field: Some("stringData.a"),
        },
        Row {
            name: "a scalar where a map should be",
            code: 500,
            body: status(
                500,
                "",
                "failed to create typed patch object (default/x; cluster.x-k8s.io/v1beta2, Kind=MachineDeployment): .spec.selector: expected map, got &{s3cret}",
                &[],
            ),
            kind: RefusalKind::Schema,
            message: "failed to create typed patch object (default/x; cluster.x-k8s.io/v1beta2, Kind=MachineDeployment): .spec.selector: expected map…",
            field: Some("spec.selector"),
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
        Row {
            name: "no such API at all",
            code: 404,
            body: json!("404 page not found\n"),
            kind: RefusalKind::MissingKind,
            message: "404 page not found",
            field: None,
        },
        Row {
            name: "asked too often",
            code: 429,
            body: status(
                429,
                "TooManyRequests",
                "the server has received too many requests and has asked us to try again later",
                &[],
            ),
            kind: RefusalKind::TooManyRequests,
            message: "the server has received too many requests and has asked us to try again later",
            field: None,
        },
        Row {
            name: "something that stands before the server",
            code: 502,
            body: json!("<html><body>Bad Gateway</body></html>"),
            kind: RefusalKind::Server,
            message: "<html><body>Bad Gateway</body></html>",
            field: None,
        },
        Row {
            name: "no body",
            code: 503,
            body: Value::Null,
            kind: RefusalKind::Server,
            message: "the API server answered 503 and gave no reason",
            field: None,
        },
    ]
}

#[test]
fn every_answer_is_read_and_shown_without_values() {
    for row in rows() {
        let refusal = Refusal::read(row.code, &row.body);
        let field = refusal.causes.iter().find_map(|cause| cause.field.as_ref());
        assert_eq!(refusal.kind, row.kind, "{}", row.name);
        assert_eq!(refusal.message, row.message, "{}", row.name);
        assert_eq!(field.map(super::FieldNotation::as_str), row.field, "{}", row.name);
        let shown = format!("{refusal} {:?}", refusal.causes);
        assert!(!shown.contains("s3cret") && !shown.contains("s4cret"), "{}: {shown}", row.name);
        assert!(!shown.contains("managedFields"), "{}: {shown}", row.name);
        if let Some((_, after)) = refusal.message.split_once("Invalid value") {
            assert!(!after.starts_with(':'), "{}: {shown}", row.name);
        }
    }
}

#[test]
fn what_passes_by_itself_is_retried_and_what_does_not_is_not() {
    let read = |name: &str| {
        let row = rows().into_iter().find(|row| row.name.starts_with(name)).unwrap();
        Refusal::read(row.code, &row.body)
    };
    for (name, retried, waits) in [
        ("(a) infrastructure", false, false),
        ("(b) control plane", false, false),
        ("(e) unknown field by server-side apply", false, false),
        ("a Secret that cannot be converted", false, false),
        ("server-side apply conflict", false, false),
        ("topology, two minors", false, false),
        ("topology change during", true, true),
        ("no right", false, false),
        ("no such namespace", true, false),
        ("no such kind", true, false),
        ("the namespace is going", true, true),
        ("a webhook is away", true, false),
        ("changed meanwhile", true, false),
        ("asked too often", true, false),
        ("something that stands before", true, false),
        ("no body", true, false),
    ] {
        let refusal = read(name);
        assert_eq!((refusal.worth_retrying(), refusal.is_waiting()), (retried, waits), "{name}");
    }
}

#[test]
fn a_long_message_is_cut_at_characters() {
    let refusal = Refusal::read(400, &status(400, "BadRequest", &"é".repeat(2000), &[]));
    assert_eq!(refusal.message.chars().count(), LONGEST_MESSAGE);
    assert_eq!(refusal.message, format!("{}…", "é".repeat(511)));
    let many: Vec<(&str, &str, &str)> =
        (0..100).map(|_| ("FieldValueForbidden", "spec.version", "Forbidden: no")).collect();
    let refusal = Refusal::read(422, &status(422, "Invalid", "is invalid", &many));
    assert_eq!(refusal.message.chars().count(), LONGEST_MESSAGE);
}

fn object(text: &str) -> RenderedObject {
    let path = |text: &str| RepoPath::parse(text).unwrap();
    let folders = Folders { cluster: path("c"), base: path("c/base"), overlay: path("c/overlay") };
    let files = Files::new(&[("c/base/a.yaml", text)]);
    render(&files, &folders).unwrap().objects.remove(0)
}

#[test]
fn a_field_is_found_in_the_files() {
    let object = object(
        r#"apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: t1
  labels:
    app.kubernetes.io/name: t1
spec:
  topology:
    version: v1.36.0
    variables:
    - name: a
      value: 1
    - name: b
      value: 2
    workers:
      machineDeployments:
      - class: nope
        name: md-0
"#,
    );
    for (notation, path, line) in [
        ("spec.topology.version", "/spec/topology/version", 9),
        (
            "spec.topology.workers.machineDeployments[0].class",
            "/spec/topology/workers/machineDeployments/0/class",
            17,
        ),
        (r#".spec.topology.variables[name="b"].value"#, "/spec/topology/variables/1/value", 14),
        (".metadata.labels.app.kubernetes.io/name", "/metadata/labels/app.kubernetes.io~1name", 6),
        ("metadata.labels[app.kubernetes.io/name]", "/metadata/labels/app.kubernetes.io~1name", 6),
        // What is not there: the nearest that is.
        ("spec.topology.replicaz", "/spec/topology/replicaz", 9),
        (r#".spec.topology.variables[name="z"].value"#, "/spec/topology/variables", 11),
    ] {
        let cause = [("FieldValueForbidden", notation, "Forbidden: no")];
        let refusal = Refusal::read(422, &status(422, "Invalid", "is invalid", &cause));
        let (field, written) = refusal.place(&object);
        assert_eq!(
            (field.to_string().as_str(), written.file().as_str(), written.line()),
            (path, "c/base/a.yaml", Some(line)),
            "{notation}"
        );
    }
}

/// Whatever a server or something before it writes: nothing that may not be shown, and no panic.
#[test]
fn no_value_is_ever_shown_wherever_it_stands() {
    use proptest::prelude::*;
    let filler = "[ -~\n]{0,200}";
    let opening = proptest::sample::select(vec![
        "Invalid value: ",
        "Duplicate value: ",
        "Unsupported value: ",
        "expected string, got ",
        "object: {\"data\":",
        "Diff: ",
        "map[a:",
    ]);
    let message = (filler, opening, filler, filler)
        .prop_map(|(before, opening, inside, after)| format!("{before}{opening}{inside}s3cret{after}"));
    proptest!(|(message in message, code in 400_u16..600, told in any::<bool>(), field in "[a-z.\\[\\]\"=0-9]{0,40}")| {
        let causes = [("FieldValueInvalid", field.as_str(), message.as_str())];
        let body = status(code, "Invalid", &message, if told { &causes } else { &[] });
        let refusal = Refusal::read(code, &body);
        let shown = format!("{refusal} {:?}", refusal.causes);
        prop_assert!(!shown.contains("s3cret"), "{shown}");
        prop_assert!(refusal.message.chars().count() <= LONGEST_MESSAGE);
        if let Some(field) = refusal.causes.iter().find_map(|cause| cause.field.as_ref()) {
            field.path_in(&json!({"a": [{"b": 1}]}));
        }
    });
}
