//! Which class a Cluster names.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::cluster::Cluster;
use capstan_kustomize::render::RenderedObject;
use capstan_model::kinds::{KindRole, is_class, is_cluster, role_of_fragment};
use capstan_model::object::api_group;
use capstan_yaml::{Node, Readable};

/// A ClusterClass as a Cluster means it, or as a file names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClassRef {
    pub name: String,
    /// Its namespace, where anything says it.
    pub namespace: Option<String>,
}

impl ClassRef {
    /// The class that a Cluster with a managed topology names, in `v1beta1` (`class`, `classNamespace`) and `v1beta2`
    /// (`classRef`): of its own namespace, unless it says another one.
    pub fn of<T: Readable>(cluster: &T) -> Option<Self> {
        let topology = cluster.field("spec")?.field("topology")?;
        let reference = topology.field("classRef");
        let text = |holder: Option<&T>, key: &str| holder?.field(key)?.text().map(str::to_owned);
        let name = text(Some(topology), "class").or_else(|| text(reference, "name"))?;
        let namespace = text(reference, "namespace")
            .or_else(|| text(Some(topology), "classNamespace"))
            .or_else(|| text(cluster.field("metadata"), "namespace"));
        Some(Self { name, namespace })
    }

    /// Whether both may be one class: what one side does not say fits anything.
    pub fn may_be(&self, other: &Self) -> bool {
        self.name == other.name && self.may_be_in(other.namespace.as_deref())
    }

    /// Whether the class may be of that namespace.
    pub fn may_be_in(&self, namespace: Option<&str>) -> bool {
        match (self.namespace.as_deref(), namespace) {
            (Some(own), Some(other)) => own == other,
            _ => true,
        }
    }
}

/// The classes that a cluster's own Clusters use, each once.
pub fn classes_used(cluster: &Cluster) -> Vec<ClassRef> {
    let clusters = documents(cluster).filter(|root| has_role(root, KindRole::Cluster));
    let used: BTreeSet<ClassRef> = clusters.filter_map(ClassRef::of).collect();
    used.into_iter().collect()
}

/// The names of the ClusterClasses in a cluster's base, each once.
pub fn class_names(cluster: &Cluster) -> BTreeSet<&str> {
    documents(cluster).filter_map(class_name).collect()
}

/// The classes that the Clusters of a render name and that it does not hold, each once.
pub fn named_elsewhere(rendered: &[RenderedObject]) -> BTreeSet<ClassRef> {
    let own: BTreeSet<&str> =
        rendered.iter().filter(|object| is_class(&object.id)).map(|object| object.id.name.as_str()).collect();
    let clusters = rendered.iter().filter(|object| is_cluster(&object.id));
    let named = clusters.filter_map(|cluster| ClassRef::of(&cluster.value));
    named.filter(|class| !own.contains(class.name.as_str())).collect()
}

fn documents(cluster: &Cluster) -> impl Iterator<Item = &Node> {
    cluster.base.iter().flat_map(|manifest| manifest.file.documents()).map(|document| &document.root)
}

fn has_role(root: &Node, role: KindRole) -> bool {
    let text = |key| root.text_at(key);
    let group = text("apiVersion").map(api_group);
    text("kind").and_then(|kind| role_of_fragment(group, kind)) == Some(role)
}

/// The name of a ClusterClass.
pub(super) fn class_name(root: &Node) -> Option<&str> {
    has_role(root, KindRole::Class).then_some(())?;
    root.get("metadata")?.get("name")?.as_str()
}
