//! `template-edited-in-place`

use super::evidence::Evidence;
use super::facts::Occasion;
use super::rule::{About, PolicyRule};
use crate::merge::AppliedBy;
use crate::templates::reference_paths;
use capstan_kustomize::render::{RenderedObject, diff_placed, in_one_version};
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::{self, KindRole, Treatment, Workers, role_of, treatment};
use capstan_model::object::FieldPath;

pub(super) struct TemplateEditedInPlace;

static ABOUT: About = About::new(
    rules::TEMPLATE_EDITED_IN_PLACE,
    include_str!("../../../docs/rules/template-edited-in-place.md"),
);

impl PolicyRule for TemplateEditedInPlace {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        if change.applied_by == AppliedBy::Reconciler || change.occasion == Occasion::Upgrade {
            return;
        }
        for new in change.after.objects.iter().filter(|object| is_template(object, change.after.objects)) {
            let Some(old) = change.before.object(&new.id) else { continue };
            let (was, is) = in_one_version(old, new, change.schemas);
            let (Some(before), Some(after)) = (was.placed.field("spec"), is.placed.field("spec")) else {
                continue;
            };
            let Some(first) = diff_placed(&new.id, before, after).into_iter().next() else { continue };
            let path: FieldPath = std::iter::once(capstan_model::object::Step::Key("spec".to_owned()))
                .chain(first.path.steps().iter().cloned())
                .collect();
            let place = first.new_place.unwrap_or_else(|| new.origin().clone());
            verdicts.push(
                Finding::new(rules::TEMPLATE_EDITED_IN_PLACE,
                    format!(
                        "`{path}` of {} changes under the old name: {}. Give the template a new name and update its references",
                        new.id,
                        what_happens(&new.id.kind)
                    ),
                )
                .object(&new.id)
                .path(&path)
                .place(&place),
            );
        }
    }
}

fn what_happens(kind: &str) -> &'static str {
    if kinds::is_config(kind) {
        "no machine is replaced, but new machines get the new configuration, so the machines differ and nothing shows it"
    } else {
        "the API server refuses it, or machines keep the old value"
    }
}

/// Templates, and what a MachinePool names as its bootstrap config.
fn is_template(object: &RenderedObject, all: &[RenderedObject]) -> bool {
    let id = &object.id;
    if !kinds::is_cluster_api(&id.group) {
        return false;
    }
    match treatment(Some(&id.group), &id.kind) {
        Some(Treatment::Rotate | Treatment::Never) => true,
        Some(Treatment::MutableAndRolls | Treatment::MutableSilent) => false,
        None if kinds::is_template(id) => true,
        None => {
            role_of(id) == Some(KindRole::BootstrapConfig)
                && all.iter().any(|pool| is_bootstrap_of(pool, object))
        }
    }
}

fn is_bootstrap_of(pool: &RenderedObject, config: &RenderedObject) -> bool {
    role_of(&pool.id) == Some(KindRole::Workers(Workers::Pool))
        && reference_paths(&pool.id.group, &pool.id.kind).iter().any(|path| {
            pool.placed.at(path.steps).is_some_and(|reference| {
                reference.text_at(&["kind"]) == Some(&config.id.kind)
                    && reference.text_at(&["name"]) == Some(&config.id.name)
            })
        })
}
