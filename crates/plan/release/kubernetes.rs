//! What objects and fragments say about Kubernetes' version, about infrastructure and about providers.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use capstan_model::kinds::{
    Keys, KindRole, VersionRole, is_of_operator, role_of_fragment, version_fields_of_fragment,
};
use capstan_model::object::api_group;
use capstan_model::version::KubernetesVersion;
use capstan_yaml::manifest::objects;
use capstan_yaml::{Node, YamlFile};

/// The version that documents ask for: the control plane's, else the newest of the workers'; `None`
/// where none says one. Wrapped fragments count, and variables that `variables` binds or that have a
/// default.
pub(crate) fn kubernetes_version<'a>(
    documents: impl Iterator<Item = &'a Node>,
    variables: &BTreeMap<String, String>,
) -> Option<KubernetesVersion> {
    let mut best: Option<(VersionRole, KubernetesVersion)> = None;
    for root in documents {
        for document in unwrapped(root) {
            for (role, text) in versions(&document) {
                let Some(version) =
                    KubernetesVersion::parse(&crate::substitution::substituted(&text, variables))
                else {
                    continue;
                };
                let is_better = best.as_ref().is_none_or(|(best_role, best_version)| {
                    role > *best_role
                        || role == *best_role && version.compare(best_version) == Some(Ordering::Greater)
                });
                if is_better {
                    best = Some((role, version));
                }
            }
        }
    }
    best.map(|(_, version)| version)
}

/// The versions of Kubernetes that ClusterClasses among documents list, class by class; those that list none are left
/// out.
pub(crate) fn class_versions<'a>(documents: impl Iterator<Item = &'a Node>) -> Vec<Vec<KubernetesVersion>> {
    let of_class = |root: &Node| -> Vec<KubernetesVersion> {
        let group = root.text_at("apiVersion").map(api_group);
        if root.text_at("kind").and_then(|kind| role_of_fragment(group, kind)) != Some(KindRole::Class) {
            return Vec::new();
        }
        let listed = root.get("spec").and_then(|spec| spec.get("kubernetesVersions"));
        let items = listed.and_then(Node::as_sequence).unwrap_or_default();
        items.iter().filter_map(|version| KubernetesVersion::parse(version.as_str()?)).collect()
    };
    documents.map(of_class).filter(|listed| !listed.is_empty()).collect()
}

/// Kinds of Cluster API infrastructure that a document holds or wraps: `AWSCluster`. A fragment without
/// `apiVersion` counts with whatever kind it names: it can only be compared with real ones.
pub(crate) fn infrastructure_kinds(root: &Node) -> BTreeSet<String> {
    let is_infrastructure = |document: &Node| {
        let version = document.text_at("apiVersion");
        version.is_none_or(|version| api_group(version) == "infrastructure.cluster.x-k8s.io")
    };
    let documents = unwrapped(root).into_iter().filter(|document| is_infrastructure(document));
    documents.filter_map(|document| Some(document.get("kind")?.as_str()?.to_owned())).collect()
}

/// Whether a document holds or wraps a provider object of the Cluster API operator. A fragment without `apiVersion`
/// counts by its kind alone: nobody else has such.
pub(crate) fn holds_providers(root: &Node) -> bool {
    let is_provider = |document: &Node| match document.text_at("apiVersion") {
        Some(version) => is_of_operator(api_group(version)),
        None => document
            .text_at("kind")
            .is_some_and(|kind| role_of_fragment(None, kind) == Some(KindRole::Provider)),
    };
    let documents = unwrapped(root);
    let objects = || documents.iter().flat_map(|document| objects(document));
    objects().any(|(_, object)| is_provider(object))
}

/// A document, and what it wraps where it is a ConfigMap.
fn unwrapped(root: &Node) -> Vec<Cow<'_, Node>> {
    let mut found = vec![Cow::Borrowed(root)];
    let data = root.get("data").filter(|_| root.text_at("kind") == Some("ConfigMap"));
    let Some(data) = data else { return found };
    let mut spec = None;
    for entry in data.as_mapping().unwrap_or_default() {
        let value = match entry.value.as_str().map(YamlFile::read) {
            None => vec![entry.value.clone()],
            Some(Ok(file)) => file.documents().iter().map(|document| document.root.clone()).collect(),
            Some(Err(_)) => continue,
        };
        if entry.key == "spec" {
            spec = value.into_iter().next();
        } else {
            found.extend(value.into_iter().filter(|node| node.get("kind").is_some()).map(Cow::Owned));
        }
    }
    found.extend(spec.map(|spec| Cow::Owned(Node::mapping([("spec", spec)]))));
    found
}

/// Where a whole object asks for this version: the byte of the scalar.
pub(crate) fn place_of_version(object: &Node, version: &KubernetesVersion) -> Option<usize> {
    let text = |key: &str| object.text_at(key);
    let fields = version_fields_of_fragment(text("apiVersion").map(api_group), text("kind"));
    let mut nodes = fields.filter_map(|(_, keys)| keys.iter().try_fold(object, |node, key| node.get(key)));
    nodes
        .find(|node| node.as_scalar().is_some_and(|scalar| scalar.text == version.as_str()))
        .map(|node| node.span.start)
}

/// A document without `kind` is a fragment and may be of any kind.
fn versions(document: &Node) -> Vec<(VersionRole, String)> {
    let text = |key: &str| document.text_at(key);
    let fields = version_fields_of_fragment(text("apiVersion").map(api_group), text("kind"));
    let version = |(role, keys): (VersionRole, Keys)| {
        let node = keys.iter().try_fold(document, |node, key| node.get(key))?;
        Some((role, node.as_scalar()?.text.clone()))
    };
    fields.filter_map(version).collect()
}
