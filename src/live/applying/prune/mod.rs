//! What is deleted of what Git no longer names (DESIGN 7, "Deleting").
//!
//! Nothing is ever deleted that is not in the folder's [`Inventory`] under the very UID that is live. Of
//! that, what a render that succeeded no longer has goes by itself only where nobody can miss it; the rest
//! needs a tombstone, by name. Whatever cannot be told (an object nobody read, a render that failed, a
//! folder that is gone) is kept.
//!
//! One call decides one round: what depends on another deletion waits for the next. A `Cluster` goes before
//! all that it is made of, credentials go last, since providers need them to take machines away.
//!
//! *The budget* limits what goes in one round without a tombstone: a mistake (a renamed prefix, a lost
//! kustomization) drops many objects at once, and then none of them goes until a person has looked. What a
//! person named does not count, nor what a rotation left behind, whose successor is rendered.
//!
//! *Worker pools with a tombstone* wait while the rollout of what is rendered is not through: the machines
//! that replace them may still be withheld.

mod named;
mod outcome;
#[cfg(test)]
mod tests;
mod tombstones;
mod whole;

use self::named::Named;
pub use self::outcome::{
    Because, Deletions, Doomed, Forget, Forgotten, Keep, Kept, TombstoneFinding, Useless,
};
use self::tombstones::Tombstones;
use super::inventory::{Inventory, InventoryObject};
use super::managers::is_applied_by_capstan;
use super::owners::OwnerIndex;
use crate::live_objects::{LiveObjects, is_terminating, uid};
use crate::rollout::observed::State;
use capstan_kustomize::render::RenderedObject;
use capstan_model::ids::ClusterId;
use capstan_model::kinds::{KindRole, Loss, loss, names, role_of};
use capstan_model::object::ObjectId;
use capstan_plan::settings::Deletion;
use capstan_plan::templates::NamedTemplate;

/// What a round of deletions is decided from.
#[derive(Debug, Clone, Copy)]
pub struct PruneFacts<'a> {
    /// The folder.
    pub folder: &'a ClusterId,
    /// What it has applied.
    pub inventory: &'a Inventory,
    /// What it renders, with namespaces and live names; `None` where the folder is gone or the render
    /// failed.
    pub rendered: Option<&'a [RenderedObject]>,
    /// The templates among it: the names that Git gives them.
    pub templates: &'a [NamedTemplate],
    /// The tombstones in its `capstan.yaml`.
    pub delete: &'a Deletion,
    /// The namespace of tombstones that name none.
    pub namespace: Option<&'a str>,
    /// Everything of the inventory, what is rendered, and all `MachineSet`s and `Machine`s.
    pub live: &'a LiveObjects,
    /// What all folders render and have applied.
    pub owners: &'a OwnerIndex,
    /// How the rollout stands.
    pub rollout: State,
    /// Whether changes are withheld.
    pub withheld: Withholding,
    /// How many objects may go at once without a tombstone.
    pub budget: u32,
}

/// Whether changes wait to be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Withholding {
    /// Everything rendered is applied.
    Nothing,
    /// Workers wait for their control plane.
    Workers,
}

/// Decides one round of deletions.
pub fn prune(facts: &PruneFacts<'_>) -> Deletions {
    let mut round = Round { facts, done: Deletions::default() };
    let left = round.present();
    if *facts.delete == Deletion::Cluster {
        round.whole_cluster(&left);
    } else {
        round.objects(left);
    }
    let Deletions { keep, forget, .. } = &mut round.done;
    keep.sort_by(|a, b| a.object.cmp(&b.object));
    forget.sort_by(|a, b| a.object.cmp(&b.object));
    round.done
}

struct Round<'f, 'a> {
    facts: &'f PruneFacts<'a>,
    done: Deletions,
}

/// An object of the inventory that is live under its UID.
struct Present<'a> {
    entry: &'a InventoryObject,
    id: ObjectId,
    uid: &'a str,
}

impl<'a> Round<'_, 'a> {
    fn keep(&mut self, object: ObjectId, why: Keep) {
        self.done.keep.push(Kept { object, why });
    }

    fn forget(&mut self, object: ObjectId, why: Forget) {
        self.done.forget.push(Forgotten { object, why });
    }

    fn doom(&mut self, object: &Present<'_>, because: Because) {
        self.done.delete.push(Doomed { object: object.id.clone(), uid: object.uid.to_owned(), because });
    }

    fn is_rendered(&self, id: &ObjectId) -> bool {
        self.facts.rendered.into_iter().flatten().any(|object| object.id == *id)
    }

    /// The inventory as far as it is live and this folder's; the rest is settled here. With `delete:
    /// cluster` what is rendered counts too.
    fn present(&mut self) -> Vec<Present<'a>> {
        let facts = self.facts;
        let mut left = Vec::new();
        for entry in facts.inventory.objects() {
            let id = entry.id();
            let whole = *facts.delete == Deletion::Cluster;
            if !whole && self.is_rendered(&id) {
                continue;
            }
            let heir = facts
                .owners
                .heir(facts.folder, &id)
                .or_else(|| facts.owners.heir(facts.folder, &entry.logical_id()));
            if let Some(heir) = heir {
                self.forget(id, Forget::Transferred(heir.clone()));
                continue;
            }
            let Some(live) = facts.live.get(&id) else {
                if facts.live.is_absent(&id) {
                    self.forget(id, Forget::Gone);
                } else {
                    self.keep(id, Keep::NotRead);
                }
                continue;
            };
            let Some(uid) = uid(live) else {
                self.keep(id, Keep::NotRead);
                continue;
            };
            // Without a UID it was intended; whether it was applied only the live object tells.
            let ours = entry.uid.as_deref().map_or_else(|| is_applied_by_capstan(live), |known| known == uid);
            if !ours {
                self.forget(id, Forget::Replaced);
            } else if is_terminating(live) {
                self.keep(id, Keep::Terminating);
            } else {
                left.push(Present { entry, id, uid });
            }
        }
        left
    }

    /// What is gone from a render.
    fn objects(&mut self, left: Vec<Present<'a>>) {
        let facts = self.facts;
        let Some(rendered) = facts.rendered.filter(|rendered| !rendered.is_empty()) else {
            left.into_iter().for_each(|object| self.keep(object.id, Keep::NothingRendered));
            return;
        };
        let tombstones = Tombstones::of(facts);
        self.done.findings = tombstones.findings.clone();
        let named = Named::of(rendered, facts.live);
        let mut doomed: Vec<(Present<'a>, Because)> = Vec::new();
        for object in left {
            match self.verdict(&object, &tombstones, &named) {
                Ok(because) => doomed.push((object, because)),
                Err(why) => self.keep(object.id, why),
            }
        }
        let pruned = doomed.iter().filter(|(_, because)| *because == Because::Pruned).count();
        let pruned = u32::try_from(pruned).unwrap_or(u32::MAX);
        if pruned > facts.budget {
            let over = Keep::OverBudget { doomed: pruned, budget: facts.budget };
            let (kept, rest): (Vec<_>, Vec<_>) =
                doomed.into_iter().partition(|(_, because)| *because == Because::Pruned);
            kept.into_iter().for_each(|(object, _)| self.keep(object.id, over.clone()));
            doomed = rest;
        }
        self.in_turns(doomed);
    }

    /// Deletes what comes first; the rest waits for it.
    fn in_turns(&mut self, mut doomed: Vec<(Present<'a>, Because)>) {
        doomed.sort_by(|(a, _), (b, _)| (turn(&a.id), &a.id).cmp(&(turn(&b.id), &b.id)));
        // What is on its way out already goes before what comes after it.
        let going = self
            .done
            .keep
            .iter()
            .filter(|kept| kept.why == Keep::Terminating)
            .map(|kept| kept.object.clone());
        let first = going.chain(doomed.iter().map(|(object, _)| object.id.clone())).min_by_key(turn);
        for (object, because) in doomed {
            match &first {
                Some(first) if turn(first) < turn(&object.id) => {
                    self.keep(object.id, Keep::WaitsFor(first.clone()));
                }
                _ => self.doom(&object, because),
            }
        }
    }

    fn verdict(
        &self,
        object: &Present<'_>,
        tombstones: &Tombstones,
        named: &Named<'_>,
    ) -> Result<Because, Keep> {
        let facts = self.facts;
        let id = &object.id;
        if tombstones.name(object.entry) {
            let rolls = matches!(facts.rollout, State::Waiting | State::Rolling | State::Stuck);
            let not_through = rolls || facts.withheld == Withholding::Workers;
            return if has_workers(id) && not_through {
                Err(Keep::RolloutNotDone)
            } else {
                Ok(Because::Tombstone)
            };
        }
        let rotated = object.entry.logical.is_some() && self.has_successor(object.entry);
        let because = if rotated { Because::Rotated } else { Because::Pruned };
        match sort(id, rotated) {
            Sort::Tombstone => Err(Keep::NeedsTombstone),
            Sort::Free => Ok(because),
            Sort::Unnamed => named.by(id).map_or(Ok(because), |by| Err(Keep::StillNamed(by))),
            Sort::Template => {
                let read = [names::MACHINE_SET, names::MACHINE]
                    .iter()
                    .all(|kind| facts.live.has_all("cluster.x-k8s.io", kind));
                if !read {
                    Err(Keep::NotRead)
                } else if let Some(by) = named.by(id) {
                    Err(Keep::StillNamed(by))
                } else if facts.rollout != State::Done || facts.withheld == Withholding::Workers {
                    Err(Keep::RolloutNotDone)
                } else {
                    Ok(because)
                }
            }
        }
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

/// How an object may go.
enum Sort {
    /// By itself.
    Free,
    /// By itself, where nothing names it.
    Unnamed,
    /// By itself, where nothing names it and every machine is as wished.
    Template,
    /// With a tombstone.
    Tombstone,
}

fn sort(id: &ObjectId, rotated: bool) -> Sort {
    match loss(id) {
        Loss::Nothing => Sort::Free,
        Loss::WhileNamed => Sort::Unnamed,
        Loss::Template => Sort::Template,
        // A class may be used from other folders; one that a rotation left behind is this folder's own.
        Loss::Class if rotated => Sort::Template,
        Loss::Class | Loss::Cluster | Loss::ClusterIfNamed | Loss::Unknown => Sort::Tombstone,
    }
}

fn has_workers(id: &ObjectId) -> bool {
    role_of(id).is_some_and(KindRole::is_worker)
}

/// The `Cluster`, then everything, then credentials.
fn turn(id: &ObjectId) -> u8 {
    match role_of(id) {
        Some(KindRole::Cluster) => 0,
        Some(KindRole::Identity | KindRole::Secret) => 2,
        Some(KindRole::Namespace) => 3,
        _ => 1,
    }
}
