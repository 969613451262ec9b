//! Workers that wait for their control plane.

use std::fmt;

use super::changes::Changes;
use crate::live_objects::{LiveObjects, text};
use crate::rollout::facts;
use crate::rollout::observed::{
    OwnerVerdict, Readiness, RolloutProgress, RolloutVerdict, control_plane_reference,
};
use crate::rollout::pools::{PoolEffect, PoolFacts};
use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::{is_cluster, is_control_plane, is_workers, names};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_plan::templates::{TemplateRole, references};
use capstan_yaml::Value;

/// A change that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withheld {
    pub object: ObjectId,
    /// What it waits for: its control plane, or what the cloud must have before.
    pub waits_for: ObjectId,
    /// Why that one is not done.
    pub why: String,
}

impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} waits until {} is done: {}", self.object, self.waits_for, self.why)
    }
}

/// Workers with everything that rolls by being edited in place, and the control plane that they follow.
struct WorkerGroup<'a> {
    objects: Vec<&'a RenderedObject>,
    control_plane: Option<ObjectId>,
}

pub(super) struct Groups<'a> {
    groups: Vec<WorkerGroup<'a>>,
    live: &'a LiveObjects,
}

impl<'a> Groups<'a> {
    pub(super) fn of(rendered: &'a [RenderedObject], live: &'a LiveObjects) -> Self {
        let is_worker = |object: &&RenderedObject| is_workers(&object.id);
        let groups = rendered
            .iter()
            .filter(is_worker)
            .map(|worker| {
                let mut objects = vec![worker];
                for reference in references(&worker.id.group, &worker.id.kind, &worker.value) {
                    let in_place = matches!(reference.role, TemplateRole::PoolBootstrap | TemplateRole::Pool);
                    let part = rendered
                        .iter()
                        .find(|part| in_place && reference.means(worker.id.namespace.as_deref(), &part.id));
                    objects.extend(part);
                }
                WorkerGroup { objects, control_plane: control_plane_of(worker, rendered, live) }
            })
            .collect();
        Self { groups, live }
    }

    /// An object of workers, or one that they roll by; `None` for others.
    pub(super) fn object(&self, id: &ObjectId) -> Option<&RenderedObject> {
        self.groups.iter().flat_map(|group| &group.objects).copied().find(|object| object.id == *id)
    }

    /// The changes that wait, ordered by object.
    pub(super) fn withheld(&self, changes: &Changes, verdict: &RolloutVerdict) -> Vec<Withheld> {
        let mut found = Vec::new();
        for group in &self.groups {
            let rolls = |object: &&&RenderedObject| {
                changes.get(&object.id).is_some_and(|fields| replaces_machines(object, fields))
            };
            if group.objects.iter().find(rolls).is_none() {
                continue;
            }
            let Some(control_plane) = &group.control_plane else { continue };
            let Some(why) = self.why(control_plane, changes, verdict) else { continue };
            for object in group.objects.iter().filter(|object| changes.contains_key(&object.id)) {
                found.push(Withheld {
                    object: object.id.clone(),
                    waits_for: control_plane.clone(),
                    why: why.clone(),
                });
            }
        }
        found.sort_by(|a, b| a.object.cmp(&b.object));
        found
    }

    /// Why workers must wait for a control plane; `None` where they need not.
    fn why(&self, control_plane: &ObjectId, changes: &Changes, verdict: &RolloutVerdict) -> Option<String> {
        // A new cluster comes up in Cluster API's own order.
        self.live.get(control_plane)?;
        if changes.get(control_plane).is_some_and(|fields| changes_spec(fields)) {
            return Some("it changes first".to_owned());
        }
        match verdict.owner(control_plane) {
            Some(owner) if is_through(owner) => None,
            Some(owner) => {
                let words = owner.words.as_deref().map(|words| format!(", {words}")).unwrap_or_default();
                Some(format!("{}{words}", owner.state.as_str()))
            }
            None => Some("its state is unknown".to_owned()),
        }
    }
}

/// Whether nothing needs to wait for an owner any more: it is done, if only until its own time comes, or its provider
/// shows no more than that it is ready.
pub(super) fn is_through(owner: &OwnerVerdict) -> bool {
    match owner.state {
        RolloutProgress::Done => true,
        RolloutProgress::Unknown => owner.ready == Readiness::Ready,
        RolloutProgress::Waiting | RolloutProgress::Rolling | RolloutProgress::Stuck => owner.until.is_some(),
    }
}

/// Whether a change of an owner is more than labels: its controller has something to do.
pub(super) fn changes_spec(fields: &[FieldPath]) -> bool {
    let spec = FieldPath::root().key("spec");
    fields.iter().any(|field| field.is_root() || field.starts_with(&spec))
}

/// Whether a change of workers, or of what a pool is made of, may replace or add machines of a new kind.
pub(super) fn replaces_machines(object: &RenderedObject, fields: &[FieldPath]) -> bool {
    let id = &object.id;
    let below = |path: &str, prefix: &str| {
        path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let any_below = |path: &str, prefixes: &[&str]| prefixes.iter().any(|prefix| below(path, prefix));
    fields.iter().any(|field| {
        let path = field.to_string();
        if path.is_empty() {
            return true;
        }
        if is_workers(id) {
            let machines = below(&path, "/spec/template/spec") && !any_below(&path, facts::WORKERS_IN_PLACE);
            return machines || path == "/spec" || path == "/spec/template" || any_below(&path, ROLL_BESIDES);
        }
        // What only new instances get belongs to the new version as well.
        PoolFacts::of(&id.kind, Some(&object.value)).field(&path) != PoolEffect::InPlace
    })
}

/// Fields of workers outside their template that replace machines: a time, and the end of `OnDelete`.
const ROLL_BESIDES: &[&str] =
    &["/spec/rolloutAfter", "/spec/rollout/after", "/spec/strategy/type", "/spec/rollout/strategy/type"];

/// The control plane that workers follow: that of the `Cluster` which they name, else the only one there is.
fn control_plane_of(
    worker: &RenderedObject,
    rendered: &[RenderedObject],
    live: &LiveObjects,
) -> Option<ObjectId> {
    let namespace = &worker.id.namespace;
    if let Some(name) = text(&worker.value, "/spec/clusterName") {
        let is_it = |id: &ObjectId| is_cluster(id) && id.name == name && id.namespace == *namespace;
        let cluster = rendered
            .iter()
            .find(|object| is_it(&object.id))
            .map(|object| (&object.id, &object.value))
            .or_else(|| live.core(names::CLUSTER).find(|(id, _)| is_it(id)));
        if let Some((id, cluster)) = cluster {
            return followed(id, cluster, rendered, live);
        }
    }
    let mut planes = rendered.iter().filter(|object| is_control_plane(&object.id));
    planes.next().filter(|_| planes.next().is_none()).map(|object| object.id.clone())
}

fn followed(
    id: &ObjectId,
    cluster: &Value,
    rendered: &[RenderedObject],
    live: &LiveObjects,
) -> Option<ObjectId> {
    if cluster.pointer("/spec/topology").is_some() {
        return Some(id.clone());
    }
    let reference = control_plane_reference(id, cluster)?;
    let means = |other: &&ObjectId| reference.means(id.namespace.as_deref(), other);
    let known = rendered.iter().map(|object| &object.id).chain(live.iter().map(|(id, _)| id));
    known.into_iter().find(means).cloned()
}
