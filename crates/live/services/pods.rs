//! What keeps the pods of a workload from running.

use capstan_model::object::ObjectId;
use serde_json::Value;

use crate::live_objects::{identity, shortened, text};

/// Whether an object runs pods, so that these say more than it does where it is not well.
pub fn has_pods(id: &ObjectId) -> bool {
    match id.group.as_str() {
        "apps" => true,
        "batch" => id.kind == "Job",
        _ => false,
    }
}

/// The labels by which a workload knows its pods; empty where it does not say so in labels alone.
pub fn selector_of(live: &Value) -> Vec<(&str, &str)> {
    let labels = live.pointer("/spec/selector/matchLabels").and_then(Value::as_object);
    labels.into_iter().flatten().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?))).collect()
}

/// The first pod, by its name, that does not come to run for a reason that it tells, and that reason: an image that is not
/// had, a container that ends again and again, no node that takes it.
pub fn failing_pod(pods: &[Value]) -> Option<(ObjectId, String)> {
    let mut told: Vec<(ObjectId, String)> =
        pods.iter().filter_map(|pod| Some((identity(pod)?, trouble(pod)?))).collect();
    told.sort();
    told.into_iter().next()
}

fn trouble(pod: &Value) -> Option<String> {
    let all =
        |key: &str| pod.pointer(&format!("/status/{key}")).and_then(Value::as_array).into_iter().flatten();
    let mut containers = all("initContainerStatuses").chain(all("containerStatuses"));
    containers.find_map(of_container).or_else(|| unscheduled(pod))
}

/// What every container says on its way.
const ON_ITS_WAY: [&str; 2] = ["ContainerCreating", "PodInitializing"];

fn of_container(status: &Value) -> Option<String> {
    let waiting = status.pointer("/state/waiting")?;
    let reason = text(waiting, "/reason").filter(|reason| !ON_ITS_WAY.contains(reason))?;
    let name = text(status, "/name").unwrap_or_default();
    let message = text(waiting, "/message").map(|message| format!(": {message}")).unwrap_or_default();
    Some(shortened(&format!("container {name}: {reason}{message}")))
}

fn unscheduled(pod: &Value) -> Option<String> {
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array)?;
    let scheduled = conditions.iter().find(|condition| text(condition, "/type") == Some("PodScheduled"))?;
    let reason = text(scheduled, "/reason").filter(|_| text(scheduled, "/status") == Some("False"))?;
    Some(shortened(&format!("{reason}: {}", text(scheduled, "/message").unwrap_or_default())))
}
