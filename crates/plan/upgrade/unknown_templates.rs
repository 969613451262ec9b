//! Templates of kinds that no table lists, which the upgrade changes ([U12]).
//!
//! [U12]: crate::templates#u12

use super::context::Context;
use super::owners::{ObjectOwners, TemplateLevel};
use super::removal::Reduced;
use super::said::UpgradeReport;
use crate::templates::{TemplateRole, is_known_in_role};
use capstan_model::finding::rules;
use capstan_model::kinds::is_template;
use capstan_model::object::FieldPath;

/// Templates of kinds that no table lists, which the upgrade changes.
pub(super) fn unknown_templates(
    context: Context<'_>,
    owners: &ObjectOwners,
    reduced: &Reduced,
    said: &mut UpgradeReport,
) {
    for object in 0..context.base.objects.len() {
        if reduced.draft.has_edits(object) {
            let roles: Vec<TemplateRole> = owners.of_object[object].iter().map(|(_, role)| *role).collect();
            if !is_known_in_role(&context.base.objects[object].id, &roles) {
                say(context, object, owners.level(context.base, object), said);
            }
        }
    }
}

/// A template of a kind that no table lists, which the upgrade changes.
fn say(context: Context<'_>, object: usize, level: Option<TemplateLevel>, said: &mut UpgradeReport) {
    let id = context.base.objects[object].id.clone();
    if !is_template(&id) {
        return;
    }
    let message = if level.is_some() {
        format!(
            "{id} is of a kind that Capstan does not know. Machines are made from it, so it gets a new name like every machine template."
        )
    } else {
        format!(
            "{id} is of a kind that Capstan does not know, and nothing here makes machines from it, so Capstan changes it under its name. Whether the API server refuses that or it replaces machines is unknown."
        )
    };
    let at = context.base.node(object).span.start;
    said.findings.push(context.finding_at(rules::UNKNOWN_TEMPLATE, message, object, at, &FieldPath::root()));
}
