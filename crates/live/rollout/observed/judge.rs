//! The state of a folder's rollout, owner by owner.

use jiff::Timestamp;

use super::held_up::{HeldUp, held_up};
use super::machines::ObservedMachine;
use super::observed_owner::{ObservedOwner, control_plane_reference};
use super::patience::RolloutPatience;
use super::reading::{OwnerReading, said};
use super::rules::standing;
use super::verdict::{Counts, OwnerKind, OwnerVerdict, Readiness, RolloutProgress, RolloutVerdict};
use crate::live_objects::LiveObjects;
use crate::rollout::owner::MachineOwner;
use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::is_cluster;
use capstan_model::object::ObjectId;

/// The state of the rollout of what is rendered. `rendered` has its namespaces and its live names.
pub fn judge(
    rendered: &[RenderedObject],
    live: &LiveObjects,
    now: Timestamp,
    patience: RolloutPatience,
) -> RolloutVerdict {
    let mut owners = Vec::new();
    let mut all = Vec::new();
    let mut add = |id: &ObjectId, kind, desired: Option<&RenderedObject>| {
        let owner = ObservedOwner { id, kind, desired, live, now, patience };
        let machines = owner.machines();
        owners.push(owner.judge(&machines));
        all.extend(machines.into_iter().map(|machine| machine.state));
    };
    for object in rendered {
        if let Some(kind) = MachineOwner::of(&object.id, &object.value) {
            add(&object.id, kind, Some(object));
        }
    }
    for (id, kind) in unrendered_control_planes(rendered, live) {
        add(id, kind, None);
    }
    owners.sort_by(|a, b| a.object.cmp(&b.object));
    all.sort_by(|a, b| (&a.owner, &a.name).cmp(&(&b.owner, &b.name)));
    let state = owners.iter().map(|owner| owner.state).max().unwrap_or(RolloutProgress::Done);
    RolloutVerdict { state, owners, machines: all }
}

/// The control plane that a rendered `Cluster` without a topology names, where it is live and another tool's.
fn unrendered_control_planes<'a>(
    rendered: &[RenderedObject],
    live: &'a LiveObjects,
) -> Vec<(&'a ObjectId, MachineOwner)> {
    let clusters = rendered.iter().filter(|object| is_cluster(&object.id));
    let named = clusters.filter_map(|cluster| {
        let topology = cluster.value.pointer("/spec/topology").is_some();
        let reference = control_plane_reference(&cluster.id, &cluster.value).filter(|_| !topology)?;
        let namespace = cluster.id.namespace.as_deref();
        if rendered.iter().any(|object| reference.means(namespace, &object.id)) {
            return None;
        }
        let (id, value) = live.iter().find(|(id, _)| reference.means(namespace, id))?;
        Some((id, MachineOwner::of(id, value)?))
    });
    named.collect()
}

impl ObservedOwner<'_> {
    /// Its state, by these machines of its own.
    fn judge(&self, machines: &[ObservedMachine<'_>]) -> OwnerVerdict {
        let kind = if self.kind.turn() == 1 { OwnerKind::ControlPlane } else { OwnerKind::Workers };
        let mut verdict = OwnerVerdict {
            object: self.id.clone(),
            kind,
            state: RolloutProgress::Waiting,
            since: None,
            until: None,
            on: None,
            words: None,
            counts: Counts::default(),
            ready: Readiness::NotReady,
        };
        let Some(object) = self.live.get(self.id) else {
            verdict.words = Some("not applied yet".to_owned());
            return verdict;
        };
        let reading = OwnerReading::of(object);
        let standing = standing(self, &reading, machines);
        verdict.counts = standing.counts;
        verdict.ready = standing.ready;
        verdict.state = standing.state;
        verdict.until = standing.until;
        verdict.words = standing.words.as_deref().map(said);
        verdict.since = match standing.state {
            RolloutProgress::Done | RolloutProgress::Unknown => None,
            RolloutProgress::Waiting | RolloutProgress::Rolling | RolloutProgress::Stuck => {
                let behind = standing.behind.as_ref().and_then(|behind| behind.since);
                behind.or_else(|| reading.rolling_since()).or_else(|| reading.written())
            }
        };
        if let Some(HeldUp { since, on, words }) = held_up(self, &reading, machines, &standing) {
            verdict.state = RolloutProgress::Stuck;
            verdict.since = Some(since);
            verdict.on = Some(on);
            verdict.words = Some(said(&words));
        }
        verdict
    }
}
