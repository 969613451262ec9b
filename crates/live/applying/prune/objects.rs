//! Objects that are gone from a render: which go, and which stay.

use super::facts::Withholding;
use super::named::NamedByOthers;
use super::outcome::{DeletionReason, Keep};
use super::round::{Present, Round, turn};
use super::tombstones::Tombstones;
use crate::applying::inventory::InventoryObject;
use crate::applying::machines::{
    clusters_of, control_plane_of, has_unseen_machines, is_owned_by, machines_of,
};
use crate::live_objects::{LiveObjects, is_terminating};
use crate::rollout::observed::RolloutProgress;
use capstan_model::kinds::{KindRole, Loss, is_cluster, is_control_plane, loss, names, role_of};
use capstan_model::object::ObjectId;

impl<'a> Round<'_, 'a> {
    /// What is gone from a render.
    pub(super) fn objects(&mut self, left: Vec<Present<'a>>) {
        let facts = self.facts;
        let Some(rendered) = facts.rendered.filter(|rendered| !rendered.is_empty()) else {
            left.into_iter().for_each(|object| self.keep(object.id, Keep::NothingRendered));
            return;
        };
        let tombstones = Tombstones::of(facts);
        self.done.findings = tombstones.findings.clone();
        let named = NamedByOthers::of(rendered, facts.live);
        let mut doomed: Vec<(Present<'a>, DeletionReason)> = Vec::new();
        for object in left {
            match self.verdict(&object, &tombstones, &named) {
                Ok(because) => doomed.push((object, because)),
                Err(why) => self.keep(object.id, why),
            }
        }
        let pruned = doomed.iter().filter(|(_, because)| *because == DeletionReason::Pruned).count();
        let pruned = u32::try_from(pruned).unwrap_or(u32::MAX);
        if pruned > facts.budget {
            let over = Keep::OverBudget { doomed: pruned, budget: facts.budget };
            let (kept, rest): (Vec<_>, Vec<_>) =
                doomed.into_iter().partition(|(_, because)| *because == DeletionReason::Pruned);
            kept.into_iter().for_each(|(object, _)| self.keep(object.id, over.clone()));
            doomed = rest;
        }
        self.in_turns(doomed);
    }

    /// Deletes what comes first; the rest waits for it.
    fn in_turns(&mut self, mut doomed: Vec<(Present<'a>, DeletionReason)>) {
        doomed.sort_by(|(a, _), (b, _)| (turn(&a.id), &a.id).cmp(&(turn(&b.id), &b.id)));
        // What is on its way out already goes before what comes after it.
        let terminating = self
            .done
            .keep
            .iter()
            .filter(|kept| kept.why == Keep::Terminating)
            .map(|kept| kept.object.clone());
        let first = terminating.chain(doomed.iter().map(|(object, _)| object.id.clone())).min_by_key(turn);
        for (object, because) in doomed {
            match &first {
                Some(first) if turn(first) < turn(&object.id) => {
                    self.keep(object.id, Keep::WaitsFor(first.clone()));
                }
                _ => self.delete(&object, because),
            }
        }
    }

    fn verdict(
        &self,
        object: &Present<'_>,
        tombstones: &Tombstones,
        named: &NamedByOthers<'_>,
    ) -> Result<DeletionReason, Keep> {
        let facts = self.facts;
        let id = &object.id;
        if let Some(cluster) = carried(id, facts.live) {
            // By name a whole Cluster may go; never its control plane from beneath it.
            let goes = |id: &ObjectId| facts.inventory.get(id).is_some_and(|entry| tombstones.name(entry));
            if !goes(&cluster) {
                return Err(Keep::Carries(cluster));
            }
        } else if is_control_plane(id) && is_of_unread(id, facts.live) {
            return Err(Keep::NotRead);
        }
        if tombstones.name(object.entry) {
            let rolls = matches!(
                facts.rollout,
                RolloutProgress::Waiting | RolloutProgress::Rolling | RolloutProgress::Stuck
            );
            let not_through = rolls || facts.withheld == Withholding::Workers;
            return if has_workers(id) && not_through {
                Err(Keep::RolloutNotDone)
            } else {
                Ok(DeletionReason::Tombstone)
            };
        }
        // The ConfigMap that a provider is installed from is not visible here: the provider selects it by labels.
        if self.is_set() {
            return Err(Keep::NeedsTombstone);
        }
        let rotated = object.entry.logical.is_some() && self.has_successor(object.entry);
        let because = if rotated { DeletionReason::Rotated } else { DeletionReason::Pruned };
        match sort(id, rotated) {
            DeletionKind::Tombstone => Err(Keep::NeedsTombstone),
            DeletionKind::Free => Ok(because),
            DeletionKind::Unnamed => named.by(id).map_or(Ok(because), |by| Err(Keep::StillNamed(by))),
            DeletionKind::Template => {
                let read = [names::MACHINE_SET, names::MACHINE]
                    .iter()
                    .all(|kind| facts.live.has_all("cluster.x-k8s.io", kind));
                if !read {
                    Err(Keep::NotRead)
                } else if let Some(by) = named.by(id) {
                    Err(Keep::StillNamed(by))
                } else if facts.rollout != RolloutProgress::Done || facts.withheld == Withholding::Workers {
                    Err(Keep::RolloutNotDone)
                } else {
                    Ok(because)
                }
            }
        }
    }

    /// Whether the folder is a provider set, or was one.
    fn is_set(&self) -> bool {
        let rendered = self.facts.rendered.into_iter().flatten().map(|object| object.id.clone());
        let applied = self.facts.inventory.objects().iter().map(InventoryObject::id);
        rendered.chain(applied).any(|id| role_of(&id) == Some(KindRole::Provider))
    }

    /// Whether the same template is rendered under another live name.
    fn has_successor(&self, entry: &InventoryObject) -> bool {
        let logical = entry.logical_id();
        self.facts.templates.iter().any(|template| {
            template.logical.kind == logical.kind
                && template.logical.group == logical.group
                && template.logical.name == logical.name
        })
    }
}

/// The live `Cluster` whose control plane and machines would go with an object.
fn carried(id: &ObjectId, live: &LiveObjects) -> Option<ObjectId> {
    let has_machines = |cluster: &ObjectId, control_plane: Option<&ObjectId>| {
        machines_of(cluster, live).next().is_some()
            || control_plane.is_some_and(|control_plane| has_unseen_machines(control_plane, live))
    };
    if is_cluster(id) {
        let value = live.get(id)?;
        let named = control_plane_of(id, value).map(|named| ObjectId {
            group: named.group.unwrap_or_default().to_owned(),
            kind: named.kind.to_owned(),
            namespace: named.namespace.map(str::to_owned).or_else(|| id.namespace.clone()),
            name: named.name.to_owned(),
        });
        return has_machines(id, named.as_ref()).then(|| id.clone());
    }
    if !is_control_plane(id) {
        return None;
    }
    let clusters = live.core(names::CLUSTER).filter(|(_, cluster)| !is_terminating(cluster));
    let mut carried = clusters.filter(|(cluster, value)| {
        let named = control_plane_of(cluster, value);
        let is_named = named.is_some_and(|named| named.means(cluster.namespace.as_deref(), id));
        let owns = || machines_of(cluster, live).any(|machine| is_owned_by(machine, id));
        is_named && has_machines(cluster, Some(id)) || owns()
    });
    carried.next().map(|(cluster, _)| cluster.clone())
}

/// Whether an object belongs to a `Cluster` that was not looked for.
fn is_of_unread(id: &ObjectId, live: &LiveObjects) -> bool {
    let clusters = live.get(id).map(|value| clusters_of(id, value)).unwrap_or_default();
    clusters.iter().any(|cluster| live.get(cluster).is_none() && !live.is_absent(cluster))
}

/// How an object may go.
enum DeletionKind {
    /// By itself.
    Free,
    /// By itself, where nothing names it.
    Unnamed,
    /// By itself, where nothing names it and every machine is up to date.
    Template,
    Tombstone,
}

fn sort(id: &ObjectId, rotated: bool) -> DeletionKind {
    match loss(id) {
        Loss::Nothing => DeletionKind::Free,
        Loss::WhileNamed => DeletionKind::Unnamed,
        Loss::Template => DeletionKind::Template,
        // A class may be used from other folders; one that a rotation left behind is this folder's own.
        Loss::Class if rotated => DeletionKind::Template,
        Loss::Class | Loss::Cluster | Loss::ClusterIfNamed | Loss::Unknown => DeletionKind::Tombstone,
    }
}

fn has_workers(id: &ObjectId) -> bool {
    role_of(id).is_some_and(KindRole::is_worker)
}
