//! The step group (U9): versions, images and the references to templates that bear them move together
//! or not at all.

use std::cmp::Ordering;

use super::cluster_objects::Base;
use super::decision::Decision;
use super::objects::ClusterMerge;
use crate::object::{FieldPath, ObjectId, Step};
use crate::version::KubernetesVersion;
use crate::yaml::{Node, NodeKind};

/// How the group of one cluster moves.
#[derive(Debug, Default)]
pub(crate) struct StepGroup {
    /// The release names a Kubernetes version that is newer than the cluster's, and none that is older:
    /// inside the group it wins.
    pub(crate) release_wins: bool,
    /// The release changes something of the group.
    pub(crate) moves: bool,
    /// Objects whose cluster version is ahead of the release's.
    pub(crate) ahead: Vec<Ahead>,
    /// Kubernetes versions that either release names.
    versions: Vec<String>,
    /// Those that the new release names.
    pub(crate) wanted: Vec<KubernetesVersion>,
}

/// An object whose version is ahead of the release's.
#[derive(Debug)]
pub(crate) struct Ahead {
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
        for merged in &merge.merged {
            let id = &base.objects[merged.object].id;
            let Some(path) = version_path(id) else { continue };
            let (old, new) = merged.versions.clone();
            group.versions.extend(old);
            let Some(release) = new else { continue };
            group.versions.push(release.clone());
            let Some(own) = base.node(merged.object).at(&path) else { continue };
            let Some(cluster) = own.as_scalar().map(|scalar| scalar.text.clone()) else { continue };
            let (Some(a), Some(b)) = (KubernetesVersion::parse(&release), KubernetesVersion::parse(&cluster))
            else {
                continue;
            };
            group.wanted.push(a.clone());
            match a.compare(&b) {
                Some(Ordering::Greater) => newer = true,
                Some(Ordering::Less) => {
                    ahead.push(Ahead { object: merged.object, path, at: own.span.start, cluster, release });
                }
                _ => {}
            }
        }
        group.moves = merge.merged.iter().any(|merged| {
            let id = &base.objects[merged.object].id;
            merged.decisions.iter().any(|decision| group.holds(id, decision))
        });
        if group.moves {
            group.ahead = ahead;
        }
        group.release_wins = newer && group.ahead.is_empty();
        group
    }

    /// Whether a decision is about a field of the group.
    pub(crate) fn holds(&self, id: &ObjectId, decision: &Decision) -> bool {
        let path = &decision.path;
        version_path(id).is_some_and(|version| *path == version)
            || is_image(id, path)
            || is_template_reference(path)
            || (is_infrastructure(id)
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

/// Whether a text names a version: `ubuntu-1.29.0` names 1.29.0, the network `10.1.29.0/24` does not.
fn names_version(text: &str, version: &str) -> bool {
    text.match_indices(version).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + version.len()..].chars().next();
        !before.is_some_and(|c| c.is_ascii_digit() || c == '.') && !after.is_some_and(|c| c.is_ascii_digit())
    })
}

/// Where an object's Kubernetes version stands.
pub(crate) fn version_path(id: &ObjectId) -> Option<FieldPath> {
    let keys: &[&str] = match (id.group.as_str(), id.kind.as_str()) {
        ("cluster.x-k8s.io", "Cluster") => &["spec", "topology", "version"],
        ("cluster.x-k8s.io", "MachineDeployment" | "MachineSet") | (_, "MachinePool") => {
            &["spec", "template", "spec", "version"]
        }
        ("cluster.x-k8s.io", "Machine") => &["spec", "version"],
        ("controlplane.cluster.x-k8s.io", kind) if !kind.ends_with("Template") => &["spec", "version"],
        _ => return None,
    };
    Some(keys.iter().map(|key| Step::Key((*key).to_owned())).collect())
}

fn is_infrastructure(id: &ObjectId) -> bool {
    id.group == "infrastructure.cluster.x-k8s.io"
        && (id.kind.ends_with("Template") || id.kind.ends_with("MachinePool") || id.kind.ends_with("Machine"))
}

fn is_image(id: &ObjectId, path: &FieldPath) -> bool {
    if !is_infrastructure(id) {
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
