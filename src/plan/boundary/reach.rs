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
use super::text;
use capstan_kustomize::render::{Rendered, RenderedObject};
use capstan_model::ids::ClusterId;
use capstan_model::kinds::{KindRole, is_cluster, names, role_of};
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

const CLUSTER_GROUP: &str = "cluster.x-k8s.io";

/// A Cluster as it stands on the management cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveCluster {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its labels.
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

/// Whether what is named is a kubeconfig by which another controller reaches a cluster.
fn is_kubeconfig(named: &Named) -> bool {
    let field = named.field.to_string();
    named.what == What::Secret
        && ["/spec/kubeConfig/secretRef/name", "/spec/kubeConfig/secret/name"].contains(&field.as_str())
}

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
    /// Secrets of whose kubeconfigs its base makes use.
    kubeconfigs: BTreeSet<String>,
}

impl<'a> Reach<'a> {
    pub(super) fn of(rendered: &'a Rendered, home: &'a Home, around: &'a Surroundings<'a>) -> Self {
        let beside = around.neighbours.map(|all| all.beside(home, around)).unwrap_or_default();
        let clusters = beside
            .iter()
            .flat_map(|(id, brought)| brought.clusters.iter().map(|cluster| (cluster.name.as_str(), *id)));
        let clusters = clusters.collect();
        let own = rendered.objects.iter().map(|object| &object.id).collect();
        let of_base = rendered.base_objects().iter().flat_map(named);
        let kubeconfigs = of_base.filter(is_kubeconfig).map(|named| named.name).collect();
        Self { around, home, beside, clusters, own, kubeconfigs }
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
        // The Secret that is made for a reference to Vault may have a name of its own.
        if role == Some(KindRole::Secret)
            && let Some(name) = text(&object.value, "/spec/secret/name")
            && let Some((cluster, folder)) = self.named_after(name)
        {
            let (cluster, folder) = (cluster.to_owned(), folder.clone());
            let field = FieldPath::root().key("spec").key("secret").key("name");
            outside(field, Beyond::NamedAfter { cluster, folder });
        }
        if !matches!(role, Some(KindRole::Secret | KindRole::ConfigMap)) {
            self.names(object, origin, outside);
        }
        self.selects(object, origin, outside);
        if !self.beside.is_empty() {
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
            } else if matches!(origin, Origin::Added)
                && is_kubeconfig(&named)
                && !self.is_own_kubeconfig(&named.name)
            {
                outside(named.field, Beyond::OthersKubeconfig { name: named.name });
            }
        }
    }

    /// Whether a Secret holds the kubeconfig of one of the folder's clusters. Of clusters that a chart makes the base
    /// alone can know.
    fn is_own_kubeconfig(&self, secret: &str) -> bool {
        let of_cluster = ["-kubeconfig", "-user-kubeconfig"].iter().find_map(|purpose| {
            secret.strip_suffix(purpose).filter(|cluster| self.home.clusters.contains(*cluster))
        });
        of_cluster.is_some() || self.kubeconfigs.contains(secret)
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
            } else if let Selector::Named { kind, namespace, name } = found.selector
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

    /// Whether a cluster that is named is one of the folder's. Of one whose Cluster a chart makes nobody knows the name.
    fn is_own(&self, kind: Option<&str>, namespace: Option<&str>, name: &str) -> bool {
        let home = self.home;
        kind.is_none_or(|kind| kind == names::CLUSTER)
            && namespace.is_none_or(|namespace| home.namespaces.contains(namespace))
            && (home.clusters.is_empty()
                || home.clusters.contains(name)
                || self.is_of_owner(&id_of(CLUSTER_GROUP, names::CLUSTER, namespace, name)))
    }

    /// Whether another folder of the same owner brings an object.
    fn is_of_owner(&self, id: &ObjectId) -> bool {
        self.around.neighbours.is_some_and(|all| {
            all.renders_too(id, self.around, |_| true).is_some()
                && all.owner_of(id, self.around, |_| true).is_none()
        })
    }

    /// The first of these live Clusters that an overlay's object selects, and that is neither the folder's nor one of its
    /// owner's.
    pub(super) fn strangers(
        &self,
        object: &RenderedObject,
        origin: Origin<'_>,
        live: &[LiveCluster],
        outside: &mut impl FnMut(FieldPath, Beyond),
    ) {
        let of_base = match origin {
            Origin::Base => return,
            Origin::Changed(base) => selectors(&base.id, &base.value),
            Origin::Added => Vec::new(),
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
