//! Rights in words: what belongs together in one line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{ALL, RbacRight};

/// Rights that differ in verb and resource alone, as a role's rule has them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// The namespace; `None` = everywhere.
    pub namespace: Option<String>,
    /// API group; empty for the core group. `None` where paths or a role are meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_group: Option<String>,
    /// Resources, ordered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// The objects; empty = all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    /// Paths that are not resources.
    #[serde(default, rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// A role that is not among the objects, as `KIND NAME`: everything that it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Verbs, ordered; of a role none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verbs: Vec<String>,
}

/// Puts rights together: verbs of one resource, then resources with the same verbs. Ordered.
pub fn grants<'r>(rights: impl IntoIterator<Item = &'r RbacRight>) -> Vec<Grant> {
    type Place<'r> = (Option<&'r str>, &'r str, Option<&'r str>);
    let mut verbs: BTreeMap<(Place<'r>, &str), BTreeSet<&str>> = BTreeMap::new();
    let mut paths: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut all = Vec::new();
    for right in rights {
        match right {
            RbacRight::Resource { namespace, group, resource, name, verb } => {
                let place = (namespace.as_deref(), group.as_str(), name.as_deref());
                verbs.entry((place, resource)).or_default().insert(verb);
            }
            RbacRight::Path { path, verb } => {
                paths.entry(path).or_default().insert(verb);
            }
            RbacRight::Role { namespace, kind, name } => all.push(Grant {
                namespace: namespace.clone(),
                role: Some(format!("{kind} {name}")),
                ..Grant::empty()
            }),
        }
    }
    let owned = |texts: &BTreeSet<&str>| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let mut resources: BTreeMap<(Place<'r>, Vec<String>), Vec<String>> = BTreeMap::new();
    for ((place, resource), verbs) in verbs {
        resources.entry((place, owned(&verbs))).or_default().push(resource.to_owned());
    }
    all.extend(resources.into_iter().map(|(((namespace, group, name), verbs), resources)| Grant {
        namespace: namespace.map(str::to_owned),
        api_group: Some(group.to_owned()),
        resources,
        resource_names: name.into_iter().map(str::to_owned).collect(),
        verbs,
        ..Grant::empty()
    }));
    let mut by_verbs: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    for (path, verbs) in paths {
        by_verbs.entry(owned(&verbs)).or_default().push(path.to_owned());
    }
    all.extend(by_verbs.into_iter().map(|(verbs, paths)| Grant { paths, verbs, ..Grant::empty() }));
    all.sort();
    all
}

impl Grant {
    const fn empty() -> Self {
        Self {
            namespace: None,
            api_group: None,
            resources: Vec::new(),
            resource_names: Vec::new(),
            paths: Vec::new(),
            role: None,
            verbs: Vec::new(),
        }
    }
}

impl fmt::Display for Grant {
    /// `get, list of deployments.apps and daemonsets.apps everywhere`, `get of the Secret…`, `get of the path /metrics`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(role) = &self.role {
            write!(f, "everything that {role} allows (the role is not available),")?;
        } else {
            let verbs = self.verbs.join(", ");
            let verbs = if verbs == ALL { "every verb" } else { verbs.as_str() };
            write!(f, "{verbs} of ")?;
        }
        if !self.paths.is_empty() {
            let word = if self.paths.len() == 1 { "path" } else { "paths" };
            return write!(f, "the {word} {}", self.paths.join(", "));
        }
        if let Some(group) = &self.api_group {
            let resources = self.resources.iter().map(|resource| match (resource.as_str(), group.as_str()) {
                (ALL, ALL) => "everything".to_owned(),
                (ALL, "") => "everything of the core group".to_owned(),
                (ALL, group) => format!("everything of {group}"),
                (resource, "") => resource.to_owned(),
                (resource, group) => match resource.split_once('/') {
                    Some((resource, sub)) => format!("{resource}.{group}/{sub}"),
                    None => format!("{resource}.{group}"),
                },
            });
            f.write_str(&resources.collect::<Vec<_>>().join(", "))?;
        }
        if !self.resource_names.is_empty() {
            write!(f, " named {}", self.resource_names.join(", "))?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace {namespace}"),
            None => write!(f, " everywhere"),
        }
    }
}
