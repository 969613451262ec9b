//! What is beside the objects of the release: other clusters of the folder, and machines of the customer's own. Nothing
//! of the release moves them.
//!
//! Machines that name a template which moves would get its image under their old version: the upgrade
//! blocks ([U9]). All others are named with the version at which they stay (`not-in-release`); where that
//! falls too far behind their control plane, the rules of the skew say so, on the rendered result.
//!
//! [U9]: crate::merge::step_group#u9

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

use super::context::Context;
use super::said::UpgradeReport;
use super::settle::MovedObjects;
use crate::merge::cluster_merge::{Between, ClusterMerge};
use crate::merge::cluster_objects::Base;
use crate::merge::step_group::StepGroup;
use crate::templates::{Reference, foundations, references};
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::kinds::{KindRole, is_cluster, role, version_paths};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::version::KubernetesVersion;
use capstan_yaml::Node;
use capstan_yaml::manifest::identity;

/// A version that an object says, and where.
struct Stays {
    path: FieldPath,
    at: usize,
    text: String,
}

/// What Clusters of a folder are made of: looked up for every object of the folder, so by names.
#[derive(Default)]
struct ClusterParts<'b> {
    /// Clusters by their names, which their parts say.
    by_name: HashMap<&'b str, Vec<usize>>,
    /// What Clusters name, by kind and name.
    named: HashMap<(&'b str, &'b str), Vec<ClusterReference<'b>>>,
}

/// What a Cluster names.
struct ClusterReference<'b> {
    /// The Cluster, and its namespace.
    cluster: usize,
    namespace: Option<&'b str>,
    reference: Reference<'b>,
}

impl<'b> ClusterParts<'b> {
    /// What these Clusters are made of.
    fn of(base: &'b Base, clusters: &[usize]) -> Self {
        let mut parts = Self::default();
        for at in clusters {
            let id = &base.objects[*at].id;
            parts.by_name.entry(&id.name).or_default().push(*at);
            for part in foundations(&id.group, &id.kind, base.node(*at)) {
                let named = parts.named.entry((part.reference.kind, part.reference.name)).or_default();
                named.push(ClusterReference {
                    cluster: *at,
                    namespace: id.namespace.as_deref(),
                    reference: part.reference,
                });
            }
        }
        parts
    }

    /// The Clusters of which an object is part: it names them, or is named by them.
    fn whole_of(&self, id: &ObjectId, node: &Node) -> Vec<usize> {
        let own = node.at(&FieldPath::root().key("spec").key("clusterName")).and_then(Node::as_str);
        let mut clusters = own.and_then(|name| self.by_name.get(name)).cloned().unwrap_or_default();
        let named = self.named.get(&(id.kind.as_str(), id.name.as_str())).into_iter().flatten();
        let meant = named.filter(|part| part.reference.means(part.namespace, id));
        clusters.extend(meant.map(|part| part.cluster));
        clusters
    }
}

/// Names what the release does not speak of and what is left behind by it.
pub(super) fn bystanders(
    context: Context<'_>,
    merge: &ClusterMerge,
    group: &StepGroup,
    moved: &MovedObjects,
    said: &mut UpgradeReport,
) {
    Bystanders { context, group, moved, said }.say(merge);
}

/// What the checks read, and `said`, where they add what they find.
struct Bystanders<'b> {
    context: Context<'b>,
    group: &'b StepGroup,
    moved: &'b MovedObjects,
    said: &'b mut UpgradeReport,
}

impl Bystanders<'_> {
    fn say(&mut self, merge: &ClusterMerge) {
        let spoken_of = self.spoken_of(merge);
        let strangers = self.other_clusters(&spoken_of);
        let parts = ClusterParts::of(self.context.base, &strangers);
        for object in (0..self.context.base.kustomizations.start).filter(|object| !spoken_of[*object]) {
            let id = self.context.base.objects[object].id.clone();
            let stays = stays(&id, self.context.base.node(object));
            if let Some(stays) = &stays
                && self.shares_a_moving_template(object, stays)
            {
                continue;
            }
            let at_release = stays
                .as_ref()
                .is_some_and(|stays| self.group.wanted.iter().any(|wanted| is_at(&stays.text, wanted)));
            let counts = match role(&id.group, &id.kind) {
                Some(KindRole::Cluster) => strangers.contains(&object),
                Some(KindRole::Workers(_) | KindRole::Machine) => {
                    !parts.whole_of(&id, self.context.base.node(object)).is_empty()
                        || (!self.group.wanted.is_empty() && stays.is_some() && !at_release)
                }
                _ => false,
            };
            if counts {
                self.stays_behind(object, stays);
            }
        }
        self.machines_of_the_overlay();
        if !strangers.is_empty() {
            let names: Vec<String> =
                strangers.iter().map(|at| self.context.base.objects[*at].id.to_string()).collect();
            let verb = if strangers.len() == 1 { "is" } else { "are" };
            self.said.notes.push(format!(
                "This folder's record will name {} for the clusters that the release knows. {} {verb} none of them: the record is not true for {}.",
                self.context.request.new.id(),
                names.join(" and "),
                if strangers.len() == 1 { "it" } else { "them" },
            ));
        }
    }

    /// By object, whether a piece of either release speaks of it, or may.
    fn spoken_of(&self, merge: &ClusterMerge) -> Vec<bool> {
        let mut known = vec![false; self.context.base.objects.len()];
        let merged = merge.merged.iter().map(|merged| merged.object);
        let conflicts = merge.conflicts.iter().filter_map(|conflict| conflict.object);
        for object in merged.chain(merge.removed.iter().map(|dropped| dropped.object)).chain(conflicts) {
            known[object] = true;
        }
        for ambiguity in &merge.ambiguous {
            let may_be = |id: &ObjectId| match &ambiguity.between {
                Between::Objects(names) => names.contains(&id.to_string()),
                Between::Documents(other, _) => other == id,
            };
            for (at, object) in self.context.base.objects.iter().enumerate() {
                known[at] |= may_be(&object.id);
            }
        }
        known
    }

    /// The Clusters of the folder of which the release says nothing, where it speaks of another one.
    fn other_clusters(&self, spoken_of: &[bool]) -> Vec<usize> {
        let is_cluster = |at: &usize| {
            let id = &self.context.base.objects[*at].id;
            role(&id.group, &id.kind) == Some(KindRole::Cluster)
        };
        let clusters: Vec<usize> = (0..self.context.base.objects.len()).filter(is_cluster).collect();
        if clusters.len() < 2 {
            return Vec::new();
        }
        let parts = ClusterParts::of(self.context.base, &clusters);
        let touched = (0..spoken_of.len()).filter(|at| spoken_of[*at]);
        let with_parts: BTreeSet<usize> = touched
            .flat_map(|at| parts.whole_of(&self.context.base.objects[at].id, self.context.base.node(at)))
            .collect();
        let is_other = |at: &usize| !spoken_of[*at] && !with_parts.contains(at);
        let others: Vec<usize> = clusters.iter().copied().filter(is_other).collect();
        // Of none of them would say nothing of any.
        if others.len() == clusters.len() { Vec::new() } else { others }
    }

    /// Blocks where an object would get the release's image and keep its own version.
    fn shares_a_moving_template(&mut self, object: usize, stays: &Stays) -> bool {
        let id = &self.context.base.objects[object].id;
        let found = references(&id.group, &id.kind, self.context.base.node(object));
        let moving = self.moved.0.iter().map(|moved| &self.context.base.objects[*moved].id);
        let Some(template) = moving.into_iter().find(|template| {
            found.iter().any(|reference| reference.kind == template.kind && reference.name == template.name)
        }) else {
            return false;
        };
        if self.group.wanted.is_empty() || self.group.wanted.iter().any(|wanted| is_at(&stays.text, wanted)) {
            return false;
        }
        let text = &stays.text;
        let message = format!(
            "{id} is not of the release and stays at {text}, but {template}, which it names, changes to the release's version. Set its version too, or give it its own template.",
        );
        let reason =
            format!("{id} would keep its version {text} with the image that the release sets in {template}.");
        let rule = rules::STEP_GROUP_SPLIT;
        self.said.block(self.context.finding_at(rule, message, object, stays.at, &stays.path), reason);
        true
    }

    fn stays_behind(&mut self, object: usize, stays: Option<Stays>) {
        let id = self.context.base.objects[object].id.clone();
        let stays = stays.or_else(|| self.version_of_control_plane(object));
        let version = stays.as_ref().map_or_else(
            || "as it is, without a version of Kubernetes".to_owned(),
            |stays| format!("at Kubernetes {}", stays.text),
        );
        let message = format!(
            "{id} is not of the release and stays {version}{}. {}.",
            release_version(self.group),
            if is_cluster(&id) {
                "Give each cluster its own folder and record"
            } else {
                "Set its version by hand in the same change, or let it follow"
            }
        );
        let own = stays.filter(|stays| self.context.base.node(object).at(&stays.path).is_some());
        let (at, path) = own.map_or_else(
            || (self.context.base.node(object).span.start, FieldPath::root()),
            |stays| (stays.at, stays.path),
        );
        self.said.findings.push(self.context.finding_at(rules::NOT_IN_RELEASE, message, object, at, &path));
    }

    /// The version of the control plane that a Cluster names.
    fn version_of_control_plane(&self, cluster: usize) -> Option<Stays> {
        let id = &self.context.base.objects[cluster].id;
        let built = foundations(&id.group, &id.kind, self.context.base.node(cluster));
        let part = built.iter().find(|part| part.part == "controlPlaneRef")?;
        let means =
            |at: &usize| part.reference.means(id.namespace.as_deref(), &self.context.base.objects[*at].id);
        let plane = (0..self.context.base.objects.len()).find(means)?;
        stays(&self.context.base.objects[plane].id, self.context.base.node(plane))
    }

    /// Machines that only the overlay has.
    fn machines_of_the_overlay(&mut self) {
        if self.group.wanted.is_empty() {
            return;
        }
        let mut found = Vec::new();
        for (source, file) in self.context.request.cluster.overlay.iter().zip(self.context.overlay) {
            for document in file.documents() {
                let Some(id) = identity(&document.root) else { continue };
                let is_patch = self.context.base.objects.iter().any(|object| {
                    (&object.id.group, &object.id.kind, &object.id.name) == (&id.group, &id.kind, &id.name)
                });
                let makes_machines =
                    matches!(role(&id.group, &id.kind), Some(KindRole::Workers(_) | KindRole::Machine));
                let Some(stays) = stays(&id, &document.root).filter(|_| makes_machines && !is_patch) else {
                    continue;
                };
                if !self.group.wanted.iter().any(|wanted| is_at(&stays.text, wanted)) {
                    let place = file.position(stays.at);
                    found.push((Place::at(source.path.clone(), place), id, stays));
                }
            }
        }
        for (place, id, stays) in found {
            let message = format!(
                "{id} is not of the release and stays at Kubernetes {}{}. It is in the overlay: the owner of the overlay sets its version.",
                stays.text,
                release_version(self.group)
            );
            self.said.findings.push(
                Finding::new(rules::NOT_IN_RELEASE, message).place(place).object(&id).path(&stays.path),
            );
        }
    }
}

/// `, while the release goes to v1.30.0`
fn release_version(group: &StepGroup) -> String {
    let newest = group
        .wanted
        .iter()
        .reduce(|best, other| if other.compare(best) == Some(Ordering::Greater) { other } else { best });
    newest.map_or_else(String::new, |wanted| format!(", while the release is at {wanted}"))
}

fn stays(id: &ObjectId, node: &Node) -> Option<Stays> {
    version_paths(id).into_iter().find_map(|path| {
        let own = node.at(&path)?;
        let text = own.as_scalar()?.text.clone();
        Some(Stays { at: own.span.start, text, path })
    })
}

fn is_at(text: &str, wanted: &KubernetesVersion) -> bool {
    KubernetesVersion::parse(text).and_then(|own| own.compare(wanted)) == Some(Ordering::Equal)
}
