//! Which Clusters an object selects.
//!
//! A ClusterResourceSet, HelmChartProxy or Profile puts what it holds into every Cluster of its namespace that has
//! the labels (a ClusterProfile, of all namespaces); a MachineDrainRule without a selector is for all of them. Where a
//! selector is empty, a HelmChartProxy selects every Cluster and a ClusterResourceSet none:
//! <https://cluster-api.sigs.k8s.io/tasks/cluster-resource-set>.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use capstan_kustomize::render::meets_selector;
use capstan_model::object::{FieldPath, ObjectId};

pub(crate) type ObjectLabels = BTreeMap<String, String>;

/// What selects Clusters, and in which field.
pub(crate) struct Selected {
    pub(crate) field: FieldPath,
    pub(crate) selector: ClusterSelector,
}

/// What selects Clusters.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ClusterSelector {
    /// By labels: Kubernetes' `LabelSelector`, or a text in its short form.
    Labels(Value),
    /// One by its name. If its kind is not `Cluster`, it is not a Cluster of Cluster API.
    Named { kind: Option<String>, namespace: Option<String>, name: String },
    /// All of them.
    Everything,
}

impl ClusterSelector {
    /// Whether it selects that Cluster. An invalid selector selects everything, because what a controller makes of
    /// it is unknown.
    pub(crate) fn selects(&self, namespace: Option<&str>, name: &str, labels: &ObjectLabels) -> bool {
        match self {
            Self::Everything => true,
            Self::Named { namespace: wanted_namespace, name: wanted, .. } => {
                wanted == name && wanted_namespace.as_deref().is_none_or(|wanted| Some(wanted) == namespace)
            }
            Self::Labels(Value::String(text)) => {
                meets_selector(text, &|key| labels.get(key).cloned()).unwrap_or(true)
            }
            Self::Labels(selector) => meets(selector, labels),
        }
    }
}

/// <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/label-selector/>
fn meets(selector: &Value, labels: &ObjectLabels) -> bool {
    let wanted = selector.get("matchLabels").and_then(Value::as_object);
    let mut wanted = wanted.into_iter().flatten();
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    let mut expressions = expressions.into_iter().flatten();
    wanted.all(|(key, value)| labels.get(key).map(String::as_str) == value.as_str())
        && expressions.all(|expression| {
            let key = expression.get("key").and_then(Value::as_str).unwrap_or_default();
            let values = expression.get("values").and_then(Value::as_array);
            let values: BTreeSet<&str> = values.into_iter().flatten().filter_map(Value::as_str).collect();
            let label = labels.get(key).map(String::as_str);
            match expression.get("operator").and_then(Value::as_str) {
                Some("In") => label.is_some_and(|label| values.contains(label)),
                Some("NotIn") => label.is_none_or(|label| !values.contains(label)),
                Some("Exists") => label.is_some(),
                Some("DoesNotExist") => label.is_none(),
                _ => true,
            }
        })
}

/// Whether a selector asks for nothing.
fn is_empty(selector: &Value) -> bool {
    let asks = |key: &str| match selector.get(key) {
        Some(Value::Object(labels)) => !labels.is_empty(),
        Some(Value::Array(expressions)) => !expressions.is_empty(),
        Some(Value::Null) | None => false,
        Some(_) => true,
    };
    selector.is_object() && !asks("matchLabels") && !asks("matchExpressions")
}

/// Everything by which an object selects Clusters.
pub(crate) fn selectors(id: &ObjectId, value: &Value) -> Vec<Selected> {
    let spec = FieldPath::root().key("spec");
    let mut found = Vec::new();
    if id.kind == "MachineDrainRule" && id.group == "cluster.x-k8s.io" {
        let rules = value.pointer("/spec/machines").and_then(Value::as_array).map(Vec::as_slice);
        let rules = rules.unwrap_or_default();
        if rules.is_empty() {
            found.push(Selected { field: spec.clone(), selector: ClusterSelector::Everything });
        }
        for (index, rule) in rules.iter().enumerate() {
            let field = spec.key("machines").index(index);
            match rule.get("clusterSelector").filter(|selector| !selector.is_null()) {
                Some(selector) => {
                    let selector = ClusterSelector::Labels(selector.clone());
                    found.push(Selected { field: field.key("clusterSelector"), selector });
                }
                None => found.push(Selected { field, selector: ClusterSelector::Everything }),
            }
        }
        return found;
    }
    let addons = id.group == "addons.cluster.x-k8s.io";
    match value.pointer("/spec/clusterSelector").filter(|selector| !selector.is_null()) {
        Some(selector) if addons && id.kind == "ClusterResourceSet" && is_empty(selector) => {}
        Some(selector) => {
            let selector = ClusterSelector::Labels(selector.clone());
            found.push(Selected { field: spec.key("clusterSelector"), selector });
        }
        None if addons && id.kind == "HelmChartProxy" => {
            found.push(Selected { field: spec.clone(), selector: ClusterSelector::Everything });
        }
        None => {}
    }
    // The Set of Sveltos has its own selector, and may be of any folder.
    if value.pointer("/spec/setRefs").and_then(Value::as_array).is_some_and(|sets| !sets.is_empty()) {
        found.push(Selected { field: spec.key("setRefs"), selector: ClusterSelector::Everything });
    }
    let named = value.pointer("/spec/clusterRefs").and_then(Value::as_array);
    for (index, named) in named.into_iter().flatten().enumerate() {
        let text = |key: &str| named.get(key).and_then(Value::as_str).map(str::to_owned);
        if let Some(name) = text("name") {
            let selector = ClusterSelector::Named { kind: text("kind"), namespace: text("namespace"), name };
            found.push(Selected { field: spec.key("clusterRefs").index(index), selector });
        }
    }
    found
}
