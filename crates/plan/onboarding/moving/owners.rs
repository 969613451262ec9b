//! Which cluster each object of a folder belongs to.
//!
//! | the object | belongs to |
//! |---|---|
//! | is what makes a folder a cluster | that cluster |
//! | says `spec.clusterName`, or the label `cluster.x-k8s.io/cluster-name` | the cluster of that name |
//! | is named by objects that belong to clusters | these clusters |
//! | has the cluster's name, whole or before `-` | that cluster, where nothing else tells |
//! | is a class, a Namespace, an identity, or brings something into clusters that it selects | all clusters |

use std::collections::{BTreeMap, BTreeSet};

use crate::onboarding::survey::CLUSTER_LABEL;
use capstan_model::finding::Place;
use capstan_model::kinds::naming::{self, Meaning};
use capstan_model::kinds::{KindRole, is_cluster_api, role};
use capstan_yaml::manifest::group_and_kind;
use capstan_yaml::{Node, NodeKind};

/// A cluster of the folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Resident {
    pub(super) name: String,
    pub(super) namespace: Option<String>,
}

/// Who has an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Belonging {
    /// The cluster of that index.
    Resident(usize),
    /// Any cluster may use it.
    Everybody,
}

/// Why it cannot be said who has an object, and what to do.
#[derive(Debug)]
pub(super) struct Unclear {
    pub(super) place: Place,
    pub(super) message: String,
}

/// An object of the folder.
pub(super) struct Owned<'n> {
    pub(super) place: Place,
    /// `MachineDeployment acme/a-md-0`.
    pub(super) words: String,
    pub(super) owners: BTreeSet<Belonging>,
    node: &'n Node,
    group: &'n str,
    kind: &'n str,
    name: &'n str,
    namespace: Option<&'n str>,
    role: Option<KindRole>,
    /// It says itself whose it is.
    is_settled: bool,
}

impl<'n> Owned<'n> {
    /// An object that says what it is; `None` for anything else.
    pub(super) fn of(node: &'n Node, place: Place) -> Option<Self> {
        let (group, kind) = group_and_kind(node)?;
        let metadata = node.get("metadata")?;
        let (name, namespace) = (metadata.text_at("name")?, metadata.text_at("namespace"));
        let namespaced = namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
        Some(Self {
            place,
            words: format!("{kind} {namespaced}{name}"),
            owners: BTreeSet::new(),
            node,
            group,
            kind,
            name,
            namespace,
            role: role(group, kind),
            is_settled: false,
        })
    }

    /// The cluster that it is, where it is one by which the folder is crowded.
    pub(super) fn resident(&self) -> Resident {
        Resident { name: self.name.to_owned(), namespace: self.namespace.map(str::to_owned) }
    }

    /// What it names: kinds and names, and namespaces where it says them.
    pub(super) fn names(&self) -> Vec<(String, String, Option<String>)> {
        let named = names_of(self).into_iter();
        let namespace = |named: &NamedObject<'_>| named.namespace.or(self.namespace).map(str::to_owned);
        named.map(|named| (named.kind.to_owned(), named.name.to_owned(), namespace(&named))).collect()
    }

    /// Whether it has no meaning without a cluster.
    const fn needs_a_cluster(&self) -> bool {
        matches!(
            self.role,
            Some(
                KindRole::Cluster
                    | KindRole::ControlPlane(_)
                    | KindRole::Workers(_)
                    | KindRole::Machine
                    | KindRole::Pool(_)
                    | KindRole::MachineInfrastructure
                    | KindRole::InfrastructureCluster
                    | KindRole::Template
                    | KindRole::DataTemplate
                    | KindRole::BootstrapConfig
                    | KindRole::HealthCheck
            )
        )
    }

    fn is_everybodys(&self) -> bool {
        let selects = |spec: &Node| spec.get("clusterSelector").is_some();
        let role = matches!(
            self.role,
            Some(
                KindRole::Class
                    | KindRole::ResourceSet
                    | KindRole::Identity
                    | KindRole::Provider
                    | KindRole::Namespace
            )
        );
        role || self.node.get("spec").is_some_and(selects)
    }

    /// The names of the clusters that it says it belongs to.
    fn clusters_named(&self) -> BTreeSet<&'n str> {
        let spec = self.node.get("spec").and_then(|spec| spec.text_at("clusterName"));
        let labels = self.node.get("metadata").and_then(|metadata| metadata.get("labels"));
        spec.into_iter().chain(labels.and_then(|labels| labels.text_at(CLUSTER_LABEL))).collect()
    }

    fn means(&self, resident: &Resident, name: &str) -> bool {
        resident.name == name && fits(self.namespace, resident.namespace.as_deref())
    }

    /// The cluster whose name it has; of several the longest.
    fn namesake(&self, residents: &[Resident]) -> Option<usize> {
        let named = |resident: &Resident| {
            let rest = self.name.strip_prefix(resident.name.as_str());
            let fits_name = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
            fits_name && fits(self.namespace, resident.namespace.as_deref())
        };
        let can_be =
            is_cluster_api(self.group) || matches!(self.role, Some(KindRole::ConfigMap | KindRole::Secret));
        let mut all: Vec<(usize, &Resident)> =
            residents.iter().enumerate().filter(|(_, resident)| can_be && named(resident)).collect();
        all.sort_by_key(|(_, resident)| resident.name.len());
        all.last().map(|(at, _)| *at)
    }
}

/// Two namespaces may be the same one: what says none may be anywhere.
pub(super) fn fits(one: Option<&str>, other: Option<&str>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    }
}

/// Says of each object whose it is; those of `roots` are clusters themselves, in the order of `residents`.
pub(super) fn settle(
    objects: &mut [Owned<'_>],
    residents: &[Resident],
    roots: &BTreeSet<Place>,
) -> Vec<Unclear> {
    let mut unclear = Vec::new();
    for object in objects.iter_mut() {
        if let Err(why) = claim(object, residents, roots) {
            unclear.push(Unclear { place: object.place.clone(), message: why });
        }
    }
    follow(objects);
    for object in objects.iter_mut().filter(|object| object.owners.is_empty()) {
        object.owners.extend(object.namesake(residents).map(Belonging::Resident));
    }
    // An object that got its owner by its name passes it on to the objects that it names.
    follow(objects);
    let is_known = |object: &Owned<'_>| unclear.iter().any(|known: &Unclear| known.place == object.place);
    let orphans: Vec<Unclear> = objects
        .iter()
        .filter(|object| object.owners.is_empty() && object.needs_a_cluster() && !is_known(object))
        .map(|object| Unclear {
            place: object.place.clone(),
            message: format!(
                "no cluster of this folder names {}, so Capstan cannot tell to which it belongs: give it the label `{CLUSTER_LABEL}`, or remove it",
                object.words
            ),
        })
        .collect();
    unclear.extend(orphans);
    unclear
}

/// What an object says of itself.
fn claim(object: &mut Owned<'_>, residents: &[Resident], roots: &BTreeSet<Place>) -> Result<(), String> {
    if roots.contains(&object.place) {
        let own = object.resident();
        object.owners.extend(residents.iter().position(|resident| *resident == own).map(Belonging::Resident));
        object.is_settled = true;
        return Ok(());
    }
    if object.is_everybodys() {
        object.owners.insert(Belonging::Everybody);
        object.is_settled = true;
        return Ok(());
    }
    let named = object.clusters_named();
    for name in &named {
        if name.contains(['$', '{']) {
            return Err(format!(
                "{} belongs to the cluster `{name}`, whose name is a variable: write its name",
                object.words
            ));
        }
        let Some(at) = residents.iter().position(|resident| object.means(resident, name)) else {
            return Err(format!(
                "{} belongs to the cluster `{name}`, which is not in this folder: move it to the folder of that cluster",
                object.words
            ));
        };
        object.owners.insert(Belonging::Resident(at));
        object.is_settled = true;
    }
    if object.owners.len() > 1 {
        let named: Vec<String> = named.iter().map(|name| format!("`{name}`")).collect();
        return Err(format!(
            "{} says that it belongs to {}: `spec.clusterName` and the label `{CLUSTER_LABEL}` must name the same cluster",
            object.words,
            named.join(" and to ")
        ));
    }
    Ok(())
}

/// An object passes its owners on to the objects that it names, unless those state their own owner.
fn follow(objects: &mut [Owned<'_>]) {
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, object) in objects.iter().enumerate() {
        by_name.entry(object.name).or_default().push(at);
    }
    let meant = |object: &Owned<'_>| -> Vec<usize> {
        let found = names_of(object);
        let called = found.iter().flat_map(|name| {
            let same = by_name.get(name.name).map(Vec::as_slice).unwrap_or_default();
            same.iter().copied().filter(|at| objects.get(*at).is_some_and(|other| name.means(object, other)))
        });
        called.collect()
    };
    let named: Vec<Vec<usize>> = objects.iter().map(meant).collect();
    let mut open: Vec<usize> = (0..objects.len()).collect();
    while let Some(at) = open.pop() {
        let owners = objects.get(at).map(|object| object.owners.clone()).unwrap_or_default();
        for target in named.get(at).map(Vec::as_slice).unwrap_or_default() {
            let Some(object) = objects.get_mut(*target).filter(|object| !object.is_settled) else { continue };
            let before = object.owners.len();
            object.owners.extend(owners.iter().copied());
            if object.owners.len() > before {
                open.push(*target);
            }
        }
    }
}

/// What an object names.
struct NamedObject<'n> {
    kind: &'n str,
    name: &'n str,
    namespace: Option<&'n str>,
}

impl NamedObject<'_> {
    fn means(&self, owner: &Owned<'_>, other: &Owned<'_>) -> bool {
        self.kind.eq_ignore_ascii_case(other.kind)
            && fits(self.namespace.or(owner.namespace), other.namespace)
    }
}

fn names_of<'n>(object: &Owned<'n>) -> Vec<NamedObject<'n>> {
    let mut found = Vec::new();
    for entry in object.node.as_mapping().unwrap_or_default() {
        if entry.key != "metadata" {
            find_names(object.kind, &entry.value, &mut vec![entry.key.as_str()], &mut found);
        }
    }
    found
}

fn find_names<'n>(kind: &str, node: &'n Node, keys: &mut Vec<&'n str>, found: &mut Vec<NamedObject<'n>>) {
    let last = keys.last().copied().unwrap_or_default();
    let by_key = || match naming::meaning(kind, keys) {
        Some(Meaning::Names(kind)) => Some(kind),
        Some(_) => None,
        None => naming::kind_of_reference(last),
    };
    match &node.kind {
        NodeKind::Mapping(entries) => {
            if let Some(name) = node.text_at("name")
                && let Some(kind) = node.text_at("kind").or_else(by_key)
            {
                found.push(NamedObject { kind, name, namespace: node.text_at("namespace") });
            }
            for entry in entries {
                keys.push(&entry.key);
                find_names(kind, &entry.value, keys, found);
                keys.pop();
            }
        }
        NodeKind::Sequence(items) => items.iter().for_each(|item| find_names(kind, item, keys, found)),
        NodeKind::Scalar(scalar) => {
            let is_name = naming::is_name(last) || naming::meaning(kind, keys).is_some();
            if let Some(kind) = by_key().filter(|_| is_name) {
                found.push(NamedObject { kind, name: &scalar.text, namespace: None });
            }
        }
    }
}
