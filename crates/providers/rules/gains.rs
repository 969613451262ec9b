//! `provider-gains-rights`

use capstan_model::finding::{Finding, rules};

use super::case::{RuleCase, found};
use crate::rights::{RbacRight, grants};

/// How many gains a message names.
const NAMED: usize = 6;

/// Verbs that make more rights of rights.
const ESCALATING: [&str; 3] = ["escalate", "bind", "impersonate"];

/// Whether that right amounts to full access: a wildcard as group, resource, verb or path, every Secret, rights that give
/// rights, a shell in any pod.
fn is_dangerous(right: &RbacRight) -> bool {
    match right {
        RbacRight::Resource { namespace, group, resource, name, verb } => {
            let has_wildcard =
                [group, resource, verb].into_iter().any(|part| part == "*" || part.starts_with("*/"));
            let every_secret =
                group.is_empty() && resource == "secrets" && namespace.is_none() && name.is_none();
            let shell = group.is_empty() && resource == "pods/exec";
            has_wildcard || every_secret || shell || ESCALATING.contains(&verb.as_str())
        }
        RbacRight::Path { path, verb } => path == "*" || verb == "*",
        RbacRight::Role { .. } => false,
    }
}

pub(super) fn judge(case: &RuleCase<'_>, findings: &mut Vec<Finding>) {
    for (label, change) in &case.compared.subjects {
        let Some(member) = case.after.members.iter().find(|member| member.label() == *label) else {
            continue;
        };
        let (dangerous, others): (Vec<&RbacRight>, Vec<&RbacRight>) =
            change.gains.iter().partition(|right| is_dangerous(right));
        let words = |rights: Vec<&RbacRight>| {
            let all = grants(rights);
            let words = capstan_model::wording::few(&all, NAMED, "more");
            words.join("; ")
        };
        let finding = |message: String| found(rules::PROVIDER_GAINS_RIGHTS, member, message);
        // What comes with a provider that the set did not have is a gain too, and read otherwise: nothing changed its mind.
        let is_new = case.before.is_some_and(|before| before.member(label).is_none());
        if is_new {
            if !dangerous.is_empty() {
                findings.push(finding(format!(
                    "{label} is new in the set. With the roles of the whole set, its {} gets: {}. Anybody who gets into that pod has these rights. If its documentation requires them, accept with `/capstan override provider-gains-rights REASON`. Otherwise remove them from the components with a patch",
                    change.subject,
                    words(dangerous)
                )));
            }
            if !others.is_empty() {
                let message =
                    format!("{label} is new in the set, and its {} gets: {}", change.subject, words(others));
                findings.push(finding(message).warning());
            }
            continue;
        }
        if !dangerous.is_empty() {
            findings.push(finding(format!(
                "{} gains, with the roles of the whole set: {}. Anybody who gets into that pod has these rights: make sure that they are needed, or remove them from the components with a patch",
                change.subject,
                words(dangerous)
            )));
        }
        if !others.is_empty() {
            let message = format!("{} gains: {}", change.subject, words(others));
            findings.push(finding(message).warning());
        }
    }
}
