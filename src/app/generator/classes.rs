//! ClusterClasses that lie in one cluster's folder and are used from others.

use std::collections::BTreeSet;
use std::sync::Arc;

use capstan_model::kinds::{KindRole, role_of_fragment};
use capstan_model::object::api_group;
use capstan_plan::cluster::{Cluster, ClusterId};
use capstan_yaml::Node;

use super::Fleet;
use super::seen::{Reads, Seen};
use super::wide::ClassUsers;

impl Fleet {
    /// ClusterClasses of this cluster's base that Clusters of other folders use. Only asked for where
    /// the base has one, because it reads the whole fleet.
    pub(super) fn classes_used_elsewhere(&self, reads: &Reads<'_>, cluster: &Cluster) -> Vec<String> {
        let own: BTreeSet<&str> = documents(cluster).filter_map(class_name).collect();
        if own.is_empty() {
            return Vec::new();
        }
        let elsewhere = self.used_elsewhere(&cluster.id, own.iter().copied());
        let own = own.into_iter().map(ToOwned::to_owned).collect();
        reads.note(Seen::Classes { own, elsewhere: elsewhere.clone() });
        elsewhere
    }

    /// Those of a cluster's classes that Clusters of other folders use.
    pub(super) fn used_elsewhere<'c>(
        &self,
        cluster: &ClusterId,
        classes: impl IntoIterator<Item = &'c str>,
    ) -> Vec<String> {
        let users = self.wide.class_users.get_or_init(|| Arc::new(self.read_class_users()));
        let elsewhere = |class: &&str| {
            users.get(*class).is_some_and(|clusters| clusters.iter().any(|user| user != cluster))
        };
        classes.into_iter().filter(elsewhere).map(ToOwned::to_owned).collect()
    }

    /// Which clusters use which class. Clusters that cannot be read use none that is known.
    fn read_class_users(&self) -> ClassUsers {
        let mut users = ClassUsers::new();
        for folder in &self.layout.clusters {
            let used = match self.kept(&folder.id) {
                Some(kept) => kept.classes_used.clone(),
                None => match Cluster::read(self.tree.as_ref(), folder) {
                    Ok(cluster) => classes_used(&cluster),
                    Err(_) => continue,
                },
            };
            for class in used {
                users.entry(class).or_default().push(folder.id.clone());
            }
        }
        users
    }
}

/// The classes that a cluster's own Clusters use, each once.
pub(super) fn classes_used(cluster: &Cluster) -> Vec<String> {
    let used: BTreeSet<&str> = documents(cluster).filter_map(class_used).collect();
    used.into_iter().map(ToOwned::to_owned).collect()
}

fn documents(cluster: &Cluster) -> impl Iterator<Item = &Node> {
    cluster.base.iter().flat_map(|manifest| manifest.file.documents()).map(|document| &document.root)
}

fn has_role(root: &Node, role: KindRole) -> bool {
    let text = |key| root.get(key).and_then(Node::as_str);
    let group = text("apiVersion").map(api_group);
    text("kind").and_then(|kind| role_of_fragment(group, kind)) == Some(role)
}

/// The name of a ClusterClass.
fn class_name(root: &Node) -> Option<&str> {
    has_role(root, KindRole::Class).then_some(())?;
    root.get("metadata")?.get("name")?.as_str()
}

/// The class that a topology Cluster names, in `v1beta1` (`class`) and `v1beta2` (`classRef.name`).
fn class_used(root: &Node) -> Option<&str> {
    has_role(root, KindRole::Cluster).then_some(())?;
    let topology = root.get("spec")?.get("topology")?;
    topology.get("class").or_else(|| topology.get("classRef")?.get("name"))?.as_str()
}
