//! Every answer of the facts sheet, and some more: what is shown of it and what is made of it. Each matter has its own
//! file of answers.

mod circumstances;
mod fields;
mod invalid;
mod schema;
mod shown;

use serde_json::{Value, json};

use super::{ApiRefusal, RefusalKind};

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

fn rows() -> impl Iterator<Item = Row> {
    [invalid::rows(), schema::rows(), circumstances::rows()].into_iter().flatten()
}

#[test]
fn every_answer_is_read_and_shown_without_values() {
    for row in rows() {
        let refusal = ApiRefusal::read(row.code, &row.body);
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
        let row = rows().find(|row| row.name.starts_with(name)).unwrap();
        ApiRefusal::read(row.code, &row.body)
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
