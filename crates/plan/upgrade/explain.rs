//! Why an upgrade is what it is: where in the release each change comes from, and how lists and texts were found to be
//! the same or not.
//!
//! Read from what the merge recorded ([`Provenance`]); no rule is applied a second time.

use super::model::{Change, ChangeReason, Rollout, Upgrade};
use super::provenance::{ListMerged, ObjectProvenance, Provenance, ValueCompared};
use crate::merge::decision::{MergeDecision, MergeRule, ReleasePlaces};
use capstan_model::finding::Place;
use capstan_model::object::{FieldPath, ObjectId};

/// Why an upgrade is what it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Explanation {
    /// Of each change of the upgrade, in its order.
    pub changes: Vec<ChangeOrigin>,
    /// Lists on which cluster and releases differ, ordered by file, line and path.
    pub lists: Vec<ListMerged>,
    /// Texts that differ and are one value, ordered likewise.
    pub values: Vec<ValueCompared>,
    /// How machines come and go, those that only come or go by number included.
    pub rollouts: Vec<Rollout>,
}

/// Where one change comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeOrigin {
    pub object: ObjectId,
    /// The field.
    pub path: FieldPath,
    /// Why, in a sentence without a full stop.
    pub because: &'static str,
    /// The rule of the merge by which it came; `None` of what follows from other changes, and of a source that
    /// sets fields by itself.
    pub rule: Option<MergeRule>,
    /// Where the old release has the field (a whole object: its document): file, from the root of the
    /// repository or of the tree in which the release was found, and line; of a value out of a wrapped or
    /// overlaid document, the document's.
    pub old: Option<Place>,
    /// Where the new release has it.
    pub new: Option<Place>,
}

/// Explains an upgrade by what was recorded when it was planned.
pub fn explain(provenance: &Provenance, upgrade: &Upgrade) -> Explanation {
    Explanation {
        changes: upgrade.changes.iter().map(|change| provenance.origin(change)).collect(),
        lists: provenance.lists.clone(),
        values: provenance.values.clone(),
        rollouts: upgrade.rollouts.clone(),
    }
}

impl Provenance {
    fn origin(&self, change: &Change) -> ChangeOrigin {
        let (object, path) = (change.object.clone(), change.path.clone());
        if let Some((because, place)) = &self.source {
            return ChangeOrigin { object, path, because, rule: None, old: None, new: Some(place.clone()) };
        }
        let of_object = self.objects.iter().find(|of| of.id == change.object);
        let decision = of_object.and_then(|of| of.decision(change));
        let in_releases = match (decision, of_object) {
            (Some(decision), _) => decision.in_releases.clone(),
            (None, Some(of)) => {
                let ReleasePlaces { old, new } = of.release_places(&change.path);
                ReleasePlaces {
                    old: old.clone().filter(|_| change.path.is_root() || change.old.is_some()),
                    new: new.clone().filter(|_| change.new.is_some()),
                }
            }
            (None, None) => ReleasePlaces::default(),
        };
        let because = because(change, &in_releases);
        let ReleasePlaces { old, new } = match change.reason {
            ChangeReason::Reference => ReleasePlaces::default(),
            // What moves is the cluster's own value: no release need have it.
            _ if change.from.is_some() => ReleasePlaces::default(),
            _ => in_releases,
        };
        let whole = of_object.filter(|_| change.path.is_root()).map(|of| of.rule);
        let rule = decision.map(|decision| decision.rule).or(whole);
        ChangeOrigin { object, path, because, rule, old, new }
    }
}

impl ObjectProvenance {
    /// Where the releases have a field about which nothing was decided, or else the object.
    fn release_places(&self, path: &FieldPath) -> &ReleasePlaces {
        let touched = self.converted.iter().find(|(field, _)| field == path);
        touched.map_or(&self.in_releases, |(_, in_releases)| in_releases)
    }

    /// The decision of which a change was made. New items of one list have one path, and differ in their values.
    fn decision(&self, change: &Change) -> Option<&MergeDecision> {
        if !matches!(change.reason, ChangeReason::Release | ChangeReason::Inventory) || change.from.is_some()
        {
            return None;
        }
        let of_field = || self.decisions.iter().filter(|decision| decision.path == change.path);
        let is_it = |decision: &&MergeDecision| {
            decision.release.as_ref().map(capstan_yaml::Node::value) == change.new
        };
        of_field().find(is_it).or_else(|| of_field().next())
    }
}

fn because(change: &Change, in_releases: &ReleasePlaces) -> &'static str {
    match (change.reason, &in_releases.old, &in_releases.new) {
        (ChangeReason::Rotation, ..) => "a template is immutable: a change makes a new one with a new name",
        (ChangeReason::Reference, ..) => "it names a template that has a new name",
        (ChangeReason::Release | ChangeReason::Inventory, ..) if change.from.is_some() => {
            "moved by the new API version"
        }
        (ChangeReason::Release | ChangeReason::Inventory | ChangeReason::Object, _, None)
            if change.new.is_none() =>
        {
            "the new release no longer has it"
        }
        (ChangeReason::Release | ChangeReason::Inventory | ChangeReason::Object, None, Some(_)) => {
            "the new release has it, and the old one did not"
        }
        (ChangeReason::Inventory, ..) => "the inventory says so",
        (ChangeReason::Release | ChangeReason::Object, ..) => "the new release says so",
    }
}
