//! What is wrong with the components that are at hand.

use std::collections::BTreeMap;

use capstan_model::finding::{Finding, rules};
use capstan_model::object::ObjectId;
use capstan_model::wording::list;

use super::case::{RuleCase, found, named};
use crate::objects::id_of;
use crate::rendering::Variable;
use crate::state::{ComponentsState, RenderedComponents, SetMember};

pub(super) fn judge(case: &RuleCase<'_>, findings: &mut Vec<Finding>) {
    let mut owners: BTreeMap<ObjectId, &SetMember> = BTreeMap::new();
    for member in &case.after.members {
        match &member.components {
            ComponentsState::Unknown(_) => {}
            ComponentsState::Refused(refusal) => {
                let finding = found(rules::RENDER_FAILED, member, refusal.without_place());
                findings.push(finding.maybe_place(refusal.place().cloned()));
            }
            ComponentsState::Rendered(rendered) => {
                findings.extend(unbound(member, rendered));
                findings.extend(differs(case, member, rendered));
                for object in &rendered.objects {
                    if let Some(other) = owners.insert(id_of(object), member) {
                        let id = id_of(object);
                        let message = format!(
                            "{id} is in the components of {} and of {}. Each would revert what the other applies: remove it from one, for example with a patch",
                            other.label(),
                            member.label()
                        );
                        findings.push(found(rules::DUPLICATE_OBJECT, member, message));
                    }
                }
            }
        }
    }
}

fn unbound<'m>(
    member: &'m SetMember,
    rendered: &'m RenderedComponents,
) -> impl Iterator<Item = Finding> + 'm {
    let of = |state: Variable| {
        let names = rendered.variables.iter().filter(move |(_, found)| **found == state);
        names.map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>()
    };
    let (unbound, unseen) = (of(Variable::Unbound), of(Variable::Unseen));
    let error = (!unbound.is_empty()).then(|| {
        let message = format!(
            "{} needs {}, but neither its config Secret nor a default sets it: add it to the Secret that `spec.configSecret` names",
            named(member),
            list(&unbound)
        );
        found(rules::PROVIDER_VARIABLE_UNBOUND, member, message)
    });
    let warning = (!unseen.is_empty()).then(|| {
        let message = format!(
            "{} needs {}, but its config Secret is not available: make sure that it is in there",
            named(member),
            list(&unseen)
        );
        found(rules::PROVIDER_VARIABLE_UNBOUND, member, message).warning()
    });
    error.into_iter().chain(warning)
}

fn differs(case: &RuleCase<'_>, member: &SetMember, rendered: &RenderedComponents) -> Option<Finding> {
    let recorded = case.facts.recorded.get(&member.label())?;
    let wanted = recorded.sha256.strip_prefix("sha256:").unwrap_or(&recorded.sha256);
    if recorded.version != rendered.version || wanted.eq_ignore_ascii_case(&rendered.sha256) {
        return None;
    }
    let message = format!(
        "the components of {} differ from the record: SHA-256 {} is recorded, but {} is here. A release does not change: find out who changed it, then correct the components or the record",
        named(member),
        wanted,
        rendered.sha256
    );
    Some(found(rules::PROVIDER_DIGEST_DIFFERS, member, message).maybe_place(recorded.place.clone()))
}
