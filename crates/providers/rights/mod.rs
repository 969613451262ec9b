//! Effective rights: what roles and bindings come to for each subject.
//!
//! Aggregated ClusterRoles hold the rules of those that their selectors choose; a binding to a group counts for every
//! service account that is in it. What covers what is decided as the API server's own authorizer does
//! (<https://github.com/kubernetes/kubernetes/blob/v1.36.0/plugin/pkg/auth/authorizer/rbac/rbac.go>).
//!
//! Deliberately absent: judging, and everything that is not in the objects. A bound role that is not among
//! them is shown by its name ([`RbacRight::Role`]); of the roles of every cluster, only `cluster-admin` is
//! known.

mod grants;
mod roles;
mod subject;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

pub use grants::{Grant, grants};
use roles::{Binding, Roles};
pub use subject::RightsSubject;

/// One thing that may be done.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RbacRight {
    /// A verb on a resource; `*` means all, as roles write it.
    Resource {
        /// The namespace; `None` = everywhere.
        namespace: Option<String>,
        /// API group; empty for the core group.
        group: String,
        /// `pods`, `pods/exec`, `*/scale`.
        resource: String,
        /// The object; `None` = all.
        name: Option<String>,
        verb: String,
    },
    /// A verb on a path of the API server that is not a resource: `/metrics`, `/healthz*`.
    Path { path: String, verb: String },
    /// What a role says that is not among the objects.
    Role {
        /// The namespace that it counts in; `None` = everywhere.
        namespace: Option<String>,
        /// `ClusterRole` or `Role`.
        kind: String,
        name: String,
    },
}

/// What one subject may do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RightSet(BTreeSet<RbacRight>);

/// What every subject may do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubjectRights(BTreeMap<RightsSubject, RightSet>);

/// All of them.
const ALL: &str = "*";

impl SubjectRights {
    /// The rights of these objects together; others than those of `rbac.authorization.k8s.io` are ignored.
    pub fn of<'o>(objects: impl IntoIterator<Item = &'o Value>) -> Self {
        let (mut roles, mut bindings) = (Roles::default(), Vec::new());
        for object in objects {
            if !roles.add(object) {
                bindings.extend(Binding::read(object));
            }
        }
        let mut direct: BTreeMap<RightsSubject, BTreeSet<RbacRight>> = BTreeMap::new();
        for binding in &bindings {
            let rights = roles.rights(binding);
            for subject in &binding.subjects {
                direct.entry(subject.clone()).or_default().extend(rights.iter().cloned());
            }
        }
        let held = |subject: &RightsSubject| {
            let groups = subject.groups().filter_map(|group| direct.get(&group));
            RightSet::of(direct.get(subject).into_iter().chain(groups).flatten().cloned().collect())
        };
        Self(direct.keys().map(|subject| (subject.clone(), held(subject))).collect())
    }

    /// Every subject that a binding names, with what it may do, what its groups may do included.
    pub fn subjects(&self) -> impl Iterator<Item = (&RightsSubject, &RightSet)> {
        self.0.iter()
    }

    /// What a subject may do: also one that no binding names, as a member of its groups.
    pub fn held_by(&self, subject: &RightsSubject) -> RightSet {
        if let Some(held) = self.0.get(subject) {
            return held.clone();
        }
        let groups = subject.groups().filter_map(|group| self.0.get(&group));
        RightSet::of(groups.flat_map(|held| held.0.iter().cloned()).collect())
    }
}

impl RightSet {
    /// Without those that another one covers.
    fn of(all: BTreeSet<RbacRight>) -> Self {
        let all = Self(all);
        let needed = all.0.iter().filter(|right| !all.wider(right).any(|wider| all.0.contains(&wider)));
        Self(needed.cloned().collect())
    }

    /// Each right, ordered. None is covered by another of them.
    pub fn iter(&self) -> impl Iterator<Item = &RbacRight> {
        self.0.iter()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a right is held, `*` understood.
    pub fn covers(&self, right: &RbacRight) -> bool {
        self.0.contains(right) || self.wider(right).any(|wider| self.0.contains(&wider))
    }

    /// The rights that this has and `other` does not cover.
    pub fn beyond<'s>(&'s self, other: &'s Self) -> impl Iterator<Item = &'s RbacRight> {
        self.0.iter().filter(|right| !other.covers(right))
    }

    /// Every other right that covers one.
    fn wider(&self, right: &RbacRight) -> Box<dyn Iterator<Item = RbacRight> + '_> {
        match right {
            RbacRight::Resource { namespace, group, resource, name, verb } => {
                let mut all = Vec::new();
                let subresource = resource.split_once('/').map(|(_, sub)| format!("*/{sub}"));
                let resources = [Some(resource.clone()), subresource, Some(ALL.to_owned())];
                let resources: BTreeSet<String> = resources.into_iter().flatten().collect();
                for namespace in either(namespace.as_ref(), None) {
                    for group in either(group, &ALL.to_owned()) {
                        for resource in &resources {
                            for name in either(name.as_ref(), None) {
                                for verb in either(verb, &ALL.to_owned()) {
                                    all.push(RbacRight::Resource {
                                        namespace: namespace.cloned(),
                                        group: group.clone(),
                                        resource: resource.clone(),
                                        name: name.cloned(),
                                        verb: verb.clone(),
                                    });
                                }
                            }
                        }
                    }
                }
                let own = right.clone();
                Box::new(all.into_iter().filter(move |wider| *wider != own))
            }
            RbacRight::Path { path, verb } => {
                let (path, verb) = (path.clone(), verb.clone());
                let own = right.clone();
                let paths = self.0.iter().filter_map(move |held| match held {
                    RbacRight::Path { path: held_path, verb: held_verb } => {
                        let fits = held_path
                            .strip_suffix(ALL)
                            .map_or(*held_path == path, |begin| path.starts_with(begin));
                        (fits && (held_verb == ALL || *held_verb == verb)).then(|| held.clone())
                    }
                    _ => None,
                });
                Box::new(paths.filter(move |wider| *wider != own))
            }
            RbacRight::Role { namespace, kind, name } => {
                let everywhere = RbacRight::Role { namespace: None, kind: kind.clone(), name: name.clone() };
                Box::new(namespace.iter().map(move |_| everywhere.clone()).collect::<Vec<_>>().into_iter())
            }
        }
    }
}

/// Both, or one where they are the same.
fn either<T: PartialEq>(one: T, other: T) -> impl Iterator<Item = T> {
    let second = (one != other).then_some(other);
    std::iter::once(one).chain(second)
}

#[cfg(test)]
mod tests;
