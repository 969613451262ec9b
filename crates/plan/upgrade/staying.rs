//! Templates that the release drops and that stay for one upgrade ([U12]).
//!
//! [U12]: crate::templates#u12

use std::collections::BTreeSet;

use super::context::Context;
use super::owners::ObjectOwners;
use super::request::Versions;
use super::said::UpgradeReport;
use crate::merge::AppliedBy;
use crate::merge::cluster_merge::DroppedObject;
use capstan_model::kinds::bears_images;

/// Templates that stay, by their index in the base.
#[derive(Debug, Default)]
pub(super) struct Staying(BTreeSet<usize>);

impl Staying {
    /// Whether an object stays.
    pub(super) fn contains(&self, object: usize) -> bool {
        self.0.contains(&object)
    }
}

/// Of what the release drops, templates whose owners stay: machine sets made from them may name them
/// until the rollout is done, so that the next upgrade takes them out, where nothing here names them.
pub(super) fn templates_that_stay(
    context: Context<'_>,
    owners: &ObjectOwners,
    removed: &[DroppedObject],
    said: &mut UpgradeReport,
) -> Staying {
    let mut staying = Staying::default();
    if context.request.settings.versions == Versions::Stay {
        // Owners keep naming them.
        for object in removed.iter().map(|dropped| dropped.object) {
            let id = &context.base.objects[object].id;
            if bears_images(id) {
                staying.0.insert(object);
                said.notes.push(format!("{id} stays, because the object that names it stays too."));
            }
        }
        return staying;
    }
    if context.request.cluster.applied == AppliedBy::Reconciler || removed.is_empty() {
        return staying;
    }
    let drops = |owner: &usize| removed.iter().any(|dropped| dropped.object == *owner);
    for object in removed.iter().map(|dropped| dropped.object) {
        let is_named = owners.of_object[object].iter().any(|(owner, _)| !drops(owner));
        if is_named && owners.level(context.base, object).is_some() {
            staying.0.insert(object);
            said.notes.push(format!(
                "{} stays in this upgrade, because MachineSets may still name it. The next upgrade removes it if nothing here names it.",
                context.base.objects[object].id
            ));
        }
    }
    staying
}
