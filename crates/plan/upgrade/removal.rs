//! What an upgrade may remove ([U13]).
//!
//! [U13]: crate::upgrade#u13

use super::context::Context;
use super::draft::Draft;
use super::model::{Change, ChangeReason};
use super::said::UpgradeReport;
use super::staying::Staying;
use crate::giant_swarm::{ChartSources, chart_name};
use crate::merge::cluster_merge::DroppedObject;
use crate::merge::cluster_objects::Base;
use crate::merge::nodes::text;
use crate::settings::Tombstone;
use crate::templates::foundations;
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::{KindRole, Loss, is_cluster, loss, role_of};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_yaml::{Node, NodeKind, YamlFile};

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

/// What becomes of an object that nothing forbids to remove.
fn removal(id: &ObjectId, is_named: bool) -> Removal {
    let prunable = match loss(id) {
        Loss::Nothing | Loss::Template => true,
        Loss::WhileNamed => !is_named,
        Loss::Cluster | Loss::ClusterIfNamed | Loss::Class | Loss::Unknown => false,
    };
    if prunable { Removal::Prunable } else { Removal::Tombstone }
}

/// A `Cluster`, a control plane, or the App or HelmRelease that deploys one.
fn is_lifeline<'n>(id: &ObjectId, node: &'n Node, sources: &ChartSources<'n>) -> bool {
    loss(id) == Loss::Cluster || chart_name(node, sources).is_some_and(is_cluster_chart)
}

/// Whether a ConfigMap is named below: by a reference that says its kind, or by a field that is called
/// after it (`configMap`, `configMapRef`).
fn names_config_map(node: &Node, field: &str, name: &str) -> bool {
    match &node.kind {
        NodeKind::Mapping(entries) => {
            let is_reference = field.starts_with("configMap") || text(node, "kind") == Some("ConfigMap");
            is_reference && text(node, "name") == Some(name)
                || entries.iter().any(|entry| names_config_map(&entry.value, &entry.key, name))
        }
        NodeKind::Sequence(items) => items.iter().any(|item| names_config_map(item, field, name)),
        NodeKind::Scalar(_) => false,
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

/// A chart that deploys a cluster: `cluster-<provider>`, or `release-<provider>`, which is made of one. A
/// provider that is not known counts too: a cluster is not lost for want of a name in a table.
fn is_cluster_chart(name: &str) -> bool {
    let other = NOT_CLUSTERS
        .iter()
        .any(|other| name.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('-')));
    (name.starts_with("cluster-") && !other) || name.starts_with("release-")
}

/// An upgrade out of which what the release drops has gone.
#[derive(Debug)]
pub(super) struct Reduced {
    pub(super) draft: Draft,
    /// Of what goes with one.
    pub(super) tombstones: Vec<Tombstone>,
    /// What an earlier rotation left behind, and goes.
    pub(super) leftovers: Vec<usize>,
}

impl Reduced {
    /// Takes out what the release drops and nobody edited, but for what stays.
    pub(super) fn of(
        context: Context<'_>,
        mut draft: Draft,
        dropped: &[DroppedObject],
        staying: &Staying,
        said: &mut UpgradeReport,
    ) -> Self {
        let goes =
            || dropped.iter().map(|dropped| dropped.object).filter(|object| !staying.contains(*object));
        // All that goes names nothing any more, whatever its place among them.
        goes().for_each(|object| draft.remove_object(object));
        let mut reduced = Self { draft, tombstones: Vec::new(), leftovers: Vec::new() };
        goes().for_each(|object| reduced.remove(context, object, said));
        reduced
    }

    /// Takes an object out that the release drops and nobody edited.
    pub(super) fn remove(&mut self, context: Context<'_>, object: usize, said: &mut UpgradeReport) {
        let id = context.base.objects[object].id.clone();
        let node = context.base.node(object);
        let place = context.base.place(object, node.span.start);
        said.changes.push(Change {
            object: id.clone(),
            place: place.clone().without_column(),
            path: FieldPath::root(),
            old: Some(node.value()),
            new: None,
            from: None,
            reason: ChangeReason::Object,
        });
        let removal = if is_lifeline_here(context.base, &id, node) {
            Removal::Forbidden
        } else {
            removal(&id, self.is_named(context, &id))
        };
        match removal {
            Removal::Forbidden => {
                self.draft.keep_object(object);
                let reason = format!("The release drops {id}, which an upgrade never removes.");
                let message = format!(
                    "The release drops {id}. Without it the cluster is lost, so the upgrade is blocked. To delete the cluster, write `delete: cluster` in its capstan.yaml."
                );
                let finding = Finding::new(rules::REMOVES_CLUSTER, message).place(place).object(&id);
                said.block(finding.path(&FieldPath::root()), reason);
                return;
            }
            Removal::Prunable => {}
            Removal::Tombstone => self.tombstones.push(tombstone(context.base, &id)),
        }
        self.draft.remove_object(object);
    }

    /// Takes out what a rotation left behind: its live object goes by itself, whatever its kind.
    pub(super) fn remove_leftover(&mut self, context: Context<'_>, object: usize, said: &mut UpgradeReport) {
        let tombstones = self.tombstones.len();
        self.remove(context, object, said);
        self.tombstones.truncate(tombstones);
        self.leftovers.push(object);
    }

    /// Whether something that stays, in base or overlay, names a ConfigMap.
    fn is_named(&self, context: Context<'_>, id: &ObjectId) -> bool {
        let stays = |at: &usize| !self.draft.removes(*at) && context.base.objects[*at].id != *id;
        let base = (0..context.base.objects.len()).filter(stays).map(|at| context.base.node(at));
        let overlay = context.overlay.iter().flat_map(YamlFile::documents).map(|document| &document.root);
        role_of(id) == Some(KindRole::ConfigMap)
            && base.chain(overlay).any(|node| names_config_map(node, "", &id.name))
    }
}

/// Whether a cluster is lost with an object: also with what a `Cluster` of the base names as its
/// infrastructure or control plane, and, where no `Cluster` is at hand to say so, with what is called an
/// infrastructure cluster.
fn is_lifeline_here<'n>(base: &'n Base, id: &ObjectId, node: &'n Node) -> bool {
    let clusters = || {
        let is_one = |at: &usize| is_cluster(&base.objects[*at].id);
        (0..base.objects.len()).filter(is_one)
    };
    let names_it = |at: usize| {
        let cluster = &base.objects[at].id;
        foundations(&cluster.group, &cluster.kind, base.node(at))
            .iter()
            .any(|part| part.reference.means(cluster.namespace.as_deref(), id))
    };
    let sources = ChartSources::of((0..base.objects.len()).map(|at| base.node(at)));
    is_lifeline(id, node, &sources)
        || clusters().any(names_it)
        || (clusters().next().is_none() && loss(id) == Loss::ClusterIfNamed)
}

/// The release changes the kind of something that the cluster edited and would be lost without.
pub(super) fn forbid_kind_change(context: Context<'_>, object: usize, said: &mut UpgradeReport) {
    let id = context.base.objects[object].id.clone();
    let node = context.base.node(object);
    if is_lifeline_here(context.base, &id, node) {
        let message = format!(
            "The release changes the kind of {id}. Another control plane or infrastructure is another cluster, so the upgrade is blocked."
        );
        let at = node.span.start;
        said.findings.push(context.finding_at(
            rules::REMOVES_CLUSTER,
            message,
            object,
            at,
            &FieldPath::root(),
        ));
    }
}

fn tombstone(base: &Base, id: &ObjectId) -> Tombstone {
    let own_namespace = base.namespace();
    Tombstone {
        group: Some(id.group.clone()).filter(|group| !group.is_empty() && group != "cluster.x-k8s.io"),
        kind: id.kind.clone(),
        namespace: id.namespace.clone().filter(|namespace| own_namespace != Some(namespace)),
        name: id.name.clone(),
    }
}
