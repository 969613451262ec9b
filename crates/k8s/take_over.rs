//! Making Capstan the manager of what others applied; what that means for the entries is decided in
//! [`capstan_live::applying::taken_over`].

use capstan_live::applying::{LAST_APPLIED, taken_over};
use capstan_live::live_objects::MANAGER;
use capstan_model::object::FieldPath;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::cluster::{KubeCluster, not_served, path};
use super::discovery::Served;
use super::rest::ApiCall;
use capstan_ports::{ApiObject, As, LiveError, ManagementCluster};

/// How often it is tried again when somebody wrote the object meanwhile.
const TRIES: usize = 5;

pub(super) async fn take_over(
    cluster: &KubeCluster,
    by: &As,
    object: &ApiObject,
    from: &[String],
    let_go: &[FieldPath],
) -> Result<(), LiveError> {
    let doing = match from {
        [] => format!("letting go of fields of {object}"),
        from => format!("taking over {object} from {}", from.join(", ")),
    };
    for attempt in 1.. {
        let Some(live) = cluster.read(by, object).await? else { return Ok(()) };
        let Some(patch) = patch(&live, from, let_go) else { return Ok(()) };
        let call = |served: &Served| {
            Ok(ApiCall::new(&doing, by, Method::PATCH, path(&doing, served, object)?)
                .query("fieldManager", MANAGER)
                .body("application/json-patch+json", &patch))
        };
        match cluster.ask(&object.kind, call).await? {
            None => return Err(not_served(&doing, &object.kind)),
            Some((_, _, answer)) if answer.status.is_success() => return Ok(()),
            Some((_, _, answer)) if answer.status == StatusCode::CONFLICT && attempt < TRIES => {}
            Some((_, call, answer)) => return Err(call.refused(&answer)),
        }
    }
    Ok(())
}

/// The patch holds the version of what was read, so that nothing written meanwhile is undone. The annotation
/// of client-side apply goes with its manager: it would be the next `kubectl apply`'s idea of what was there.
fn patch(live: &Value, from: &[String], let_go: &[FieldPath]) -> Option<Value> {
    let managed = taken_over(live, from, let_go)?;
    let mut patch = vec![
        json!({"op": "replace", "path": "/metadata/resourceVersion", "value": live.pointer("/metadata/resourceVersion")}),
    ];
    if from.iter().any(|manager| manager.starts_with("kubectl"))
        && live
            .pointer("/metadata/annotations")
            .and_then(|annotations| annotations.get(LAST_APPLIED))
            .is_some()
    {
        let pointer = LAST_APPLIED.replace('~', "~0").replace('/', "~1");
        patch.push(json!({"op": "remove", "path": format!("/metadata/annotations/{pointer}")}));
    }
    // Without any entry the API server keeps those it has; an empty one means none.
    let managed = if managed.as_array().is_some_and(Vec::is_empty) { json!([{}]) } else { managed };
    patch.push(json!({"op": "replace", "path": "/metadata/managedFields", "value": managed}));
    Some(Value::Array(patch))
}
