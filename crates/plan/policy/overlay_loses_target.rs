//! `overlay-loses-target`

use super::evidence::Evidence;
use super::rule::{About, PolicyRule};
use capstan_kustomize::render::PatchUse;
use capstan_model::finding::{Finding, rules};
use capstan_model::object::ObjectId;

pub(super) struct OverlayLosesTarget;

static ABOUT: About =
    About::new(rules::OVERLAY_LOSES_TARGET, include_str!("../../../docs/rules/overlay-loses-target.md"));

impl PolicyRule for OverlayLosesTarget {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        let version = |id: &ObjectId| {
            let (old, new) = (change.before.object(id)?, change.after.object(id)?);
            (old.api_version != new.api_version).then_some(new.api_version.as_str())
        };
        verdicts.extend(lost(&change.before.rendered.patches, &change.after.rendered.patches, &version));
    }
}

/// The patches that were applied to nothing, now that there are these instead of those before. `version` knows the API
/// version to which an object came.
pub(super) fn lost<'v>(
    before: &[PatchUse],
    after: &[PatchUse],
    version: &dyn Fn(&ObjectId) -> Option<&'v str>,
) -> Vec<Finding> {
    let mut verdicts = Vec::new();
    for patch in after {
        let was_found = patch.matched.is_empty() && found_once(before, patch);
        let comes_to = before_target(before, patch).filter(|_| was_found).and_then(version);
        let message = match (comes_to, &patch.lost) {
            (Some(version), _) => format!(
                "this patch was for {}, which comes to {version}: write that version in the patch",
                patch.target
            ),
            (None, Some(reason)) => {
                format!("this patch is lost: {reason}. Correct its target, or remove it")
            }
            (None, None) if was_found => format!(
                "this patch was for {}, which it no longer finds: correct its target, or remove it",
                patch.target
            ),
            (None, None) => continue,
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

fn before_target<'a>(before: &'a [PatchUse], patch: &'a PatchUse) -> Option<&'a ObjectId> {
    same(before, patch).find_map(|old| old.matched.first())
}
