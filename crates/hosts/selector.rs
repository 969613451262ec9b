//! Label selectors, and the policies that open the hosts of a namespace to others.

use std::collections::BTreeMap;

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

/// Labels of an object.
pub type Labels = BTreeMap<String, String>;

/// Which objects are meant, by their labels; an empty one means all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Labels with these values.
    pub match_labels: Labels,
    /// What holds of other labels.
    pub match_expressions: Vec<Requirement>,
}

/// What holds of a label.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Requirement {
    /// The label's key.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`, in any case of letters, as Metal3 reads them.
    pub operator: String,
    /// The values of `In` and `NotIn`.
    #[serde(default)]
    pub values: Vec<String>,
}

impl LabelSelector {
    /// Whether labels match all of it. An unknown operator matches nothing: a selector never matches more
    /// than it says.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.match_expressions.iter().all(|requirement| requirement.matches(labels))
    }

    /// Whether every object that matches has this value of a label.
    pub fn confines(&self, key: &str, value: &str) -> bool {
        let by_expression = |one: &Requirement| {
            one.key == key
                && one.operator.eq_ignore_ascii_case("in")
                && one.values.iter().all(|v| v == value)
                && !one.values.is_empty()
        };
        self.match_labels.get(key).is_some_and(|held| held == value)
            || self.match_expressions.iter().any(by_expression)
    }
}

impl Requirement {
    fn matches(&self, labels: &Labels) -> bool {
        let value = labels.get(&self.key);
        let listed = || value.is_some_and(|value| self.values.contains(value));
        match self.operator.to_ascii_lowercase().as_str() {
            "in" => listed(),
            "notin" => !listed(),
            "exists" => value.is_some(),
            "doesnotexist" => value.is_none(),
            _ => false,
        }
    }
}

/// `HostDeployPolicy` (`metal3.io/v1alpha1`): who may take the hosts of its namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostDeployPolicy {
    /// Whose hosts.
    pub namespace: String,
    names: Vec<String>,
    name_matches: Option<String>,
    has_labels: Vec<(String, Option<String>)>,
}

impl HostDeployPolicy {
    pub const KIND: &str = "HostDeployPolicy";

    /// Reads a live object. What it says in a shape that the definition does not have admits nobody.
    pub fn read(object: &Value) -> Self {
        let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
        let admits = &object["spec"]["hostClaimNamespaces"];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let list = |key: &str| admits[key].as_array().into_iter().flatten();
        Self {
            namespace: namespace.to_owned(),
            names: list("names").filter_map(text).collect(),
            name_matches: text(&admits["nameMatches"]).filter(|pattern| !pattern.is_empty()),
            has_labels: list("hasLabels")
                .filter_map(|label| {
                    Some((text(&label["name"])?, text(&label["value"]).filter(|v| !v.is_empty())))
                })
                .collect(),
        }
    }

    /// Whether the labels of namespaces count.
    pub const fn reads_labels(&self) -> bool {
        !self.has_labels.is_empty()
    }

    /// Whether a namespace with these labels may take them. Each of the three ways admits by itself; an empty
    /// one admits nobody, and neither does an invalid pattern.
    pub fn admits(&self, namespace: &str, labels: &Labels) -> bool {
        let has = |(name, value): &(String, Option<String>)| {
            labels.get(name).is_some_and(|held| value.as_ref().is_none_or(|value| value == held))
        };
        let matches = |pattern: &String| Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(namespace));
        self.names.iter().any(|name| name == namespace)
            || self.name_matches.as_ref().is_some_and(matches)
            || (!self.has_labels.is_empty() && self.has_labels.iter().all(has))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn selectors_match_as_kubernetes_says() {
        let held = labels(&[("flavor", "big"), ("rack", "r1")]);
        for (selector, matches) in [
            (json!({}), true),
            (json!({"matchLabels": {"flavor": "big"}}), true),
            (json!({"matchLabels": {"flavor": "small"}}), false),
            (json!({"matchLabels": {"other": ""}}), false),
            (json!({"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r1", "r2"]}]}), true),
            (json!({"matchExpressions": [{"key": "rack", "operator": "In"}]}), false),
            (json!({"matchExpressions": [{"key": "rack", "operator": "NotIn", "values": ["r1"]}]}), false),
            (json!({"matchExpressions": [{"key": "row", "operator": "NotIn", "values": ["r1"]}]}), true),
            (json!({"matchExpressions": [{"key": "rack", "operator": "Exists"}]}), true),
            (json!({"matchExpressions": [{"key": "rack", "operator": "exists"}]}), true),
            (json!({"matchExpressions": [{"key": "rack", "operator": "DoesNotExist"}]}), false),
            (json!({"matchExpressions": [{"key": "rack", "operator": "Like", "values": ["r1"]}]}), false),
            (
                json!({"matchLabels": {"flavor": "big"}, "matchExpressions": [{"key": "row", "operator": "Exists"}]}),
                false,
            ),
        ] {
            let read = LabelSelector::deserialize(&selector).unwrap();
            assert_eq!(read.matches(&held), matches, "{selector}");
        }
    }

    #[test]
    fn a_selector_confines_where_no_other_value_can_match() {
        for (selector, confines) in [
            (json!({}), false),
            (json!({"matchLabels": {"a": "x"}}), true),
            (json!({"matchLabels": {"a": "y"}}), false),
            (json!({"matchExpressions": [{"key": "a", "operator": "in", "values": ["x"]}]}), true),
            (json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["x", "y"]}]}), false),
            (json!({"matchExpressions": [{"key": "a", "operator": "Exists"}]}), false),
            (json!({"matchExpressions": [{"key": "a", "operator": "In", "values": []}]}), false),
        ] {
            let read = LabelSelector::deserialize(&selector).unwrap();
            assert_eq!(read.confines("a", "x"), confines, "{selector}");
        }
    }

    #[test]
    fn a_policy_admits_only_the_namespaces_it_names() {
        let tenant = labels(&[("team", "blue"), ("zone", "a")]);
        for (spec, admits) in [
            (json!({}), false),
            (json!({"hostClaimNamespaces": {}}), false),
            (json!({"hostClaimNamespaces": {"names": ["gauss"]}}), true),
            (json!({"hostClaimNamespaces": {"names": ["gaus"]}}), false),
            (json!({"hostClaimNamespaces": {"nameMatches": "aus"}}), true),
            (json!({"hostClaimNamespaces": {"nameMatches": "^aus"}}), false),
            (json!({"hostClaimNamespaces": {"nameMatches": "("}}), false),
            (json!({"hostClaimNamespaces": {"nameMatches": ""}}), false),
            (json!({"hostClaimNamespaces": {"hasLabels": []}}), false),
            (json!({"hostClaimNamespaces": {"hasLabels": [{"name": "team"}]}}), true),
            (json!({"hostClaimNamespaces": {"hasLabels": [{"name": "team", "value": "red"}]}}), false),
            (json!({"hostClaimNamespaces": {"hasLabels": [{"name": "team"}, {"name": "none"}]}}), false),
        ] {
            let policy = HostDeployPolicy::read(&json!({"metadata": {"namespace": "pool"}, "spec": spec}));
            assert_eq!(policy.admits("gauss", &tenant), admits, "{spec}");
        }
    }
}
