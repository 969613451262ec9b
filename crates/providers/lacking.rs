//! Which of the rights that installing a set takes somebody has not: the roles of [`super::installation`], held against
//! what an API server says that somebody may do
//! (<https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/self-subject-rules-review-v1/>).

use std::collections::BTreeMap;
use std::fmt;

use capstan_model::wording::few;
use serde_json::Value;

/// Names of objects that are listed.
const NAMED: usize = 3;

/// Rights that are needed and not held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    /// Where; `None` = everywhere.
    pub namespace: Option<String>,
    /// `deployments.apps`, `secrets`.
    pub resource: String,
    /// Of these objects; empty = of all.
    pub names: Vec<String>,
    pub verbs: Vec<String>,
}

impl fmt::Display for Lacking {
    /// `create, patch of deployments.apps manager in own-system`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.verbs.join(", "), self.resource)?;
        if !self.names.is_empty() {
            write!(f, " {}", few(&self.names, NAMED, "more").join(", "))?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " in {namespace}"),
            None => Ok(()),
        }
    }
}

/// The rights of these roles that nobody holds. `held` has the rules of each namespace that was asked about, those that
/// hold everywhere included: what a ClusterRole gives has to be held in all of them.
pub fn lacking(roles: &[Value], held: &BTreeMap<String, Vec<Value>>) -> Vec<Lacking> {
    let mut all = Vec::new();
    for role in roles {
        let namespace = role.pointer("/metadata/namespace").and_then(Value::as_str);
        for rule in role["rules"].as_array().into_iter().flatten() {
            for (group, resource) in resources(rule) {
                all.extend(of_resource(rule, (group, resource), namespace, held));
            }
        }
    }
    all
}

fn of_resource(
    rule: &Value,
    (group, resource): (&str, &str),
    namespace: Option<&str>,
    held: &BTreeMap<String, Vec<Value>>,
) -> Option<Lacking> {
    let names: Vec<&str> = texts(rule, "resourceNames").collect();
    let is_held = |name: Option<&str>, verb: &str| {
        let mut asked =
            held.iter().filter(|(of, _)| namespace.is_none_or(|wanted| wanted == of.as_str())).peekable();
        asked.peek().is_some()
            && asked.all(|(_, rules)| rules.iter().any(|rule| covers(rule, (group, resource), name, verb)))
    };
    let of_name = |name: Option<&str>| -> Vec<&str> {
        texts(rule, "verbs").filter(|verb| !is_held(name, verb)).collect()
    };
    let (mut lost, mut verbs) = (Vec::new(), Vec::new());
    if names.is_empty() {
        verbs = of_name(None);
    }
    for name in names {
        let missing = of_name(Some(name));
        if !missing.is_empty() {
            lost.push(name.to_owned());
            verbs.extend(missing);
        }
    }
    verbs.sort_unstable();
    verbs.dedup();
    let resource = if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") };
    (!verbs.is_empty()).then(|| Lacking {
        namespace: namespace.map(str::to_owned),
        resource,
        names: lost,
        verbs: verbs.into_iter().map(str::to_owned).collect(),
    })
}

/// Whether a rule gives that.
fn covers(rule: &Value, (group, resource): (&str, &str), name: Option<&str>, verb: &str) -> bool {
    let has = |field: &str, wanted: &str| texts(rule, field).any(|text| text == "*" || text == wanted);
    let sub = resource.split_once('/').map(|(_, sub)| format!("*/{sub}"));
    let names: Vec<&str> = texts(rule, "resourceNames").collect();
    has("apiGroups", group)
        && (has("resources", resource) || sub.is_some_and(|sub| has("resources", &sub)))
        && has("verbs", verb)
        && (names.is_empty() || name.is_some_and(|name| names.contains(&name)))
}

fn resources(rule: &Value) -> impl Iterator<Item = (&str, &str)> {
    texts(rule, "apiGroups").flat_map(|group| texts(rule, "resources").map(move |resource| (group, resource)))
}

fn texts<'v>(rule: &'v Value, field: &str) -> impl Iterator<Item = &'v str> {
    rule.get(field).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn missing_rights(roles: &Value, held: &[(&str, Value)]) -> Vec<String> {
        let held = held.iter().map(|(namespace, rules)| {
            ((*namespace).to_owned(), rules.as_array().cloned().unwrap_or_default())
        });
        lacking(roles.as_array().unwrap(), &held.collect()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn missing_rights_are_reported_by_rule_and_verb() {
        let of = |rules: Value| {
            json!([
                {"kind": "ClusterRole", "metadata": {"name": "capstan-providers"}, "rules": [
                    {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "resourceNames": ["a", "b"], "verbs": ["escalate", "patch"]},
                ]},
                {"kind": "Role", "metadata": {"name": "capstan-providers", "namespace": "own-system"}, "rules": rules},
            ])
        };
        let deployments = json!([{"apiGroups": ["apps"], "resources": ["deployments"], "resourceNames": ["manager"], "verbs": ["create", "get", "patch"]}]);
        let cluster = json!({"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "resourceNames": ["a", "b"], "verbs": ["escalate", "patch"]});
        let apps =
            |verbs: &[&str]| json!({"apiGroups": ["apps"], "resources": ["deployments"], "verbs": verbs});
        let both = |more: &[Value]| Value::Array([std::slice::from_ref(&cluster), more].concat());
        let roles = of(deployments);
        assert_eq!(
            missing_rights(
                &roles,
                &[("own-system", both(&[apps(&["create", "get", "patch"])])), ("kube-public", both(&[]))]
            ),
            [""; 0]
        );
        assert_eq!(
            missing_rights(&roles, &[("own-system", both(&[apps(&["get"])])), ("kube-public", both(&[]))]),
            ["create, patch of deployments.apps manager in own-system"]
        );
        // What is granted in one namespace alone is not held everywhere.
        assert_eq!(
            missing_rights(&roles, &[("own-system", both(&[apps(&["*"])])), ("kube-public", json!([]))]),
            ["escalate, patch of clusterroles.rbac.authorization.k8s.io a, b"]
        );
        assert_eq!(
            missing_rights(
                &roles,
                &[("own-system", json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]))]
            ),
            [""; 0]
        );
        let status = of(json!([{"apiGroups": [""], "resources": ["pods/status"], "verbs": ["patch"]}]));
        let any_status = json!({"apiGroups": [""], "resources": ["*/status"], "verbs": ["patch"]});
        assert_eq!(missing_rights(&status, &[("own-system", both(&[any_status]))]), [""; 0]);
        assert_eq!(
            missing_rights(&status, &[("own-system", both(&[]))]),
            ["patch of pods/status in own-system"]
        );
        assert_eq!(missing_rights(&status, &[]).len(), 2, "nobody was asked: nothing is held");
    }
}
