//! `delete: cluster`: the `Cluster` alone, then the rest, credentials last.
//!
//! Cluster API takes machines, control plane and infrastructure away itself while the `Cluster` goes, and needs every
//! template and credential for that. If one of them were deleted meanwhile, machines would be left behind that cost
//! money and belong to nothing.

use super::outcome::{DeletionReason, Forget, Keep};
use super::round::{Present, Round, turn};
use crate::live_objects::is_terminating;
use capstan_model::kinds::is_cluster;
use capstan_model::object::ObjectId;

impl Round<'_, '_> {
    pub(super) fn whole_cluster(&mut self, left: &[Present<'_>]) {
        if let Some((cluster, keep)) = self.standing_cluster(left) {
            for object in left {
                if is_cluster(&object.id) && matches!(keep, Keep::WaitsFor(_)) {
                    self.delete(object, DeletionReason::Cluster);
                } else if object.id != cluster {
                    self.keep(object.id.clone(), keep.clone());
                }
            }
            return;
        }
        let namespaces = |object: &&Present<'_>| object.id.group.is_empty() && object.id.kind == "Namespace";
        for object in left.iter().filter(namespaces) {
            self.forget(object.id.clone(), Forget::NamespaceStays);
        }
        let rest: Vec<_> = left.iter().filter(|object| !namespaces(object)).collect();
        let terminating = self.done.keep.iter().filter(|kept| kept.why == Keep::Terminating);
        let first = terminating
            .map(|kept| &kept.object)
            .chain(rest.iter().map(|object| &object.id))
            .min_by_key(|id| turn(id));
        let first = first.cloned();
        for object in rest {
            match &first {
                Some(first) if turn(first) < turn(&object.id) => {
                    self.keep(object.id.clone(), Keep::WaitsFor(first.clone()));
                }
                _ => self.delete(object, DeletionReason::Cluster),
            }
        }
    }

    /// A `Cluster` of this folder that is not gone, and what that means for everything else.
    fn standing_cluster(&self, left: &[Present<'_>]) -> Option<(ObjectId, Keep)> {
        let facts = self.facts;
        let rendered = facts.rendered.into_iter().flatten().map(|object| &object.id);
        let recorded: Vec<ObjectId> = facts.inventory.objects().iter().map(|entry| entry.id()).collect();
        let clusters = rendered.chain(&recorded).filter(|id| is_cluster(id));
        let mut standing = None;
        for id in clusters {
            let transferred = self.done.forget.iter().any(|gone| {
                gone.object == *id && matches!(gone.why, Forget::Transferred(_) | Forget::Replaced)
            });
            let ours = left.iter().any(|object| object.id == *id);
            match facts.live.get(id) {
                None if facts.live.is_absent(id) => {}
                None => return Some((id.clone(), Keep::NotRead)),
                Some(cluster) if is_terminating(cluster) => {
                    standing = Some((id.clone(), Keep::WaitsFor(id.clone())));
                }
                // It was never adopted, or it is another folder's: all that it is made of stays with it.
                Some(_) if transferred || !ours => {
                    return Some((id.clone(), Keep::ClusterNotOurs(id.clone())));
                }
                Some(_) => standing = Some((id.clone(), Keep::WaitsFor(id.clone()))),
            }
        }
        standing
    }
}
