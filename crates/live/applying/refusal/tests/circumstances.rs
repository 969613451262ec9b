//! What is in the way besides the object: rights, what is missing or going, other writers, the server itself.

use serde_json::{Value, json};

use super::super::RefusalKind;
use super::{Row, status};

#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn rows() -> Vec<Row> {
    vec![
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
