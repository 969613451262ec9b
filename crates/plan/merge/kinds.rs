//! Changed kinds ([U2]): the release drops an object and brings another in its place. That is a remove and
//! an add; what belongs together is only found to be said.
//!
//! [U2]: crate::merge::matching#u2

use super::cluster_merge::{ClusterMerge, KindChange};
use super::cluster_objects::Base;
use crate::templates::{references, split_suffix};
use capstan_model::kinds::succession;
use capstan_model::object::{ObjectId, Step};

/// The changed kinds among what goes (or was edited and stays) and what comes.
pub(super) fn kind_changes(base: &Base, merge: &ClusterMerge) -> Vec<KindChange> {
    let edited = merge.conflicts.iter().filter(|conflict| conflict.release.is_none());
    let dropped = merge
        .removed
        .iter()
        .map(|dropped| dropped.object)
        .chain(edited.filter_map(|conflict| conflict.object));
    let changes = dropped.filter_map(|object| {
        let id = &base.objects[object].id;
        let added = merge.added.iter().map(|new| &new.id);
        let mut successors = added.filter(|new| {
            succession(&new.kind) == succession(&id.kind)
                && (new.kind != id.kind || new.group != id.group)
                && (bare(&new.name) == bare(&id.name) || owner_turns_to(base, merge, id, new))
        });
        let added = successors.next()?.clone();
        Some(KindChange { object, added })
    });
    changes.collect()
}

fn bare(name: &str) -> &str {
    split_suffix(name).map_or(name, |(base, _)| base)
}

/// Whether an object that named the one names the other after the upgrade.
fn owner_turns_to(base: &Base, merge: &ClusterMerge, old: &ObjectId, new: &ObjectId) -> bool {
    merge.merged.iter().any(|merged| {
        let owner = &base.objects[merged.object].id;
        let found = references(&owner.group, &owner.kind, base.node(merged.object));
        found.iter().filter(|reference| reference.kind == old.kind && reference.name == old.name).any(
            |reference| {
                let kind = reference.path.parent().map(|parent| parent.join(Step::Key("kind".to_owned())));
                merged.record.decisions.iter().any(|decision| {
                    let becomes = decision.release.as_ref().and_then(|node| node.as_scalar());
                    Some(&decision.path) == kind.as_ref()
                        && becomes.is_some_and(|scalar| scalar.text == new.kind)
                })
            },
        )
    })
}
