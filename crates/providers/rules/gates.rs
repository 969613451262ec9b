//! `provider-feature-gate-unknown`

use capstan_model::finding::{Finding, rules};
use capstan_model::spelling;

use super::case::{RuleCase, found, named};

pub(super) fn judge(case: &RuleCase<'_>, findings: &mut Vec<Finding>) {
    for member in &case.after.members {
        let Some(rendered) = member.rendered() else { continue };
        let before = case.before(member).and_then(|old| old.rendered());
        for (gate, place) in member.gates.iter().filter(|(gate, _)| !rendered.listed_gates.contains(*gate)) {
            let known = rendered.listed_gates.iter().map(String::as_str);
            let finding = match before.filter(|old| old.listed_gates.contains(gate)) {
                Some(old) => {
                    let message = format!(
                        "{} sets the feature gate `{gate}`, which the components of {} list but those of {} do not. A manager with an unknown feature gate does not start: remove it",
                        member.label(),
                        old.version,
                        rendered.version
                    );
                    found(rules::PROVIDER_FEATURE_GATE_UNKNOWN, member, message)
                }
                None => {
                    let hint = spelling::suggestion(gate, known);
                    let message = format!(
                        "{} does not list the feature gate `{gate}`, which its provider object sets. A manager may know gates that it does not list, but with an unknown gate it does not start: check that it knows this one{hint}",
                        named(member)
                    );
                    found(rules::PROVIDER_FEATURE_GATE_UNKNOWN, member, message).warning()
                }
            };
            findings.push(finding.maybe_place(place.clone().or_else(|| member.place.clone())));
        }
    }
}
