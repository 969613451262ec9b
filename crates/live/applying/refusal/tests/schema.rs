//! What the schema of a kind says of an object: fields that it lacks, values of another type.

use super::super::RefusalKind;
use super::{Row, WHOLE, status};

#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn rows() -> Vec<Row> {
    vec![
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
    ]
}
