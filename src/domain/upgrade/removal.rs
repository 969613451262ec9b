//! What an upgrade may remove (U13).

use super::plan::Plan;
use super::{Change, Reason};
use crate::finding::{Finding, Severity};
use crate::merge::source::text;
use crate::object::{FieldPath, ObjectId};
use crate::settings::Tombstone;
use crate::templates::{Treatment, treatment};
use crate::yaml::Node;

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
        ("", "ConfigMap") | (_, "KubeadmConfig") => true,
        (_, kind) => matches!(treatment(kind), Some(Treatment::Rotate)) || kind.ends_with("Template"),
    };
    if prunable { Removal::Prunable } else { Removal::Tombstone }
}

/// A `Cluster`, a control plane, or the App or HelmRelease that deploys one.
fn is_lifeline(id: &ObjectId, node: &Node) -> bool {
    let deploys_cluster = |name: Option<&str>| name.is_some_and(|name| name.starts_with("cluster-"));
    match (id.group.as_str(), id.kind.as_str()) {
        ("cluster.x-k8s.io", "Cluster") => true,
        ("controlplane.cluster.x-k8s.io", kind) => !kind.ends_with("Template"),
        ("application.giantswarm.io", "App") => {
            deploys_cluster(node.get("spec").and_then(|spec| text(spec, "name")))
        }
        ("helm.toolkit.fluxcd.io", "HelmRelease") => {
            let spec =
                node.get("spec").and_then(|spec| spec.get("chart")).and_then(|chart| chart.get("spec"));
            deploys_cluster(spec.and_then(|spec| text(spec, "chart")))
        }
        _ => false,
    }
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
        match removal(&id, node) {
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
