//! `overlay-hides-change`

use std::collections::HashSet;

use super::evidence::Evidence;
use super::facts::PolicyFacts;
use super::rule::{About, PolicyRule};
use capstan_kustomize::render::{PlacedContent, PlacedValue, RenderedObject, SourceOffset, diff};
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::object::FieldPath;

pub(super) struct OverlayHidesChange;

static ABOUT: About =
    About::new(rules::OVERLAY_HIDES_CHANGE, include_str!("../../../docs/rules/overlay-hides-change.md"));

impl PolicyRule for OverlayHidesChange {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn compare(&self, evidence: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        if evidence.after.rendered.base.is_none() {
            return;
        }
        let base = evidence.after.rendered.base_objects();
        for change in diff(evidence.before.rendered.base_objects(), base) {
            if change.path.is_root() {
                continue;
            }
            let origin = base.iter().find(|object| object.id == change.object).map(RenderedObject::origin);
            // The overlay may rename an object or move it: it is the one written at the same place.
            let rendered = evidence.after.objects.iter().find(|object| Some(object.origin()) == origin);
            let Some(rendered) = rendered else { continue };
            let from_base = |place: &SourceOffset| {
                place.file().is_in(&evidence.folders.base) && !is_overlay(evidence, place)
            };
            let shown = rendered.placed.get(&change.path);
            let hidden = match (&change.new, &change.new_place) {
                (Some(value), Some(place)) => {
                    shown.is_none_or(|shown| shown.to_value() != *value)
                        && !survives(place, value, &base_value(base, &change.object, place), &rendered.placed)
                }
                _ => shown.is_some_and(|shown| !from_base(&shown.place)),
            };
            if hidden {
                let place = blame(evidence, rendered, &change.path, &from_base);
                verdicts.push(
                    Finding::new(rules::OVERLAY_HIDES_CHANGE,
                        format!(
                            "the overlay sets `{}` of {}, so the base's change of it has no effect: remove it from the overlay if you want the change",
                            change.path, change.object
                        ),
                    )
                    .object(&change.object)
                    .path(&change.path)
                    .place(place),
                );
            }
        }
    }
}

fn is_overlay(facts: &PolicyFacts<'_>, place: &SourceOffset) -> bool {
    place.file().is_in(&facts.folders.overlay)
}

fn base_value(
    base: &[RenderedObject],
    object: &capstan_model::object::ObjectId,
    place: &SourceOffset,
) -> Vec<SourceOffset> {
    let mut leaves = Vec::new();
    if let Some(object) = base.iter().find(|candidate| candidate.id == *object) {
        find_leaves(&object.placed, place, &mut leaves);
    }
    leaves
}

/// Collects the places of the scalars in the value at `place`.
fn find_leaves(value: &PlacedValue, place: &SourceOffset, leaves: &mut Vec<SourceOffset>) {
    if value.place == *place {
        collect(value, &mut |leaf| leaves.push(leaf.clone()));
        return;
    }
    match &value.content {
        PlacedContent::Scalar(_) => {}
        PlacedContent::Mapping(entries) => {
            entries.iter().for_each(|(_, value)| find_leaves(value, place, leaves))
        }
        PlacedContent::Sequence(items) => items.iter().for_each(|value| find_leaves(value, place, leaves)),
    }
}

fn collect<'a>(value: &'a PlacedValue, keep: &mut impl FnMut(&'a SourceOffset)) {
    match &value.content {
        PlacedContent::Scalar(_) => keep(&value.place),
        PlacedContent::Mapping(entries) => entries.iter().for_each(|(_, value)| collect(value, keep)),
        PlacedContent::Sequence(items) => items.iter().for_each(|value| collect(value, keep)),
    }
}

/// Whether every scalar of the new value is still somewhere in the rendered object. Lists may have been merged, so
/// indexes prove nothing.
fn survives(
    place: &SourceOffset,
    value: &serde_json::Value,
    leaves: &[SourceOffset],
    rendered: &PlacedValue,
) -> bool {
    let mut places = HashSet::new();
    collect(rendered, &mut |leaf| {
        places.insert((leaf.file().clone(), leaf.offset()));
    });
    let there = |leaf: &SourceOffset| places.contains(&(leaf.file().clone(), leaf.offset()));
    match value {
        serde_json::Value::Object(_) | serde_json::Value::Array(_) => leaves.iter().all(there),
        _ => there(place),
    }
}

/// The overlay's line that decides: the value's own, or that of the patch that removed it.
fn blame(
    facts: &PolicyFacts<'_>,
    rendered: &RenderedObject,
    path: &FieldPath,
    from_base: &impl Fn(&SourceOffset) -> bool,
) -> Place {
    let nearest = &rendered.placed.nearest(path).place;
    if !from_base(nearest) {
        return Place::from(nearest);
    }
    let patch = facts
        .after
        .patches
        .iter()
        .rev()
        .find(|patch| patch.matched.contains(&rendered.id) && !from_base(&patch.place));
    Place::from(patch.map_or(nearest, |patch| &patch.place))
}
