//! An operator that stopped: what is waited for before its providers are taken over, said at their objects.

use std::time::Duration;

use capstan_live::applying::RefusalKind;
use capstan_live::installing::{LEASE, with_wait};
use capstan_providers::ProviderKind;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::ports::ProviderPorts;
use capstan_ports::{ApiObject, LiveError, ManagementCluster as _, ObjectPart, Run};
use capstan_reconciler_core::providers::members::kind_of;

/// Says at every provider object that the Leases of these namespaces are waited for, which run out after so long.
///
/// # Errors
/// The API server does not answer; this process leads no more.
pub async fn say_waiting(
    ports: &ProviderPorts,
    namespaces: &[String],
    left: Duration,
) -> Result<(), LiveError> {
    let (by, now) = (ports.by(), ports.clock.now());
    let until =
        SignedDuration::try_from(left).ok().and_then(|left| now.checked_add(left).ok()).unwrap_or(now);
    // As Kubernetes writes times in objects: whole seconds.
    let until = Timestamp::from_second(until.as_second().saturating_add(1)).unwrap_or(until);
    let leases: Vec<String> = namespaces.iter().map(|namespace| format!("{namespace}/{LEASE}")).collect();
    let message = format!(
        "The Cluster API operator has stopped. Capstan takes over once the Lease {} has run out: at {until} unless it is renewed.",
        leases.join(", ")
    );
    for kind in ProviderKind::all() {
        for object in ports.live.list(&by, &kind_of(kind), None, &[]).await? {
            let generation =
                object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default();
            let previous = object.get("status").cloned().unwrap_or_else(|| json!({}));
            let said = with_wait(&previous, generation, &message, now);
            let Some(named) = ApiObject::of(&object).filter(|_| said != previous) else { continue };
            let patch = json!([
                {"op": "test", "path": "/metadata/uid", "value": object["metadata"]["uid"]},
                {"op": "add", "path": "/status", "value": said},
            ]);
            match ports.live.patch(&by, &named, ObjectPart::Status, &patch, Run::Real).await {
                // It went meanwhile, or is another one.
                Err(LiveError::Refused { refusal, .. })
                    if matches!(refusal.kind, RefusalKind::NotFound | RefusalKind::Invalid) => {}
                outcome => drop(outcome?),
            }
        }
    }
    Ok(())
}
