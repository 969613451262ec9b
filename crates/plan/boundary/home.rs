//! The namespaces of a cluster folder, and which kinds have one (U2, in `merge::matching`).
//!
//! The base alone decides: an overlay that could move the `Cluster` would choose its own boundary, and with
//! it the service account that it is applied by.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::outside::{Beyond, ForeignObject};
use capstan_kustomize::render::{PlacedContent, PlacedValue, RenderedFolder, RenderedObject};
use capstan_model::kinds::{KindRole, is_cluster, role_of};
use capstan_model::object::{FieldPath, ObjectId};

/// Whether objects of a kind have a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KindScope {
    /// Each object is in a namespace.
    Namespaced,
    /// They belong to the whole management cluster.
    Cluster,
}

/// The scopes of kinds, from the API server's discovery.
#[derive(Debug, Clone, Default)]
pub struct Scopes(BTreeMap<(String, String), KindScope>);

/// Kinds without a namespace: group and kind. Those that every API server has, and those of providers that are asked
/// about before a merge, when no API server is.
const CLUSTER_SCOPED: &[(&str, &str)] = &[
    ("", "Namespace"),
    ("", "Node"),
    ("", "PersistentVolume"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("apiregistration.k8s.io", "APIService"),
    ("certificates.k8s.io", "CertificateSigningRequest"),
    ("config.projectsveltos.io", "ClusterProfile"),
    ("infrastructure.cluster.x-k8s.io", "AWSClusterControllerIdentity"),
    ("infrastructure.cluster.x-k8s.io", "AWSClusterRoleIdentity"),
    ("infrastructure.cluster.x-k8s.io", "AWSClusterStaticIdentity"),
    ("infrastructure.cluster.x-k8s.io", "OpenStackClusterIdentity"),
    ("infrastructure.cluster.x-k8s.io", "VSphereClusterIdentity"),
    ("infrastructure.cluster.x-k8s.io", "VSphereDeploymentZone"),
    ("infrastructure.cluster.x-k8s.io", "VSphereFailureDomain"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("runtime.cluster.x-k8s.io", "ExtensionConfig"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("storage.k8s.io", "StorageClass"),
];

impl Scopes {
    /// What discovery says of a kind.
    pub fn insert(&mut self, group: &str, kind: &str, scope: KindScope) {
        self.0.insert((group.to_owned(), kind.to_owned()), scope);
    }

    /// The scope of a kind. `None` if it is unknown, as for a kind that the API server does not serve.
    pub fn of(&self, group: &str, kind: &str) -> Option<KindScope> {
        let declared = self.0.get(&(group.to_owned(), kind.to_owned())).copied();
        declared.or_else(|| CLUSTER_SCOPED.contains(&(group, kind)).then_some(KindScope::Cluster))
    }

    /// An unknown kind counts as namespaced, so that it stays inside the boundary.
    pub(super) fn has_namespace(&self, id: &ObjectId) -> bool {
        self.of(&id.group, &id.kind) != Some(KindScope::Cluster)
    }
}

/// The namespaces of a folder, and its Clusters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FolderHome {
    /// The namespaces of its `Cluster`s; where it has none, the one namespace of all its objects, or else
    /// the one that it brings itself.
    pub(super) namespaces: BTreeSet<String>,
    /// The names of its `Cluster`s.
    pub(super) clusters: BTreeSet<String>,
}

impl FolderHome {
    /// The home of a folder whose base does not determine a namespace.
    pub(super) fn elsewhere(rendered: &RenderedFolder) -> Self {
        let clusters = rendered.base_objects().iter().filter(|object| is_cluster(&object.id));
        let clusters = clusters.map(|object| object.id.name.clone()).collect();
        Self { namespaces: BTreeSet::new(), clusters }
    }

    /// The namespace of an object that names none; `None` where the folder has several, or nothing at all.
    pub fn namespace(&self) -> Option<&str> {
        let mut all = self.namespaces.iter();
        all.next().filter(|_| all.next().is_none()).map(String::as_str)
    }

    /// Whether a namespace is one of its own.
    pub(super) fn holds(&self, namespace: &str) -> bool {
        self.namespaces.contains(namespace)
    }

    /// Its namespaces: those of its `Cluster`s.
    pub fn namespaces(&self) -> impl Iterator<Item = &str> {
        self.namespaces.iter().map(String::as_str)
    }

    /// The names of its `Cluster`s; empty for a folder whose cluster is made by a chart.
    pub fn clusters(&self) -> impl Iterator<Item = &str> {
        self.clusters.iter().map(String::as_str)
    }
}

/// Finds the namespaces of a folder. An object that names no namespace gets the folder's. A cluster-scoped object
/// loses the namespace that it names. Call this before templates get their names.
///
/// # Errors
/// The object whose namespace the base does not determine.
pub fn place_in_namespaces(
    rendered: &mut RenderedFolder,
    scopes: &Scopes,
) -> Result<FolderHome, Box<ForeignObject>> {
    let home = find(rendered.base_objects(), scopes)?;
    let base = rendered.base.iter_mut().flatten();
    for object in rendered.objects.iter_mut().chain(base) {
        if !scopes.has_namespace(&object.id) {
            take_namespace(object);
        } else if object.id.namespace.is_none() {
            let Some(namespace) = home.namespace() else {
                return Err(Box::new(ForeignObject::of(object, FieldPath::root(), Beyond::NoNamespace)));
            };
            give_namespace(object, namespace);
        }
    }
    Ok(home)
}

fn find(base: &[RenderedObject], scopes: &Scopes) -> Result<FolderHome, Box<ForeignObject>> {
    let clusters: Vec<&RenderedObject> = base.iter().filter(|object| is_cluster(&object.id)).collect();
    let named = |object: &RenderedObject| object.id.namespace.clone();
    let mut home = FolderHome {
        namespaces: clusters.iter().filter_map(|cluster| named(cluster)).collect(),
        clusters: clusters.iter().map(|cluster| cluster.id.name.clone()).collect(),
    };
    if home.namespaces.is_empty() {
        // The namespaces of a set are its providers'.
        let is_set = base.iter().any(is_provider);
        let housed = base.iter().filter(|object| scopes.has_namespace(&object.id));
        home.namespaces = housed.filter(|object| !is_set || is_provider(object)).filter_map(named).collect();
        if home.namespaces.is_empty() {
            let brought =
                base.iter().filter(|object| object.id.group.is_empty() && object.id.kind == "Namespace");
            home.namespaces = brought.map(|object| object.id.name.clone()).collect();
        }
        // Without a Cluster that names one, only a namespace that all share can be meant; each provider of a set has its
        // own, which it names.
        let says_each = is_set && clusters.is_empty() && !home.namespaces.is_empty();
        if home.namespaces.len() != 1
            && !says_each
            && let Some(object) = clusters.first().copied().or_else(|| base.first())
        {
            return Err(Box::new(ForeignObject::of(object, FieldPath::root(), Beyond::NoNamespace)));
        }
    }
    Ok(home)
}

fn is_provider(object: &RenderedObject) -> bool {
    role_of(&object.id) == Some(KindRole::Provider)
}

fn give_namespace(object: &mut RenderedObject, namespace: &str) {
    object.id.namespace = Some(namespace.to_owned());
    if let Some(metadata) = object.value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("namespace".to_owned(), Value::from(namespace));
    }
    if let Some(metadata) = object.placed.field_mut("metadata") {
        let placed = PlacedValue::from_value(&Value::from(namespace), &metadata.place);
        if let PlacedContent::Mapping(entries) = &mut metadata.content {
            entries.retain(|(key, _)| key != "namespace");
            entries.push(("namespace".to_owned(), placed));
        }
    }
}

fn take_namespace(object: &mut RenderedObject) {
    object.id.namespace = None;
    if let Some(metadata) = object.value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove("namespace");
    }
    if let Some(metadata) = object.placed.field_mut("metadata")
        && let PlacedContent::Mapping(entries) = &mut metadata.content
    {
        entries.retain(|(key, _)| key != "namespace");
    }
}
