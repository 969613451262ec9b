//! `overlay-loses-target`

use super::evidence::Evidence;
use super::rule::{About, PolicyRule};
use capstan_kustomize::render::PatchUse;
use capstan_model::finding::{Finding, rules};

pub(super) struct OverlayLosesTarget;

static ABOUT: About =
    About::new(rules::OVERLAY_LOSES_TARGET, include_str!("../../../docs/rules/overlay-loses-target.md"));

impl PolicyRule for OverlayLosesTarget {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        verdicts.extend(lost(&change.before.rendered.patches, &change.after.rendered.patches));
    }
}

/// The patches that were applied to nothing, now that there are these instead of those before.
pub(super) fn lost(before: &[PatchUse], after: &[PatchUse]) -> Vec<Finding> {
    let mut verdicts = Vec::new();
    for patch in after {
        let message = if let Some(reason) = &patch.lost {
            format!("this patch is lost: {reason}. Correct its target, or remove it")
        } else if patch.matched.is_empty() && found_once(before, patch) {
            format!(
                "this patch was for {}, which it no longer finds: correct its target, or remove it",
                patch.target
            )
        } else {
            continue;
        };
        let verdict = Finding::new(rules::OVERLAY_LOSES_TARGET, message).place(&patch.place);
        verdicts.push(match before_target(before, patch) {
            Some(object) => verdict.object(object),
            None => verdict,
        });
    }
    verdicts
}

fn same<'a>(before: &'a [PatchUse], patch: &'a PatchUse) -> impl Iterator<Item = &'a PatchUse> {
    before.iter().filter(|old| old.place.file() == patch.place.file() && old.target == patch.target)
}

fn found_once(before: &[PatchUse], patch: &PatchUse) -> bool {
    same(before, patch).any(|old| !old.matched.is_empty())
}

fn before_target<'a>(
    before: &'a [PatchUse],
    patch: &'a PatchUse,
) -> Option<&'a capstan_model::object::ObjectId> {
    same(before, patch).find_map(|old| old.matched.first())
}
