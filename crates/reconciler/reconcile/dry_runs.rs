//! What the API server would say to a render: every object tried, nothing changed.

use std::collections::{BTreeMap, BTreeSet};

use capstan_kustomize::render::RenderedObject;
use capstan_live::applying::{RefusalKind, sent};
use capstan_model::object::ObjectId;
use futures_util::{StreamExt as _, stream};
use serde_json::Value;

use capstan_ports::{As, Contested, LiveError, ManagementCluster, Run};
use capstan_reconciler_core::reason::Reason;

/// How many dry runs of one cluster are under way at a time.
const TRIALS: usize = 4;

/// The result of trying a render.
#[derive(Debug, Default)]
pub(super) struct Trial {
    /// Objects as they would be.
    pub(super) accepted: BTreeMap<ObjectId, Value>,
    /// Objects that nobody can try yet: their namespace comes with the same render.
    pub(super) later: BTreeSet<ObjectId>,
    /// Why objects are refused.
    pub(super) refused: Vec<Reason>,
    /// Why objects have to wait; this passes by itself.
    pub(super) waiting: Vec<Reason>,
}

/// Tries every object. `Err` where the API server did not answer.
pub(super) async fn try_all(
    live: &dyn ManagementCluster,
    by: &As,
    objects: &[&RenderedObject],
    rendered: &[RenderedObject],
) -> Result<Trial, LiveError> {
    let attempts: Vec<_> = objects.iter().map(|object| try_one(live, by, object)).collect();
    let answers: Vec<_> = stream::iter(attempts).buffered(TRIALS).collect().await;
    let mut trial = Trial::default();
    for (object, answer) in objects.iter().copied().zip(answers) {
        match answer {
            Ok(value) => {
                trial.accepted.insert(object.id.clone(), value);
            }
            Err(LiveError::Refused { refusal, .. })
                if refusal.kind == RefusalKind::MissingNamespace
                    && renders_namespace_of(object, rendered) =>
            {
                trial.later.insert(object.id.clone());
            }
            Err(LiveError::Refused { refusal, .. }) if refusal.is_waiting() => {
                trial.waiting.push(Reason::of_refusal(&refusal, object));
            }
            Err(LiveError::Refused { refusal, .. }) if is_about_the_object(refusal.kind) => {
                trial.refused.push(Reason::of_refusal(&refusal, object));
            }
            Err(LiveError::Malformed { reason, .. }) => {
                let root = capstan_model::object::FieldPath::root();
                trial.refused.push(Reason::of_object("Malformed", reason, object, &root));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(trial)
}

/// Tries one object.
pub(super) async fn try_one(
    live: &dyn ManagementCluster,
    by: &As,
    object: &RenderedObject,
) -> Result<Value, LiveError> {
    live.apply(by, &sent(&object.value), Run::Dry, Contested::Take).await
}

/// Whether the answer says something of this object, rather than of the server's day.
const fn is_about_the_object(kind: RefusalKind) -> bool {
    match kind {
        RefusalKind::Invalid
        | RefusalKind::Schema
        | RefusalKind::Contested
        | RefusalKind::Forbidden
        | RefusalKind::NotFound
        | RefusalKind::AlreadyExists
        | RefusalKind::MissingKind
        | RefusalKind::MissingNamespace
        | RefusalKind::Webhook
        | RefusalKind::Other => true,
        RefusalKind::Conflict
        | RefusalKind::Terminating
        | RefusalKind::StillCompleting
        | RefusalKind::TooManyRequests
        | RefusalKind::Server => false,
    }
}

fn renders_namespace_of(object: &RenderedObject, rendered: &[RenderedObject]) -> bool {
    rendered.iter().any(|other| {
        other.id.group.is_empty()
            && other.id.kind == "Namespace"
            && Some(&other.id.name) == object.id.namespace.as_ref()
    })
}
