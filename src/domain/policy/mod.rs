//! Rules: one a file behind one trait, and their catalogue.
//!
//! Owns what is judged, how bad it is, and why. A rule sees [`Facts`], plain values of one cluster
//! before and after, and adds [`Verdict`]s; the settings then have their say on severity.
//!
//! Deliberately absent: loading anything, and the decision what a finding leads to (exit code,
//! check, draft): that is for whoever asked.

mod component_downgrade;
mod kubernetes;
mod kubernetes_downgrade;
mod kubernetes_minor_skip;
mod missing_reference;
mod of_merge;
mod of_tree;
mod overlay_hides_change;
mod overlay_loses_target;
mod removes_machines;
mod rule;
mod severities;
mod template_edited_in_place;
#[cfg(test)]
mod tests;
mod unknown_template;
mod unsupported_substitution;
mod validate;

use std::collections::BTreeSet;

pub use rule::{About, Change, Example, Facts, Occasion, ReleaseStep, Rule, Spot, Verdict};
pub use severities::{Level, Severities, SeverityRefused};
pub use validate::{Scope, Snapshot, folders_of, settings_finding, validate};

pub use crate::upgrade::AppliedBy;

use crate::finding::{Finding, Severity};
use crate::object::{FieldPath, ObjectId};

/// Every rule, ordered by id.
pub fn catalogue() -> &'static [&'static dyn Rule] {
    static RULES: [&dyn Rule; 27] = [
        &of_merge::AMBIGUOUS_MATCH,
        &component_downgrade::ComponentDowngrade,
        &of_merge::EDIT_REFUSED,
        &of_tree::INVALID_LAYOUT,
        &of_tree::INVALID_SETTINGS,
        &of_tree::INVALID_YAML,
        &kubernetes_downgrade::KubernetesDowngrade,
        &kubernetes_minor_skip::KubernetesMinorSkip,
        &of_merge::LIST_WITHOUT_KEY,
        &missing_reference::MissingReference,
        &overlay_hides_change::OverlayHidesChange,
        &overlay_loses_target::OverlayLosesTarget,
        &of_merge::OVERLAY_NAMES_TEMPLATE,
        &of_merge::RELEASE_RECORD_DIFFERS,
        &of_merge::REMOVES_CLUSTER,
        &removes_machines::RemovesMachines,
        &of_tree::RENDER_FAILED,
        &of_merge::RENDERED_TOMBSTONE,
        &of_merge::ROLLOUT_WITHOUT_CHANGE,
        &of_merge::STEP_GROUP_SPLIT,
        &template_edited_in_place::TemplateEditedInPlace,
        &of_merge::UNBOUND_VARIABLE,
        &unknown_template::UnknownTemplate,
        &of_merge::UNMATCHED_FRAGMENT,
        &of_tree::UNREADABLE_FILE,
        &unsupported_substitution::UNSUPPORTED_SUBSTITUTION,
        &of_merge::VARIABLE_CONTRADICTION,
    ];
    &RULES
}

/// The rule of that id.
pub fn rule(id: &str) -> Option<&'static dyn Rule> {
    catalogue().iter().copied().find(|rule| rule.about().id == id)
}

/// Every rule's id, ordered.
pub fn ids() -> impl Iterator<Item = &'static str> {
    catalogue().iter().map(|rule| rule.about().id)
}

/// What the rules say of one cluster before and after, ordered by file, line (none last) and path.
/// Findings of the merge are not among them.
pub fn judge(facts: &Facts<'_>, severities: &Severities) -> Vec<Finding> {
    let mut verdicts = Vec::new();
    for rule in catalogue() {
        if severities.of(rule.about().id).is_some() {
            rule.judge(facts, &mut verdicts);
        }
    }
    let mut findings: Vec<Finding> = verdicts
        .into_iter()
        .filter_map(|verdict| {
            let severity = severities.of(verdict.rule.id)?;
            Some(verdict.into_finding(severity))
        })
        .collect();
    sort(&mut findings);
    findings
}

/// Orders findings by file, line (none last) and path, as reports show them.
pub fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        let key = |f: &Finding| (f.file.is_none(), f.file.clone(), f.line.is_none(), f.line, f.column);
        key(a).cmp(&key(b)).then_with(|| a.path.cmp(&b.path)).then_with(|| a.rule.cmp(b.rule))
    });
}

/// The errors in `after` that `before` does not have, compared by rule, object and path: the ones
/// that decide a check.
pub fn new_errors<'a>(before: &[Finding], after: &'a [Finding]) -> Vec<&'a Finding> {
    type Key<'k> = (&'static str, Option<&'k ObjectId>, Option<&'k FieldPath>);
    fn key(finding: &Finding) -> Key<'_> {
        (finding.rule, finding.object.as_ref(), finding.path.as_ref())
    }
    let known: BTreeSet<Key<'_>> =
        before.iter().filter(|finding| finding.severity == Severity::Error).map(key).collect();
    after
        .iter()
        .filter(|finding| finding.severity == Severity::Error && !known.contains(&key(finding)))
        .collect()
}
