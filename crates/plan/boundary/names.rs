//! Whether what an object names is the folder's to name.
//!
//! From an overlay only into the folder's own objects: those that it renders, and those that controllers make of them.
//! What the base names itself in the same field, an overlay may name there too: the machines that a customer adds use
//! the login that the platform team gave the others. What cannot be judged is refused. A base is asked for one thing
//! alone: whether it names Secrets and identities that another folder's base brings.

use std::collections::{BTreeSet, HashMap};

use super::controllers::is_bases_own;
use super::home::FolderHome;
use super::neighbours::Surroundings;
use super::neighbours::Whose;
use super::origin::BoundaryOrigin;
use super::outside::Beyond;
use super::references::{NamedReference, ReferenceTarget, named, values_of_chart};
use super::trusted::{Trusted, brings};
use capstan_kustomize::render::{RenderedFolder, RenderedObject};
use capstan_model::kinds::naming::MADE_SECRETS;
use capstan_model::kinds::{is_cluster_api, names};
use capstan_model::object::{FieldPath, ObjectId, Step};

/// The API group of providers' identities.
const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";

/// What a base names, and in which field of which API group: group, keys, what, name, namespace.
type NameUse = (String, Vec<String>, ReferenceTarget, String, Option<String>);

/// What a folder may name.
pub(super) struct Names<'a> {
    around: &'a Surroundings<'a>,
    home: &'a FolderHome,
    trusted: &'a Trusted<'a>,
    /// What the folder brings, by name.
    own: HashMap<&'a str, Vec<&'a ObjectId>>,
    /// Secrets that are made for what it brings: namespace and name.
    made: BTreeSet<(Option<&'a str>, String)>,
    /// What its base names.
    of_base: BTreeSet<NameUse>,
}

impl<'a> Names<'a> {
    pub(super) fn of(
        rendered: &'a RenderedFolder,
        home: &'a FolderHome,
        around: &'a Surroundings<'a>,
        trusted: &'a Trusted<'a>,
    ) -> Self {
        let mut own: HashMap<&str, Vec<&ObjectId>> = HashMap::new();
        let mut made = BTreeSet::new();
        for object in &rendered.objects {
            own.entry(&object.id.name).or_default().push(&object.id);
            let namespace = object.id.namespace.as_deref();
            made.extend(brings(object).into_iter().map(|(name, _)| (namespace, name.to_owned())));
            let of_kind = MADE_SECRETS.iter().filter(|(kind, _)| *kind == object.id.kind);
            made.extend(of_kind.map(|(_, ending)| (namespace, format!("{}{ending}", object.id.name))));
        }
        let base = rendered.base_objects().iter();
        let uses = base.flat_map(|object| named(object).into_iter().map(move |named| used(object, named)));
        Self { around, home, trusted, own, made, of_base: uses.collect() }
    }

    /// What an object names that it may not.
    pub(super) fn judge(
        &self,
        object: &RenderedObject,
        origin: BoundaryOrigin<'_>,
        outside: &mut impl FnMut(FieldPath, Beyond),
    ) {
        for named in named(object) {
            let is_bases =
                matches!(origin, BoundaryOrigin::Base) || self.of_base.contains(&used(object, named.clone()));
            let why = if is_bases {
                self.named_by_base(&named, object)
            } else {
                self.named_by_overlay(&named, object, origin)
            };
            if let Some(why) = why {
                outside(named.field, why);
            }
        }
    }

    fn named_by_base(&self, named: &NamedReference, object: &RenderedObject) -> Option<Beyond> {
        let namespace = named.namespace.as_deref().or(object.id.namespace.as_deref());
        match &named.what {
            ReferenceTarget::Secret => self.anothers_secret(named, namespace, |whose| whose == Whose::Base),
            ReferenceTarget::Identity(kind) => {
                self.anothers_identity(kind, named, namespace, |whose| whose == Whose::Base)
            }
            _ => None,
        }
    }

    fn named_by_overlay(
        &self,
        named: &NamedReference,
        object: &RenderedObject,
        origin: BoundaryOrigin<'_>,
    ) -> Option<Beyond> {
        // `reach` judges what these fields select by name.
        let selects = |key: &str| named.field.starts_with(&FieldPath::of_keys(["spec", key]));
        if selects("clusterRefs")
            || selects("setRefs")
            || matches!(origin, BoundaryOrigin::Changed(_)) && is_bases_own(&object.id, &named.field)
        {
            return None;
        }
        if let Some(elsewhere) = named.namespace.as_ref().filter(|named| !self.home.holds(named)) {
            let name = Some(shown(named)).filter(|name| !name.is_empty());
            let name = name.unwrap_or_else(|| "anything".to_owned());
            return Some(Beyond::NamesOutside { name, namespace: elsewhere.clone() });
        }
        let namespace = named.namespace.as_deref().or(object.id.namespace.as_deref());
        match &named.what {
            ReferenceTarget::Namespace => None,
            ReferenceTarget::Exists => Some(Beyond::Exists),
            ReferenceTarget::HostPath => Some(Beyond::HostPath),
            ReferenceTarget::Server => Some(Beyond::Server),
            ReferenceTarget::Unclear => Some(Beyond::Unclear),
            ReferenceTarget::Secret => self.secret(named, namespace),
            ReferenceTarget::Identity(kind) => self.identity(kind, named, namespace),
            ReferenceTarget::Object(kind) => self.object(kind.as_deref(), named, object, namespace),
        }
    }

    fn secret(&self, named: &NamedReference, namespace: Option<&str>) -> Option<Beyond> {
        let name = &named.name;
        if let Some(why) = self.anothers_secret(named, namespace, |_| true) {
            return Some(why);
        }
        if named.is_kubeconfig() {
            let is_own = self.trusted.is_own_kubeconfig(namespace, name);
            return (!is_own).then(|| Beyond::OthersKubeconfig { name: name.clone() });
        }
        let mut clusters = self.trusted.clusters_of(name);
        let is_own = self.made.contains(&(namespace, name.clone()))
            || self.trusted.is_own_clusters(name)
            || clusters.any(|cluster| self.is_of_owner(&id_of(CLUSTER_GROUP, names::CLUSTER, namespace, cluster)))
            || self.is_of_owner(&id_of("", SECRET, namespace, name))
            // The chart may create the Secret that its values name.
            || named.field.starts_with(&values_of_chart());
        (!is_own).then(|| Beyond::NotBrought { kind: Some(SECRET.to_owned()), name: shown(named) })
    }

    fn anothers_secret(
        &self,
        named: &NamedReference,
        namespace: Option<&str>,
        whose: impl Fn(Whose) -> bool,
    ) -> Option<Beyond> {
        let of_cluster = self.trusted.named_after(&named.name).map(|(_, folder)| folder);
        let folder = of_cluster.or_else(|| {
            let id = id_of("", SECRET, namespace, &named.name);
            if self.brings(&id) { None } else { self.around.neighbours?.owner_of(&id, self.around, whose) }
        })?;
        Some(Beyond::NeighboursSecret { name: named.name.clone(), folder: folder.clone() })
    }

    /// Of an identity that no folder brings, only the base can know that it is meant for this one.
    fn identity(&self, kind: &str, named: &NamedReference, namespace: Option<&str>) -> Option<Beyond> {
        if let Some(why) = self.anothers_identity(kind, named, namespace, |_| true) {
            return Some(why);
        }
        let mut ids = identities(kind, namespace, &named.name).into_iter();
        let is_own = ids.any(|id| self.brings(&id) || self.is_of_owner(&id));
        (!is_own).then(|| Beyond::OthersIdentity { name: spelled(kind, &named.name), folder: None })
    }

    fn anothers_identity(
        &self,
        kind: &str,
        named: &NamedReference,
        namespace: Option<&str>,
        whose: impl Fn(Whose) -> bool,
    ) -> Option<Beyond> {
        let ids = identities(kind, namespace, &named.name);
        if ids.iter().any(|id| self.brings(id)) {
            return None;
        }
        let another = |id: &ObjectId| self.around.neighbours?.owner_of(id, self.around, &whose);
        let folder = ids.iter().find_map(another)?.clone();
        Some(Beyond::OthersIdentity { name: spelled(kind, &named.name), folder: Some(folder) })
    }

    fn object(
        &self,
        kind: Option<&str>,
        named: &NamedReference,
        object: &RenderedObject,
        namespace: Option<&str>,
    ) -> Option<Beyond> {
        // `marks` judges the cluster that an object belongs to.
        let is_clusters = is_cluster_api(&object.id.group)
            && named.field == FieldPath::of_keys(["spec", "clusterRef", "name"])
            && !self.home.clusters.is_empty();
        let is_meant = |id: &&ObjectId| {
            kind.map_or_else(|| is_called(named.called(), &id.kind), |kind| id.kind == kind)
                && named.group.as_ref().is_none_or(|group| *group == id.group)
                && (id.namespace.is_none() || id.namespace.as_deref() == namespace)
        };
        let own = self.own.get(named.name.as_str()).into_iter().flatten().copied();
        if is_clusters || own.into_iter().any(|id| is_meant(&id)) {
            return None;
        }
        if let Some(kind) = kind {
            let group = named.group.as_deref().unwrap_or(&object.id.group);
            let ids = [namespace, None].map(|namespace| id_of(group, kind, namespace, &named.name));
            let another = |id: &ObjectId| self.around.neighbours?.owner_of(id, self.around, |_| true);
            if let Some(folder) = ids.iter().find_map(another) {
                let (name, folder) = (spelled(kind, &named.name), folder.clone());
                return Some(Beyond::NeighboursObject { name, folder });
            }
            if ids.iter().any(|id| self.is_of_owner(id)) {
                return None;
            }
        }
        Some(Beyond::NotBrought { kind: kind.map(str::to_owned), name: named.name.clone() })
    }

    fn brings(&self, id: &ObjectId) -> bool {
        self.own.get(id.name.as_str()).is_some_and(|all| all.contains(&id))
    }

    /// Whether another folder of the same owner brings an object.
    fn is_of_owner(&self, id: &ObjectId) -> bool {
        self.around.neighbours.is_some_and(|all| all.is_of_owner(id, self.around))
    }
}

pub(super) const CLUSTER_GROUP: &str = "cluster.x-k8s.io";
const SECRET: &str = "Secret";

fn used(object: &RenderedObject, named: NamedReference) -> NameUse {
    let namespace = named.namespace.or_else(|| object.id.namespace.clone());
    (object.id.group.clone(), named.keys, named.what, named.name, namespace)
}

/// Whether a reference that says no kind can mean one: `imageRef` an `Image`, `classRef` a `ClusterClass`.
fn is_called(key: &str, kind: &str) -> bool {
    let endings = ["Refs", "Ref", "References", "Reference"];
    let stem = endings.iter().find_map(|ending| key.strip_suffix(ending)).unwrap_or(key);
    !stem.is_empty() && kind.to_ascii_lowercase().ends_with(&stem.to_ascii_lowercase())
}

/// A name as messages show it. The text of a field such as `clientSecret` may be the secret itself, so it is not
/// shown.
fn shown(named: &NamedReference) -> String {
    let is_text = named.field.steps().last() != Some(&Step::Key("name".to_owned()));
    let may_be_secret =
        is_text && named.called().to_ascii_lowercase().trim_end_matches('s').ends_with("secret");
    if may_be_secret { String::new() } else { named.name.clone() }
}

/// An identity has a namespace or has none, by its kind.
fn identities(kind: &str, namespace: Option<&str>, name: &str) -> [ObjectId; 2] {
    [namespace, None].map(|namespace| id_of(INFRASTRUCTURE, kind, namespace, name))
}

fn spelled(kind: &str, name: &str) -> String {
    if kind.is_empty() { name.to_owned() } else { format!("{kind} {name}") }
}

pub(super) fn id_of(group: &str, kind: &str, namespace: Option<&str>, name: &str) -> ObjectId {
    let namespace = namespace.map(str::to_owned);
    ObjectId { group: group.to_owned(), kind: kind.to_owned(), namespace, name: name.to_owned() }
}
