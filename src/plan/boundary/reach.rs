//! What reaches from one folder into another's that shares its namespace: Secrets named after its clusters,
//! names of its Secrets and identities, selectors that match its clusters.
//!
//! A base is judged by what other bases bring, an overlay by all that others do: so no overlay can make a
//! folder refused that says nothing new.

use std::collections::{BTreeMap, BTreeSet};

use super::Surroundings;
use super::home::Home;
use super::neighbours::{Brought, NamedCluster, Whose, labels};
use super::origin::Origin;
use super::outside::Beyond;
use super::references::{Named, What, named};
use super::selectors::{Labels, Selector, selectors};
use capstan_kustomize::render::{Rendered, RenderedObject};
use capstan_model::ids::ClusterId;
use capstan_model::kinds::{KindRole, is_cluster, role_of};
use capstan_model::object::{FieldPath, ObjectId};

/// What Cluster API and its providers look for beside a cluster: Secrets called `<cluster>-<this>`.
///
/// Source: `util/secret/consts.go` of Cluster API; `cca` and `token` are of the providers for K3s and RKE2,
/// `talosconfig` and `talos` of those for Talos, `user-kubeconfig` of EKS.
const PURPOSES: &[&str] = &[
    "apiserver-etcd-client",
    "ca",
    "cca",
    "etcd",
    "kubeconfig",
    "proxy",
    "sa",
    "talos",
    "talosconfig",
    "token",
    "user-kubeconfig",
];

/// Where identities of providers stand.
const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";

/// Kinds that make a Secret of their own name.
const MAKE_SECRETS: &[&str] = &["ExternalSecret", "SealedSecret"];

/// What a folder could reach for.
pub(super) struct Reach<'a> {
    around: &'a Surroundings<'a>,
    home: &'a Home,
    /// The other owners' folders in the same namespaces.
    beside: Vec<(&'a ClusterId, &'a Brought)>,
    /// Their clusters by name.
    clusters: BTreeMap<&'a str, &'a ClusterId>,
    /// What the folder brings itself.
    own: BTreeSet<&'a ObjectId>,
}

impl<'a> Reach<'a> {
    pub(super) fn of(rendered: &'a Rendered, home: &'a Home, around: &'a Surroundings<'a>) -> Self {
        let beside = around.neighbours.map(|all| all.beside(home, around)).unwrap_or_default();
        let clusters = beside
            .iter()
            .flat_map(|(id, brought)| brought.clusters.iter().map(|cluster| (cluster.name.as_str(), *id)));
        let clusters = clusters.collect();
        let own = rendered.objects.iter().map(|object| &object.id).collect();
        Self { around, home, beside, clusters, own }
    }

    /// What an object reaches for.
    pub(super) fn judge(
        &self,
        object: &RenderedObject,
        origin: Origin<'_>,
        outside: &mut impl FnMut(FieldPath, Beyond),
    ) {
        let id = &object.id;
        let role = role_of(id);
        let makes_secret = role == Some(KindRole::Secret) || MAKE_SECRETS.contains(&id.kind.as_str());
        if makes_secret && let Some((cluster, folder)) = self.named_after(&id.name) {
            let (cluster, folder) = (cluster.to_owned(), folder.clone());
            outside(FieldPath::root().key("metadata").key("name"), Beyond::NamedAfter { cluster, folder });
        }
        if !matches!(role, Some(KindRole::Secret | KindRole::ConfigMap)) {
            self.names(object, origin, outside);
        }
        if !self.beside.is_empty() {
            self.selects(object, origin, outside);
            self.is_selected(object, origin, outside);
        }
    }

    /// The other folder's cluster that a Secret is named after. `prod-user-kubeconfig` is that of EKS for `prod`, and
    /// everybody's for `prod-user`: where both are there, it is the longer name's, which has no other.
    fn named_after<'n>(&self, name: &'n str) -> Option<(&'n str, &'a ClusterId)> {
        let clusters = PURPOSES.iter().filter_map(|purpose| name.strip_suffix(purpose)?.strip_suffix('-'));
        let is_own = |cluster: &str| self.home.clusters.contains(cluster);
        let known = clusters.filter(|cluster| is_own(cluster) || self.clusters.contains_key(*cluster));
        let longest = known.max_by_key(|cluster| cluster.len()).filter(|cluster| !is_own(cluster))?;
        Some((longest, *self.clusters.get(longest)?))
    }

    /// Secrets and identities of others that an object names.
    fn names(
        &self,
        object: &RenderedObject,
        origin: Origin<'_>,
        outside: &mut impl FnMut(FieldPath, Beyond),
    ) {
        let of_base: Vec<Named> = match origin {
            Origin::Base => Vec::new(),
            Origin::Changed(base) => named(base),
            Origin::Added => Vec::new(),
        };
        for named in named(object) {
            let by_base = matches!(origin, Origin::Base) || of_base.iter().any(|base| base.is_same(&named));
            if let Some(why) = self.of_another(&named, object, by_base) {
                outside(named.field, why);
            }
        }
    }

    fn of_another(&self, named: &Named, object: &RenderedObject, by_base: bool) -> Option<Beyond> {
        let namespace = named.namespace.as_deref().or(object.id.namespace.as_deref());
        if !by_base
            && let Some(elsewhere) = named.namespace.as_ref()
            && !self.home.namespaces.contains(elsewhere)
        {
            return Some(Beyond::NamesOutside { name: named.name.clone(), namespace: elsewhere.clone() });
        }
        let whose = |whose: Whose| !by_base || whose == Whose::Base;
        let another = |id: &ObjectId| self.around.neighbours?.owner_of(id, self.around, whose);
        match &named.what {
            What::Secret => {
                let of_cluster = self.named_after(&named.name).map(|(_, folder)| folder);
                let folder = of_cluster.or_else(|| {
                    let id = id_of("", "Secret", namespace, &named.name);
                    if self.own.contains(&id) { None } else { another(&id) }
                })?;
                Some(Beyond::NeighboursSecret { name: named.name.clone(), folder: folder.clone() })
            }
            What::Identity(kind) => {
                let ids =
                    [namespace, None].map(|namespace| id_of(INFRASTRUCTURE, kind, namespace, &named.name));
                if ids.iter().any(|id| self.own.contains(id)) {
                    return None;
                }
                let folder = ids.iter().find_map(another);
                let of_owner = |id: &ObjectId| self.around.neighbours?.renders_too(id, self.around, |_| true);
                if folder.is_none() && ids.iter().any(|id| of_owner(id).is_some()) {
                    return None;
                }
                // Of an identity that no folder brings, only the base can know that it is meant for this one.
                (folder.is_some() || !by_base).then(|| Beyond::OthersIdentity {
                    name: format!("{kind} {}", named.name),
                    folder: folder.cloned(),
                })
            }
        }
    }

    /// Clusters of others that an object selects.
    fn selects(
        &self,
        object: &RenderedObject,
        origin: Origin<'_>,
        outside: &mut impl FnMut(FieldPath, Beyond),
    ) {
        let of_base: Vec<Selector> = match origin {
            Origin::Changed(base) => {
                selectors(&base.id, &base.value).into_iter().map(|found| found.selector).collect()
            }
            Origin::Base | Origin::Added => Vec::new(),
        };
        for found in selectors(&object.id, &object.value) {
            let by_base = matches!(origin, Origin::Base) || of_base.contains(&found.selector);
            let selects = |cluster: &NamedCluster| {
                let labels = if by_base { &cluster.base_labels } else { &cluster.labels };
                is_within(&object.id, cluster.namespace.as_deref())
                    && found.selector.selects(cluster.namespace.as_deref(), &cluster.name, labels)
            };
            let first = self.beside.iter().find_map(|(id, brought)| {
                Some((*id, brought.clusters.iter().find(|cluster| selects(cluster))?))
            });
            if let Some((folder, cluster)) = first {
                let (cluster, folder) = (cluster.name.clone(), folder.clone());
                outside(found.field, Beyond::SelectsOther { cluster, folder });
            }
        }
    }

    /// Whether an overlay gives its Cluster labels by which another folder's base would select it.
    fn is_selected(
        &self,
        object: &RenderedObject,
        origin: Origin<'_>,
        outside: &mut impl FnMut(FieldPath, Beyond),
    ) {
        let Origin::Changed(base) = origin else { return };
        let (before, after): (Labels, Labels) = (labels(&base.value), labels(&object.value));
        if !is_cluster(&object.id) || before == after {
            return;
        }
        let (namespace, name) = (object.id.namespace.as_deref(), object.id.name.as_str());
        let all = self.beside.iter().flat_map(|(id, brought)| {
            brought.selectors.iter().map(move |(selecting, selector)| (*id, selecting, selector))
        });
        let mut newly = all.filter(|(_, selecting, selector)| {
            is_within(selecting, namespace)
                && selector.selects(namespace, name, &after)
                && !selector.selects(namespace, name, &before)
        });
        if let Some((folder, by, _)) = newly.next() {
            let field = FieldPath::root().key("metadata").key("labels");
            outside(field, Beyond::SelectedByOther { by: by.clone(), folder: folder.clone() });
        }
    }
}

fn id_of(group: &str, kind: &str, namespace: Option<&str>, name: &str) -> ObjectId {
    let namespace = namespace.map(str::to_owned);
    ObjectId { group: group.to_owned(), kind: kind.to_owned(), namespace, name: name.to_owned() }
}

/// Whether an object can select Clusters of a namespace: those of its own, or all where it has none.
fn is_within(selecting: &ObjectId, namespace: Option<&str>) -> bool {
    selecting.namespace.is_none() || selecting.namespace.as_deref() == namespace
}
