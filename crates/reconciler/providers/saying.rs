//! Writes the status of every provider object, where it changed.

use capstan_live::applying::RefusalKind;
use capstan_live::installing::pass::{InstallDecision, ProviderFacts};
use capstan_live::installing::{status, with_deletion};
use capstan_ports::{ApiObject, As, LiveError, ManagementCluster as _, ObjectPart, Run};
use capstan_reconciler_core::providers::members::Members;
use capstan_reconciler_core::providers::sights::Sights;
use capstan_reconciler_core::providers::standing::{asks_the_same, standing};
use serde_json::json;

use super::ports::ProviderPorts;

/// Writes the status of every provider object that would say something new.
pub(super) async fn say(
    ports: &ProviderPorts,
    by: &As,
    members: &mut Members,
    sights: &Sights,
    facts: &[ProviderFacts],
    decision: &InstallDecision,
) -> Result<(), LiveError> {
    for member in &mut members.all {
        let Some(object) = &member.object else { continue };
        let failure = member.failed.as_deref();
        let look = facts.iter().find(|one| one.id == member.id).and_then(|one| one.look.as_ref());
        let wait = decision.waits.get(&member.id);
        let standing = standing(member, sights, look, wait, failure);
        let previous = object.get("status").cloned().unwrap_or_else(|| json!({}));
        let now = ports.clock.now();
        let said = status(&standing, &previous, now);
        let said = with_deletion(&said, standing.generation, member.deletion.as_ref(), now);
        if said == previous {
            continue;
        }
        let Some(named) = ApiObject::of(object) else { continue };
        let patch = json!([
            {"op": "test", "path": "/metadata/uid", "value": object["metadata"]["uid"]},
            {"op": "add", "path": "/status", "value": said},
        ]);
        match ports.live.patch(by, &named, ObjectPart::Status, &patch, Run::Real).await {
            // It went meanwhile, or is another one: the next pass sees it.
            Err(LiveError::Refused { refusal, .. })
                if matches!(refusal.kind, RefusalKind::NotFound | RefusalKind::Invalid) =>
            {
                tracing::debug!(provider = %member.id, %refusal, "its status was not written");
            }
            outcome => {
                // If the spec changed meanwhile, this pass did not read it. The older version is kept, so that the
                // change counts as news.
                let written = outcome?;
                if asks_the_same(object, &written) {
                    member.object = Some(written);
                }
            }
        }
    }
    Ok(())
}
