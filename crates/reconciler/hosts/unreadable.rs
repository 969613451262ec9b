//! A SIPCluster that cannot be read: what is wrong is said in its condition, and what runs for it stays.

use capstan_live::applying::RefusalKind;
use serde_json::{Value, json};

use super::HostPorts;
use capstan_ports::{ApiObject, As, LiveError, ManagementCluster as _, ObjectPart, Run};

const READY: &str = "Ready";

/// Says why, once.
///
/// # Errors
/// The API server does not answer, or this process leads no more.
pub(super) async fn say(ports: &HostPorts, object: &Value, why: &str) -> Result<(), LiveError> {
    let Some(named) = ApiObject::of(object) else { return Ok(()) };
    let held = object.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let before = held.iter().find(|one| one["type"] == READY && one["status"] == "False").cloned();
    let message = format!("{why}. Its services do not change until this is corrected");
    if before.as_ref().is_some_and(|before| before["message"] == message) {
        return Ok(());
    }
    let since =
        before.map_or_else(|| json!(ports.clock.now()), |before| before["lastTransitionTime"].clone());
    let mut conditions: Vec<Value> = held.into_iter().filter(|one| one["type"] != READY).collect();
    conditions.push(json!({
        "type": READY, "status": "False", "reason": "SpecUnreadable", "message": message,
        "observedGeneration": object["metadata"]["generation"], "lastTransitionTime": since,
    }));
    let mut status =
        object.get("status").filter(|status| status.is_object()).cloned().unwrap_or_else(|| json!({}));
    status["conditions"] = Value::Array(conditions);
    let patch = json!([
        {"op": "test", "path": "/metadata/uid", "value": object["metadata"]["uid"]},
        {"op": "add", "path": "/status", "value": status},
    ]);
    match ports.live.patch(&As::Reconciler, &named, ObjectPart::Status, &patch, Run::Real).await {
        Err(LiveError::Refused { refusal, .. }) if refusal.kind != RefusalKind::Server => {
            tracing::warn!(sip_cluster = %named, reason = refusal.message, "its condition cannot be written");
            Ok(())
        }
        outcome => outcome.map(drop),
    }
}
