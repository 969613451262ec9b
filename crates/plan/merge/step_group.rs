//! The step group ([U9]): versions, images and the references to templates that bear them move together
//! or not at all.
//!
//! # U9
//!
//! Of the objects that the release speaks of, these fields move together or not at all:
//!
//! | field | |
//! |---|---|
//! | versions of Kubernetes | wherever the table of kinds has one ([`version_paths`]), managed control planes included |
//! | versions of components | `spec.version` of provider objects ([`component_version`]) |
//! | images, in templates and in the infrastructure of MachinePools and Machines | `ami`, `imageLookup*`, `image`, `customImage`, `template` of vSphere; there also what names a version of Kubernetes that O or N names |
//! | references to machines' infrastructure | the `name` of an `infrastructureRef` or `infrastructureTemplate` |
//!
//! | case | comes to |
//! |---|---|
//! | the release's version is newer than an object's, and older than none | the release wins inside of the group: its side of every conflict is taken, listed as `kept: release` |
//! | the old release is unknown, and the release's version is not newer | the group stays unchanged, which is listed; `step-group-split` if something of it would come anyway |
//! | the group moves and an object is ahead of the release | `kubernetes-downgrade` (cannot be off): the upgrade blocks; of a component, where it is ahead by a minor |
//! | an owner rule, or `conflicts: keep` where the release does not win, holds a field back | `step-group-split`, naming it: the upgrade blocks |
//! | somebody rolls back ([`Versions::Stay`](crate::upgrade::Versions)) | all of the group stays as the cluster has it, which a note says; templates that bear images stay too |
//! | machines that the release does not know name a template that moves | `step-group-split`: the upgrade blocks (`crate::upgrade::bystanders`) |
//! | machines and Clusters that the release does not know, besides | `not-in-release`, with the version at which they stay |
//!
//! Versions are compared object by object. Skew is judged on the rendered result ([`crate::policy`]).
//!
//! [U9]: self#u9

use std::cmp::Ordering;

use super::cluster_merge::{ClusterMerge, NamedVersion};
use super::cluster_objects::Base;
use super::decision::{DecisionKind, MergeDecision};
use capstan_model::kinds::{bears_images, component_version, is_version, version_paths};
use capstan_model::object::{FieldPath, ObjectId, Step};
use capstan_model::version::{KubernetesVersion, names_version};
use capstan_yaml::{Node, NodeKind};

/// How the group of one cluster moves.
#[derive(Debug, Default)]
pub(crate) struct StepGroup {
    /// The release names a Kubernetes version that is newer than the cluster's, and none that is older:
    /// inside the group it wins.
    pub(crate) release_wins: bool,
    /// The release changes something of the group.
    pub(crate) moves: bool,
    /// It brings something of the group that overwrites nothing of the cluster's own.
    pub(crate) comes: bool,
    /// Objects whose cluster version is ahead of the release's.
    pub(crate) ahead: Vec<NewerObject>,
    /// Kubernetes versions that either release names.
    versions: Vec<String>,
    /// Those that the new release names.
    pub(crate) wanted: Vec<KubernetesVersion>,
}

/// An object whose version is ahead of the release's.
#[derive(Debug)]
pub(crate) struct NewerObject {
    /// Index into the base's objects.
    pub(crate) object: usize,
    pub(crate) path: FieldPath,
    /// Byte offset of the cluster's version.
    pub(crate) at: usize,
    pub(crate) cluster: String,
    pub(crate) release: String,
}

impl StepGroup {
    pub(crate) fn of(base: &Base, merge: &ClusterMerge) -> Self {
        let mut group = Self::default();
        let mut newer = false;
        let mut ahead = Vec::new();
        let of_objects = merge.merged.iter().flat_map(|merged| {
            let named = merged.versions.iter();
            named.map(move |named| (merged, named))
        });
        for (merged, NamedVersion { path, old, new }) in of_objects {
            let id = &base.objects[merged.object].id;
            group.versions.extend(old.clone());
            let Some(release) = new.clone() else { continue };
            group.versions.push(release.clone());
            let Some((path, own)) = own_version(id, base.node(merged.object), path) else { continue };
            let Some(cluster) = own.as_scalar().map(|scalar| scalar.text.clone()) else { continue };
            let (Some(a), Some(b)) = (KubernetesVersion::parse(&release), KubernetesVersion::parse(&cluster))
            else {
                continue;
            };
            let is_component = component_version(id).as_ref() == Some(&path);
            if !is_component {
                group.wanted.push(a.clone());
            }
            match a.compare(&b) {
                Some(Ordering::Greater) => newer = true,
                // Components go back a patch level where somebody wants that: rules say what it means.
                Some(Ordering::Less) if is_component && a.minor() == b.minor() => {}
                Some(Ordering::Less) => {
                    ahead.push(NewerObject {
                        object: merged.object,
                        path,
                        at: own.span.start,
                        cluster,
                        release,
                    });
                }
                _ => {}
            }
        }
        let of_group = || {
            merge.merged.iter().flat_map(|merged| {
                let id = &base.objects[merged.object].id;
                merged.record.decisions.iter().filter(|decision| group.holds(id, decision))
            })
        };
        let (moves, comes) =
            (of_group().next().is_some(), of_group().any(|decision| decision.kind == DecisionKind::Take));
        (group.moves, group.comes) = (moves, comes);
        if group.moves {
            group.ahead = ahead;
        }
        group.release_wins = newer && group.ahead.is_empty();
        group
    }

    /// Whether a decision is about a field of the group.
    pub(crate) fn holds(&self, id: &ObjectId, decision: &MergeDecision) -> bool {
        let path = &decision.path;
        is_version(id, path)
            || component_version(id).as_ref() == Some(path)
            || is_image(id, path)
            || is_template_reference(path)
            || (bears_images(id)
                && [&decision.base, &decision.release]
                    .into_iter()
                    .flatten()
                    .any(|node| self.names_a_version(node)))
    }

    fn names_a_version(&self, node: &Node) -> bool {
        match &node.kind {
            NodeKind::Scalar(scalar) => self
                .versions
                .iter()
                .any(|version| names_version(&scalar.text, version.trim_start_matches('v'))),
            NodeKind::Mapping(entries) => entries.iter().any(|entry| self.names_a_version(&entry.value)),
            NodeKind::Sequence(items) => items.iter().any(|item| self.names_a_version(item)),
        }
    }
}

/// The cluster's own version, where the release names it, or where another version of the API does.
fn own_version<'n>(id: &ObjectId, node: &'n Node, path: &FieldPath) -> Option<(FieldPath, &'n Node)> {
    let paths = std::iter::once(path.clone()).chain(version_paths(id)).chain(component_version(id));
    paths.into_iter().find_map(|path| Some((path.clone(), node.at(&path)?)))
}

fn is_image(id: &ObjectId, path: &FieldPath) -> bool {
    if !bears_images(id) {
        return false;
    }
    let mut keys = path.steps().iter().filter_map(|step| match step {
        Step::Key(key) => Some(key.as_str()),
        _ => None,
    });
    if id.kind.starts_with("VSphere")
        && path.steps().len() > 2
        && path.steps().last() == Some(&Step::Key("template".to_owned()))
    {
        return true;
    }
    keys.any(|key| matches!(key, "ami" | "image" | "customImage") || key.starts_with("imageLookup"))
}

fn is_template_reference(path: &FieldPath) -> bool {
    match path.steps() {
        [.., Step::Key(parent), Step::Key(name)] => {
            name == "name" && matches!(parent.as_str(), "infrastructureRef" | "infrastructureTemplate")
        }
        _ => false,
    }
}
