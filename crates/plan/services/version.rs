//! Which version of a service its objects are.

use std::collections::BTreeSet;

use capstan_yaml::manifest::group_and_kind;
use capstan_yaml::{Node, Scalar};
use serde_json::Value;

/// The label by which a workload says which version of its application it is:
/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/>.
const VERSION_LABEL: &str = "app.kubernetes.io/version";

/// Where objects that bring a chart name its version.
const CHARTS: &[(&str, &str, &[&str])] = &[
    ("addons.cluster.x-k8s.io", "HelmChartProxy", &["spec", "version"]),
    ("helm.toolkit.fluxcd.io", "HelmRelease", &["spec", "chart", "spec", "version"]),
];

/// Kinds of workloads.
const WORKLOADS: &[&str] = &["DaemonSet", "Deployment", "StatefulSet"];

/// The version of a service, by its objects: that of its chart, else the one that all its workloads have for a label,
/// else the one tag that all images of their containers have. `None` where they differ, or say nothing: nobody guesses.
pub(super) fn version_of<'n>(objects: impl Iterator<Item = &'n Node> + Clone) -> Option<String> {
    let charts = objects.clone().filter_map(chart_version);
    let workloads = objects.filter(|object| is_workload(object));
    let labels = workloads.clone().filter_map(|object| text(object, &["metadata", "labels", VERSION_LABEL]));
    let images = workloads.flat_map(images).filter_map(tag);
    only(charts).or_else(|| only(labels)).or_else(|| only(images))
}

/// The same of objects in JSON, rendered or live.
pub fn version_of_values<'v>(objects: impl Iterator<Item = &'v Value>) -> Option<String> {
    let tells = |object: &&Value| {
        let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
        let (group, _) = text("apiVersion").split_once('/').unwrap_or_default();
        CHARTS.iter().any(|(of, kind, _)| *of == group && *kind == text("kind"))
            || (group == "apps" && WORKLOADS.contains(&text("kind")))
    };
    let nodes: Vec<Node> = objects.filter(tells).map(Node::from_value).collect();
    version_of(nodes.iter())
}

fn only<'t>(mut said: impl Iterator<Item = &'t str>) -> Option<String> {
    let first = said.next()?;
    let without_v = |version: &'t str| version.strip_prefix('v').unwrap_or(version);
    said.all(|other| without_v(other) == without_v(first)).then(|| without_v(first).to_owned())
}

fn chart_version(object: &Node) -> Option<&str> {
    let (group, kind) = group_and_kind(object)?;
    let (_, _, path) = CHARTS.iter().find(|(of, is, _)| *of == group && *is == kind)?;
    text(object, path)
}

fn is_workload(object: &Node) -> bool {
    group_and_kind(object).is_some_and(|(group, kind)| group == "apps" && WORKLOADS.contains(&kind))
}

fn images(object: &Node) -> impl Iterator<Item = &str> {
    let containers = ["spec", "template", "spec", "containers"];
    let containers = containers.iter().try_fold(object, |node, key| node.get(key));
    let containers: BTreeSet<&str> = containers
        .and_then(Node::as_sequence)
        .unwrap_or_default()
        .iter()
        .filter_map(|container| text(container, &["image"]))
        .collect();
    containers.into_iter()
}

/// `v1.16.0` of `quay.io/cilium/cilium:v1.16.0@sha256:…`.
fn tag(image: &str) -> Option<&str> {
    let named = image.split_once('@').map_or(image, |(named, _)| named);
    let (_, tag) = named.rsplit_once(':')?;
    (!tag.contains('/') && !tag.contains('$')).then_some(tag)
}

pub(super) fn text<'n>(node: &'n Node, path: &[&str]) -> Option<&'n str> {
    let found = path.iter().try_fold(node, |node, key| node.get(key))?;
    let Scalar { text, .. } = found.as_scalar()?;
    Some(text.as_str()).filter(|text| !text.is_empty() && !text.contains("${"))
}
