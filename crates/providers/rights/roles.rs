//! Roles and bindings, as objects hold them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::subject::RightsSubject;
use super::{ALL, RbacRight};

/// The group of roles and bindings.
const GROUP: &str = "rbac.authorization.k8s.io/";

/// The role that every cluster has and that holds everything.
const CLUSTER_ADMIN: &str = "cluster-admin";

/// Roles by kind, namespace and name.
#[derive(Debug, Default)]
pub(super) struct Roles<'o>(BTreeMap<RoleKey<'o>, &'o Value>);

type RoleKey<'o> = (&'o str, &'o str, &'o str);

#[derive(Debug)]
pub(super) struct Binding<'o> {
    /// The namespace that it counts in; `None` = everywhere.
    namespace: Option<&'o str>,
    role: (&'o str, &'o str),
    pub(super) subjects: Vec<RightsSubject>,
}

fn text<'o>(object: &'o Value, pointer: &str) -> &'o str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn texts<'o>(object: &'o Value, key: &str) -> impl Iterator<Item = &'o str> {
    object.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn list<'o>(object: &'o Value, pointer: &str) -> impl Iterator<Item = &'o Value> {
    object.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

impl<'o> Roles<'o> {
    /// Takes a role; whether it is one.
    pub(super) fn add(&mut self, object: &'o Value) -> bool {
        let kind = text(object, "/kind");
        let is_role =
            matches!(kind, "Role" | "ClusterRole") && text(object, "/apiVersion").starts_with(GROUP);
        if is_role {
            let namespace = if kind == "Role" { text(object, "/metadata/namespace") } else { "" };
            self.0.insert((kind, namespace, text(object, "/metadata/name")), object);
        }
        is_role
    }

    /// What a binding gives.
    pub(super) fn rights(&self, binding: &Binding<'_>) -> BTreeSet<RbacRight> {
        let (kind, name) = binding.role;
        let namespace = binding.namespace.map(str::to_owned);
        let mut rights = BTreeSet::new();
        let of = if kind == "Role" { binding.namespace.unwrap_or_default() } else { "" };
        match self.0.get(&(kind, of, name)) {
            Some(role) => {
                for rule in self.rules(role, &mut BTreeSet::new()) {
                    read_rule(rule, namespace.as_ref(), &mut rights);
                }
            }
            None if (kind, name) == ("ClusterRole", CLUSTER_ADMIN) => {
                let all = || ALL.to_owned();
                rights.insert(RbacRight::Resource {
                    namespace: namespace.clone(),
                    group: all(),
                    resource: all(),
                    name: None,
                    verb: all(),
                });
                if namespace.is_none() {
                    rights.insert(RbacRight::Path { path: all(), verb: all() });
                }
            }
            None => {
                rights.insert(RbacRight::Role { namespace, kind: kind.to_owned(), name: name.to_owned() });
            }
        }
        rights
    }

    /// The rules of a role. Those of an aggregated one are what the ClusterRoles that it chooses say; its own are
    /// overwritten (<https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles>).
    fn rules(&self, role: &'o Value, seen: &mut BTreeSet<&'o str>) -> Vec<&'o Value> {
        if role.pointer("/aggregationRule/clusterRoleSelectors").is_none() {
            return list(role, "/rules").collect();
        }
        if !seen.insert(text(role, "/metadata/name")) {
            return Vec::new();
        }
        let mut all = Vec::new();
        for ((kind, _, _), other) in &self.0 {
            let chosen =
                list(role, "/aggregationRule/clusterRoleSelectors").any(|selector| meets(selector, other));
            if *kind == "ClusterRole" && chosen {
                all.extend(self.rules(other, seen));
            }
        }
        all
    }
}

impl<'o> Binding<'o> {
    /// Reads an object; `None` where it is not a binding.
    pub(super) fn read(object: &'o Value) -> Option<Self> {
        let namespace = match text(object, "/kind") {
            "RoleBinding" => Some(text(object, "/metadata/namespace")),
            "ClusterRoleBinding" => None,
            _ => return None,
        };
        if !text(object, "/apiVersion").starts_with(GROUP) {
            return None;
        }
        let subjects =
            list(object, "/subjects").filter_map(|subject| RightsSubject::read(subject, namespace));
        Some(Self {
            namespace,
            role: (text(object, "/roleRef/kind"), text(object, "/roleRef/name")),
            subjects: subjects.collect(),
        })
    }
}

/// Whether the labels of a role meet a selector; an empty one means all.
fn meets(selector: &Value, role: &Value) -> bool {
    let labels = role.pointer("/metadata/labels");
    let label = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str);
    let wanted = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
    let mut expressions = list(selector, "/matchExpressions");
    wanted.into_iter().all(|(key, value)| label(key) == value.as_str())
        && expressions.all(|expression| {
            let found = label(text(expression, "/key"));
            let is_among = |value: &str| texts(expression, "values").any(|wanted| wanted == value);
            match text(expression, "/operator") {
                "In" => found.is_some_and(is_among),
                "NotIn" => !found.is_some_and(is_among),
                "Exists" => found.is_some(),
                "DoesNotExist" => found.is_none(),
                _ => false,
            }
        })
}

/// One right for each verb, group, resource and name.
fn read_rule(rule: &Value, namespace: Option<&String>, rights: &mut BTreeSet<RbacRight>) {
    let names: Vec<Option<&str>> = match texts(rule, "resourceNames").map(Some).collect::<Vec<_>>() {
        none if none.is_empty() => vec![None],
        names => names,
    };
    for verb in texts(rule, "verbs") {
        // Paths count for bindings of the whole cluster alone.
        if namespace.is_none() {
            let paths = texts(rule, "nonResourceURLs");
            rights.extend(paths.map(|path| RbacRight::Path { path: path.to_owned(), verb: verb.to_owned() }));
        }
        for group in texts(rule, "apiGroups") {
            for resource in texts(rule, "resources") {
                rights.extend(names.iter().map(|name| RbacRight::Resource {
                    namespace: namespace.cloned(),
                    group: group.to_owned(),
                    resource: resource.to_owned(),
                    name: name.map(str::to_owned),
                    verb: verb.to_owned(),
                }));
            }
        }
    }
}
