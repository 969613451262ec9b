//! Deletes one object as it was read, and no other of its name.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::cluster::{KubeCluster, in_run, path};
use super::discovery::Served;
use super::rest::ApiCall;
use capstan_ports::{ApiObject, As, Deleted, LiveError, Preconditions, Run};

pub(super) async fn delete(
    cluster: &KubeCluster,
    by: &As,
    object: &ApiObject,
    only: Preconditions<'_>,
    run: Run,
) -> Result<Deleted, LiveError> {
    let doing = match run {
        Run::Dry => format!("trying to delete {object}"),
        Run::Real => format!("deleting {object}"),
    };
    if only.uid.is_empty() {
        // An empty precondition would be none.
        return Err(LiveError::Malformed { doing, reason: "it has no UID".to_owned() });
    }
    let mut options = json!({
        "apiVersion": "v1", "kind": "DeleteOptions",
        "preconditions": {"uid": only.uid},
        "propagationPolicy": "Background",
    });
    if let Some(version) = only.resource_version {
        options["preconditions"]["resourceVersion"] = json!(version);
    }
    if run == Run::Dry {
        options["dryRun"] = json!(["All"]);
    }
    let call = |served: &Served| {
        let call = ApiCall::new(&doing, by, Method::DELETE, path(&doing, served, object)?)
            .body("application/json", &options);
        // The body decides; the query is what an audit log shows.
        Ok(in_run(call, run))
    };
    let Some((_, call, answer)) = cluster.ask(&object.kind, call).await? else { return Ok(Deleted::Absent) };
    match answer.status {
        status if status.is_success() => {
            let terminating =
                answer.body.pointer("/metadata/deletionTimestamp").is_some_and(Value::is_string)
                    && answer
                        .body
                        .pointer("/metadata/finalizers")
                        .and_then(Value::as_array)
                        .is_some_and(|finalizers| !finalizers.is_empty());
            // Namespaces have their finalizer in the spec.
            let finalizing = answer.body.pointer("/spec/finalizers").is_some()
                && answer.body.get("kind").and_then(Value::as_str) == Some("Namespace");
            Ok(if terminating || finalizing { Deleted::Terminating } else { Deleted::Gone })
        }
        StatusCode::NOT_FOUND => Ok(Deleted::Absent),
        StatusCode::CONFLICT if is_other_uid(&answer.body) => Ok(Deleted::Replaced),
        StatusCode::CONFLICT if only.resource_version.is_some() && is_other_version(&answer.body) => {
            Ok(Deleted::Changed)
        }
        _ => Err(call.refused(&answer)),
    }
}

/// `Operation cannot be fulfilled on configmaps "a": the UID in the precondition (x) does not match the UID in
/// record (y). …`, or `Precondition failed: UID in precondition: x, UID in object meta: y`.
fn is_other_uid(status: &Value) -> bool {
    let message = status.get("message").and_then(Value::as_str).unwrap_or_default();
    message.contains("UID in precondition") || message.contains("UID in the precondition")
}

/// `Operation cannot be fulfilled on configmaps "a": the ResourceVersion in the precondition (1) does not match the
/// ResourceVersion in record (2). …`, or `Precondition failed: ResourceVersion in precondition: 1, …`.
fn is_other_version(status: &Value) -> bool {
    let message = status.get("message").and_then(Value::as_str).unwrap_or_default();
    message.contains("ResourceVersion in precondition")
        || message.contains("ResourceVersion in the precondition")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_of_uids_differs_from_other_conflicts() {
        let status = |message: &str| json!({"kind": "Status", "reason": "Conflict", "message": message});
        assert!(is_other_uid(&status(
            "Operation cannot be fulfilled on configmaps \"a\": Precondition failed: UID in precondition: 1, UID in object meta: 2"
        )));
        assert!(is_other_uid(&status(
            "the UID in the precondition (1) does not match the UID in record (2)"
        )));
        assert!(!is_other_uid(&status(
            "Operation cannot be fulfilled on configmaps \"a\": the object has been modified"
        )));
    }
}
