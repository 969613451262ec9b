//! What becomes of each provider of a set: the shape of an element of `providers` in `plan -o json`.
//!
//! Names of the fields are the contract; lists are ordered; what nothing changes is left out of them.

mod change;
mod containers;
mod objects;
mod subjects;

use std::collections::BTreeSet;

pub use self::change::{
    ContainerChange, DefinitionChange, ObjectChanges, ProviderChange, RightsChange, ValueChange,
    VariableChange,
};
use super::kind::ProviderKind;
use super::rights::grants;
use super::state::{ComponentsState, RenderedComponents, RenderedSet, SetMember};
pub(crate) use subjects::SubjectChange;

/// What becomes of a set.
#[derive(Debug, Default)]
pub(crate) struct SetChanges {
    /// In clusterctl's order of kinds and by name.
    pub(crate) providers: Vec<ProviderChange>,
    /// By the label of the provider that a subject belongs to.
    pub(crate) subjects: Vec<(String, SubjectChange)>,
}

/// Compares two states of a set. Without a state before, no provider changes.
pub(crate) fn compare(before: Option<&RenderedSet>, after: &RenderedSet) -> SetChanges {
    let subjects = before.map(|before| subjects::changes(before, after)).unwrap_or_default();
    let mut keys: BTreeSet<(ProviderKind, &str)> = BTreeSet::new();
    for set in before.into_iter().chain([after]) {
        keys.extend(set.members.iter().map(|member| (member.kind, member.name.as_str())));
    }
    let provider = |(kind, name): (ProviderKind, &str)| {
        let member =
            |set: &'_ RenderedSet| set.members.iter().position(|one| one.kind == kind && one.name == name);
        let now = member(after).map(|at| &after.members[at]);
        let old = match before {
            Some(before) => member(before).map(|at| &before.members[at]),
            None => now,
        };
        let label = kind.label(name);
        let mut change = change(old, now);
        let own = subjects.iter().filter(|(of, _)| *of == label).map(|(_, change)| change);
        change.rights = own
            .map(|change| RightsChange {
                subject: change.subject.clone(),
                gains: grants(&change.gains),
                loses: grants(&change.loses),
            })
            .collect();
        if before.is_none() {
            change.from = None;
        }
        change.label = label;
        change
    };
    let providers = keys.into_iter().map(provider).collect();
    SetChanges { providers, subjects }
}

/// A provider that is in one state at least.
fn change(old: Option<&SetMember>, new: Option<&SetMember>) -> ProviderChange {
    let version = |member: Option<&SetMember>| member.and_then(SetMember::version).map(str::to_owned);
    let mut change = ProviderChange {
        from: version(old),
        to: version(new),
        contract: new.and_then(|member| member.contract.clone()),
        ..ProviderChange::default()
    };
    for (when, member) in [("before", old), ("after", new)] {
        let Some(member) = member else { continue };
        match &member.components {
            ComponentsState::Rendered(rendered) => change.unknown.extend(rendered.doubts.iter().cloned()),
            ComponentsState::Unknown(reason) => {
                change.unknown.push(format!("its components {when}, so the changes are too: {reason}"));
            }
            ComponentsState::Refused(_) => {
                change
                    .unknown
                    .push(format!("its components {when}, so the changes are too: they cannot be rendered"));
            }
        }
    }
    change.unknown.dedup();
    let (Some(old), Some(new)) = (KnownComponents::of(old), KnownComponents::of(new)) else { return change };
    objects::compare(old.0, new.0, &mut change);
    containers::compare(old.0, new.0, &mut change);
    change.variables = variables(old.0, new.0);
    change
}

/// Components of which all is known: those of a provider that is not there are none.
struct KnownComponents<'m>(Option<&'m RenderedComponents>);

impl<'m> KnownComponents<'m> {
    fn of(member: Option<&'m SetMember>) -> Option<Self> {
        match member {
            None => Some(Self(None)),
            Some(member) => member.rendered().map(|rendered| Self(Some(rendered))),
        }
    }
}

fn variables(old: Option<&RenderedComponents>, new: Option<&RenderedComponents>) -> Vec<VariableChange> {
    let of = |components: Option<&RenderedComponents>, name: &str| components?.variables.get(name).copied();
    let names: BTreeSet<&String> = old.into_iter().chain(new).flat_map(|one| one.variables.keys()).collect();
    let change =
        |name: &String| VariableChange { name: name.clone(), from: of(old, name), to: of(new, name) };
    names.into_iter().map(change).collect()
}
