//! `rollout-without-change`

use super::evidence::Evidence;
use super::facts::Occasion;
use super::rule::{About, PolicyRule};
use crate::templates::{references, treatment_in_role};
use capstan_kustomize::render::{RenderedObject, in_one_version};
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::Treatment;

pub(super) struct RolloutWithoutChange;

static ABOUT: About =
    About::new(rules::ROLLOUT_WITHOUT_CHANGE, include_str!("../../../docs/rules/rollout-without-change.md"));

impl PolicyRule for RolloutWithoutChange {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        for (old, new) in change.pairs() {
            let named = |object: &'_ RenderedObject| {
                references(&object.id.group, &object.id.kind, &object.placed)
                    .into_iter()
                    .map(|found| (found.path, found.role, found.kind.to_owned(), found.name.to_owned()))
                    .collect::<Vec<_>>()
            };
            let before = named(old);
            for (path, role, kind, name) in named(new) {
                let Some((.., was)) = before
                    .iter()
                    .find(|(other, _, of, _)| (other, of) == (&path, &kind))
                    .filter(|was| was.3 != name)
                else {
                    continue;
                };
                let (Some(from), Some(to)) =
                    (change.before.named(&kind, was).next(), change.after.named(&kind, &name).next())
                else {
                    continue;
                };
                // Of a MachinePool's own infrastructure a new name means other instances.
                let rolls = treatment_in_role(&to.id, &to.placed, &[role]) == Some(Treatment::Rotate);
                let (was, is) = in_one_version(from, to, change.schemas);
                if !rolls || was.value.get("spec") != is.value.get("spec") {
                    continue;
                }
                let message = format!(
                    "{} changes from {} to {}, which mean the same: its machines are replaced for nothing. Keep the old name",
                    new.id, from.id, to.id.name
                );
                let shown = if change.occasion == Occasion::Upgrade { old } else { new };
                let place = &shown.placed.nearest(&path).place;
                verdicts.push(
                    Finding::new(rules::ROLLOUT_WITHOUT_CHANGE, message)
                        .object(&new.id)
                        .path(&path)
                        .place(place),
                );
            }
        }
    }
}
