//! What reaches from one folder into another's that shares its namespace by selectors and labels.
//!
//! A base is judged by what other bases bring, an overlay by all that others do: so no overlay can make a
//! folder refused that says nothing new.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use super::home::FolderHome;
use super::names::{CLUSTER_GROUP, id_of};
use super::neighbours::Surroundings;
use super::neighbours::{FolderObjects, NamedCluster, NeighbourFolders, labels};
use super::origin::BoundaryOrigin;
use super::outside::Beyond;
use super::selectors::{ClusterSelector, ObjectLabels, selectors};
use capstan_kustomize::render::{RenderedFolder, RenderedObject};
use capstan_model::ids::ClusterId;
use capstan_model::kinds::{is_cluster, names};
use capstan_model::object::{FieldPath, ObjectId};

/// A Cluster on the management cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveCluster {
    pub namespace: String,
    pub name: String,
    pub labels: BTreeMap<String, String>,
}

impl LiveCluster {
    /// What an object of that kind is; `None` without a namespace or a name.
    pub fn of(value: &serde_json::Value) -> Option<Self> {
        let text = |pointer: &str| value.pointer(pointer).and_then(serde_json::Value::as_str);
        let (namespace, name) = (text("/metadata/namespace")?.to_owned(), text("/metadata/name")?.to_owned());
        Some(Self { namespace, name, labels: labels(value) })
    }
}

/// What a folder could reach for.
pub(super) struct FolderReach<'a> {
    around: &'a Surroundings<'a>,
    home: &'a FolderHome,
    /// The other owners' folders in the same namespaces.
    beside: NeighbourFolders<'a>,
    /// All folders in these namespaces, read when the first selector asks.
    residents: OnceCell<Vec<&'a ClusterId>>,
    /// What the folder brings itself.
    own: BTreeSet<&'a ObjectId>,
}

impl<'a> FolderReach<'a> {
    pub(super) fn of(
        rendered: &'a RenderedFolder,
        home: &'a FolderHome,
        around: &'a Surroundings<'a>,
        beside: NeighbourFolders<'a>,
    ) -> Self {
        let own = rendered.objects.iter().map(|object| &object.id).collect();
        Self { around, home, beside, residents: OnceCell::new(), own }
    }

    /// What an object reaches for.
    pub(super) fn judge(
        &self,
        object: &RenderedObject,
        origin: BoundaryOrigin<'_>,
        outside: &mut impl FnMut(FieldPath, Beyond),
    ) {
        self.selects(object, origin, outside);
        self.is_selected(object, origin, outside);
    }

    /// The first of the other owners' folders in the same namespaces in which something is found.
    fn first_beside<T>(&self, found: impl Fn(&'a FolderObjects) -> Option<T>) -> Option<(&'a ClusterId, T)> {
        self.beside.find(self.residents.get_or_init(|| self.beside.residents()), found)
    }

    /// Clusters of others that an object selects.
    fn selects(
        &self,
        object: &RenderedObject,
        origin: BoundaryOrigin<'_>,
        outside: &mut impl FnMut(FieldPath, Beyond),
    ) {
        let of_base: Vec<ClusterSelector> = match origin {
            BoundaryOrigin::Changed(base) => {
                selectors(&base.id, &base.value).into_iter().map(|found| found.selector).collect()
            }
            BoundaryOrigin::Base | BoundaryOrigin::Added => Vec::new(),
        };
        for found in selectors(&object.id, &object.value) {
            let by_base = matches!(origin, BoundaryOrigin::Base) || of_base.contains(&found.selector);
            let selects = |cluster: &NamedCluster| {
                let labels = if by_base { &cluster.base_labels } else { &cluster.labels };
                is_within(&object.id, cluster.namespace.as_deref())
                    && found.selector.selects(cluster.namespace.as_deref(), &cluster.name, labels)
            };
            let first = self.first_beside(|brought| brought.clusters.iter().find(|cluster| selects(cluster)));
            if let Some((folder, cluster)) = first {
                let (cluster, folder) = (cluster.name.clone(), folder.clone());
                outside(found.field, Beyond::SelectsOther { cluster, folder });
            } else if let ClusterSelector::Named { kind, namespace, name } = found.selector
                && !by_base
                && !self.is_own(
                    kind.as_deref(),
                    namespace.as_deref().or(object.id.namespace.as_deref()),
                    &name,
                )
            {
                outside(found.field, Beyond::OtherCluster { cluster: name });
            }
        }
    }

    /// Whether a cluster that is named is one of the folder's or its owner's. If a chart creates the folder's
    /// Cluster, its name is unknown, and any name counts.
    fn is_own(&self, kind: Option<&str>, namespace: Option<&str>, name: &str) -> bool {
        let home = self.home;
        kind.is_none_or(|kind| kind == names::CLUSTER)
            && namespace.is_none_or(|namespace| home.namespaces.contains(namespace))
            && (home.clusters.is_empty()
                || home.clusters.contains(name)
                || self.is_of_owner(&id_of(CLUSTER_GROUP, names::CLUSTER, namespace, name)))
    }

    fn is_of_owner(&self, id: &ObjectId) -> bool {
        self.around.neighbours.is_some_and(|all| all.is_of_owner(id, self.around))
    }

    /// The first of these live Clusters that an overlay's object selects, and that is neither the folder's nor one of its
    /// owner's.
    pub(super) fn strangers(
        &self,
        object: &RenderedObject,
        origin: BoundaryOrigin<'_>,
        live: &[LiveCluster],
        outside: &mut impl FnMut(FieldPath, Beyond),
    ) {
        let of_base = match origin {
            BoundaryOrigin::Base => return,
            BoundaryOrigin::Changed(base) => selectors(&base.id, &base.value),
            BoundaryOrigin::Added => Vec::new(),
        };
        for found in selectors(&object.id, &object.value) {
            if of_base.iter().any(|base| base.selector == found.selector) {
                continue;
            }
            let is_strange = |cluster: &&LiveCluster| {
                is_within(&object.id, Some(&cluster.namespace))
                    && found.selector.selects(Some(&cluster.namespace), &cluster.name, &cluster.labels)
                    && !self.is_known(cluster)
            };
            if let Some(cluster) = live.iter().find(is_strange) {
                outside(found.field, Beyond::SelectsStranger { cluster: cluster.name.clone() });
            }
        }
    }

    /// Whether a live Cluster is brought by the folder, or by another one of its owner's.
    fn is_known(&self, cluster: &LiveCluster) -> bool {
        let id = id_of(CLUSTER_GROUP, names::CLUSTER, Some(&cluster.namespace), &cluster.name);
        self.own.contains(&id) || self.is_of_owner(&id)
    }

    /// Whether an overlay gives its Cluster labels by which another folder's base would select it.
    fn is_selected(
        &self,
        object: &RenderedObject,
        origin: BoundaryOrigin<'_>,
        outside: &mut impl FnMut(FieldPath, Beyond),
    ) {
        let BoundaryOrigin::Changed(base) = origin else { return };
        if !is_cluster(&object.id) {
            return;
        }
        let (before, after): (ObjectLabels, ObjectLabels) = (labels(&base.value), labels(&object.value));
        if before == after {
            return;
        }
        let (namespace, name) = (object.id.namespace.as_deref(), object.id.name.as_str());
        let newly = self.first_beside(|brought| {
            brought.selectors.iter().find(|(selecting, selector)| {
                is_within(selecting, namespace)
                    && selector.selects(namespace, name, &after)
                    && !selector.selects(namespace, name, &before)
            })
        });
        if let Some((folder, (by, _))) = newly {
            let field = FieldPath::root().key("metadata").key("labels");
            outside(field, Beyond::SelectedByOther { by: by.clone(), folder: folder.clone() });
        }
    }
}

/// Whether an object can select Clusters of a namespace: those of its own, or all where it has none.
fn is_within(selecting: &ObjectId, namespace: Option<&str>) -> bool {
    selecting.namespace.is_none() || selecting.namespace.as_deref() == namespace
}
