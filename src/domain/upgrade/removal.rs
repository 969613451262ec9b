//! What an upgrade may remove (U13).

use super::plan::Plan;
use super::{Change, Reason};
use crate::finding::{Finding, Severity};
use crate::merge::source::text;
use crate::object::{FieldPath, ObjectId};
use crate::settings::Tombstone;
use crate::templates::{Treatment, treatment};
use crate::yaml::{Node, NodeKind};

/// What becomes of an object that the release drops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Removal {
    /// Never: the upgrade blocks.
    Forbidden,
    /// Goes from Git; the live object goes by itself.
    Prunable,
    /// Goes with a tombstone, without which the live object would stay.
    Tombstone,
}

fn removal(id: &ObjectId, node: &Node) -> Removal {
    if is_lifeline(id, node) {
        return Removal::Forbidden;
    }
    let prunable = match (id.group.as_str(), id.kind.as_str()) {
        ("cluster.x-k8s.io", "MachineHealthCheck") | ("addons.cluster.x-k8s.io", "ClusterResourceSet") => {
            true
        }
        (_, "KubeadmConfig") => true,
        (_, kind) => matches!(treatment(kind), Some(Treatment::Rotate)) || kind.ends_with("Template"),
    };
    if prunable { Removal::Prunable } else { Removal::Tombstone }
}

/// A `Cluster`, a control plane, or the App or HelmRelease that deploys one.
fn is_lifeline(id: &ObjectId, node: &Node) -> bool {
    let deploys_cluster = |name: Option<&str>| name.is_some_and(is_cluster_chart);
    match (id.group.as_str(), id.kind.as_str()) {
        ("cluster.x-k8s.io", "Cluster") => true,
        ("controlplane.cluster.x-k8s.io", kind) => !kind.ends_with("Template"),
        ("application.giantswarm.io", "App") => {
            deploys_cluster(node.get("spec").and_then(|spec| text(spec, "name")))
        }
        ("helm.toolkit.fluxcd.io", "HelmRelease") => {
            let spec = node.get("spec");
            let chart = spec.and_then(|spec| spec.get("chart")).and_then(|chart| chart.get("spec"));
            let source = spec.and_then(|spec| spec.get("chartRef"));
            deploys_cluster(chart.and_then(|chart| text(chart, "chart")))
                || deploys_cluster(source.and_then(|source| text(source, "name")))
        }
        _ => false,
    }
}

/// Charts whose name begins like a cluster's and that deploy something into one.
const NOT_CLUSTERS: &[&str] = &[
    "cluster-api",
    "cluster-apps",
    "cluster-autoscaler",
    "cluster-issuer",
    "cluster-overprovisioner",
    "cluster-proportional-autoscaler",
    "cluster-role",
    "cluster-secret",
];

/// A chart that deploys a cluster: `cluster-<provider>`, or `release-<provider>`, which is made of one.
fn is_cluster_chart(name: &str) -> bool {
    let other = NOT_CLUSTERS
        .iter()
        .any(|other| name.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('-')));
    (name.starts_with("cluster-") && !other) || name.starts_with("release-")
}

impl Plan<'_> {
    /// Takes an object out that the release drops and nobody edited.
    pub(super) fn remove(&mut self, object: usize) {
        let id = self.base.objects[object].id.clone();
        let node = self.base.node(object);
        let position = self.base.position(object, node.span.start);
        let file = self.base.file_of(object).path.clone();
        self.changes.push(Change {
            object: id.clone(),
            file: file.clone(),
            line: Some(position.line),
            path: FieldPath::root(),
            old: Some(node.value()),
            new: None,
            reason: Reason::Object,
        });
        let removal = match (id.group.as_str(), id.kind.as_str()) {
            ("", "ConfigMap") if self.is_named_by_others(object) => Removal::Tombstone,
            ("", "ConfigMap") => Removal::Prunable,
            _ => removal(&id, node),
        };
        match removal {
            Removal::Forbidden => {
                self.blocked.push(format!("The release drops {id}, which an upgrade never removes."));
                self.findings.push(Finding {
                    rule: "removes-cluster",
                    severity: Severity::Error,
                    message: format!(
                        "The release drops {id}. Without it the cluster is lost, so the upgrade blocks. If that is meant, delete the cluster with `delete: cluster` in its capstan.yaml."
                    ),
                    file: Some(file),
                    line: Some(position.line),
                    column: Some(position.column),
                    object: Some(id),
                    path: Some(FieldPath::root()),
                });
                return;
            }
            Removal::Prunable => {}
            Removal::Tombstone => self.tombstones.push(self.tombstone(&id)),
        }
        self.draft.remove_object(object);
    }

    /// Takes out what a rotation left behind: its live object goes by itself, whatever its kind.
    pub(super) fn remove_leftover(&mut self, object: usize) {
        let tombstones = self.tombstones.len();
        self.remove(object);
        self.tombstones.truncate(tombstones);
    }

    /// Whether anything that stays names a ConfigMap: as what it deploys, or where it takes values from.
    fn is_named_by_others(&self, object: usize) -> bool {
        let name = &self.base.objects[object].id.name;
        let in_base = (0..self.base.kustomizations.start)
            .filter(|other| *other != object && !self.draft.removes(*other))
            .any(|other| names_config_map(self.base.node(other), name));
        let overlay = || self.overlay.iter().flat_map(crate::yaml::YamlFile::documents);
        in_base || overlay().any(|document| names_config_map(&document.root, name))
    }

    fn tombstone(&self, id: &ObjectId) -> Tombstone {
        let own_namespace = self.base.namespace();
        Tombstone {
            group: Some(id.group.clone()).filter(|group| !group.is_empty() && group != "cluster.x-k8s.io"),
            kind: id.kind.clone(),
            namespace: id.namespace.clone().filter(|namespace| own_namespace != Some(namespace)),
            name: id.name.clone(),
        }
    }
}

/// Whether a reference to a ConfigMap of that name stands anywhere: `{kind: ConfigMap, name}`, or a name
/// below a key such as `configMapRef`, `configMapKeyRef` or `configMap`.
fn names_config_map(node: &Node, name: &str) -> bool {
    match &node.kind {
        NodeKind::Mapping(entries) => {
            (text(node, "kind") == Some("ConfigMap") && text(node, "name") == Some(name))
                || entries.iter().any(|entry| {
                    (entry.key.starts_with("configMap") && text(&entry.value, "name") == Some(name))
                        || names_config_map(&entry.value, name)
                })
        }
        NodeKind::Sequence(items) => items.iter().any(|item| names_config_map(item, name)),
        NodeKind::Scalar(_) => false,
    }
}
