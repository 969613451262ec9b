//! What becomes of each provider of a set: the shape of an element of `providers` in `plan -o json`.
//!
//! Names of the fields are the contract; lists are ordered; what nothing changes is left out of them.

mod containers;
mod objects;
mod subjects;

use std::collections::BTreeSet;

use capstan_model::object::ObjectId;
use serde::{Deserialize, Serialize};

use super::definitions::{FieldNote, VersionChange};
use super::kind::ProviderKind;
use super::rendering::Variable;
use super::rights::{Grant, RightsSubject, grants};
use super::state::{ComponentsState, RenderedComponents, RenderedSet, SetMember};
pub(crate) use subjects::SubjectChange;

/// What becomes of one provider.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderChange {
    /// `infrastructure-aws`
    pub label: String,
    /// The version before; `None` where it did not exist, or its version is unknown.
    pub from: Option<String>,
    /// The version after; `None` where it is removed, or its version is unknown.
    pub to: Option<String>,
    /// The contract of Cluster API after; `None` where it is unknown.
    pub contract: Option<String>,
    /// The objects that change.
    pub objects: ObjectChanges,
    /// Images that its pods run.
    pub images: Vec<ValueChange>,
    /// Arguments of containers, feature gates apart.
    pub arguments: Vec<ContainerChange>,
    /// Feature gates of containers.
    pub feature_gates: Vec<ContainerChange>,
    /// Definitions whose versions or fields change.
    pub crds: Vec<DefinitionChange>,
    /// Rights of its service accounts, and of other subjects of its bindings, as the whole set grants them.
    pub rights: Vec<RightsChange>,
    /// Every variable of its components.
    pub variables: Vec<VariableChange>,
    /// Which part of this is not known, and why, one sentence each; left out where nothing is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

/// Objects that come, change and go; ordered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectChanges {
    /// New ones.
    pub add: Vec<ObjectId>,
    /// Those that are there and differ.
    pub change: Vec<ObjectId>,
    /// Those that go.
    pub remove: Vec<ObjectId>,
}

/// Something before and after; `None` = not there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ValueChange {
    /// Before.
    pub from: Option<String>,
    /// After.
    pub to: Option<String>,
}

/// An argument or a feature gate of a container.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ContainerChange {
    /// `Deployment/capi-controller-manager/manager`: kind, name, container.
    pub container: String,
    /// `--v`, or the gate `MachinePool`.
    pub name: String,
    /// What it says, before and after; empty where an argument has no value.
    #[serde(flatten)]
    pub change: ValueChange,
}

/// What becomes of a definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefinitionChange {
    /// `clusters.cluster.x-k8s.io`
    pub name: String,
    /// Versions whose state changes, oldest first.
    pub versions: Vec<VersionChange>,
    /// How many schema paths are new, in versions that both have.
    pub added: usize,
    /// Versions that were served and are no longer, and paths that a version has no more.
    pub gone: Vec<FieldNote>,
    /// Paths that take less than before.
    pub narrowed: Vec<FieldNote>,
}

/// What a subject gains and loses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RightsChange {
    /// Who.
    pub subject: RightsSubject,
    /// Its new rights; a right that another one covers does not count.
    pub gains: Vec<Grant>,
    /// What it may do before and not after.
    pub loses: Vec<Grant>,
}

/// A variable before and after; `None` = not used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct VariableChange {
    /// Its name. Never its value.
    pub name: String,
    /// Before.
    pub from: Option<Variable>,
    /// After.
    pub to: Option<Variable>,
}

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
