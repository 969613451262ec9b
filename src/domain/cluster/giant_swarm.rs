//! Clusters of Giant Swarm: the release is one scalar inside a ConfigMap's YAML string (DESIGN U16).

use crate::object::{FieldPath, ObjectId, api_group};
use crate::release::Provider;
use crate::tree::RepoPath;
use crate::yaml::{Node, Position, YamlFile};

use super::read::{Manifest, identity};

/// Where the release stands inside the string.
const PLACE: [&str; 3] = ["global", "release", "version"];

/// Charts of clusters, and what their releases' provider is called.
const CHARTS: [(&str, &str); 7] = [
    ("cluster-aws", "capa"),
    ("cluster-azure", "azure"),
    ("cluster-vsphere", "vsphere"),
    ("cluster-cloud-director", "cloud-director"),
    ("cluster-eks", "eks"),
    ("cluster-aks", "aks"),
    ("cluster-proxmox", "proxmox"),
];

/// The scalar that names a cluster's Giant Swarm release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GiantSwarmRecord {
    /// The file.
    pub file: RepoPath,
    /// Which of its documents, from 0.
    pub document: usize,
    /// The ConfigMap.
    pub object: ObjectId,
    /// The scalar, through the string: `/data/values/global/release/version`.
    pub path: FieldPath,
    /// What it says: `34.5.0`.
    pub version: String,
    /// Where the string begins in the file.
    pub position: Position,
    /// The chart that deploys the cluster: `cluster-aws`.
    pub chart: Option<String>,
    /// What the chart's provider is called: `capa`.
    pub provider: Option<Provider>,
}

/// Whether a document is a ConfigMap that names a Giant Swarm release.
pub(crate) fn names_giant_swarm_release(root: &Node) -> bool {
    release_in(root).is_some()
}

/// The key of the string, the string's node, and the version in it.
fn release_in(root: &Node) -> Option<(&str, &Node, String)> {
    if root.get("kind")?.as_str()? != "ConfigMap" || root.get("apiVersion")?.as_str()? != "v1" {
        return None;
    }
    root.get("data")?.as_mapping()?.iter().find_map(|entry| {
        let text = entry.value.as_str().filter(|text| text.contains(PLACE[1]))?;
        let inside = YamlFile::read(text).ok()?;
        let place = |root| PLACE.iter().try_fold(root, |node: &Node, key| node.get(key));
        let version = inside.documents().iter().find_map(|document| place(&document.root))?;
        Some((entry.key.as_str(), &entry.value, version.as_scalar()?.text.clone()))
    })
}

/// The record among a cluster's manifests, first file first.
pub(super) fn find(manifests: &[Manifest]) -> Option<GiantSwarmRecord> {
    let documents = || {
        manifests.iter().flat_map(|manifest| {
            let numbered = manifest.file.documents().iter().enumerate();
            numbered.map(move |(index, document)| (manifest, index, &document.root))
        })
    };
    documents().find_map(|(manifest, document, root)| {
        let (key, node, version) = release_in(root)?;
        let object = identity(root)?;
        let path = PLACE.iter().fold(FieldPath::root().key("data").key(key), |path, key| path.key(key));
        let chart = chart(documents().map(|(_, _, root)| root), &object.name);
        Some(GiantSwarmRecord {
            file: manifest.entry.path.clone(),
            document,
            path,
            version,
            position: manifest.file.position(node.span.start),
            provider: chart.as_deref().and_then(provider_of),
            chart,
            object,
        })
    })
}

/// The cluster chart that an App or HelmRelease deploys; of several, the one that names the ConfigMap.
fn chart<'a>(roots: impl Iterator<Item = &'a Node>, config_map: &str) -> Option<String> {
    let charts: Vec<(&Node, &str)> = roots.filter_map(|root| Some((root, chart_of(root)?))).collect();
    let names_it =
        |(root, _): &&(&Node, &str)| root.get("spec").is_some_and(|spec| mentions(spec, config_map));
    let chosen = charts.iter().find(names_it).or(if charts.len() == 1 { charts.first() } else { None });
    chosen.map(|(_, chart)| (*chart).to_owned())
}

fn chart_of(root: &Node) -> Option<&str> {
    let spec = root.get("spec")?;
    let group = api_group(root.get("apiVersion")?.as_str()?);
    let name = match (group, root.get("kind")?.as_str()?) {
        ("application.giantswarm.io", "App") => spec.get("name")?.as_str()?,
        ("helm.toolkit.fluxcd.io", "HelmRelease") => {
            spec.get("chart")?.get("spec")?.get("chart")?.as_str()?
        }
        _ => return None,
    };
    provider_of(name).map(|_| name)
}

fn provider_of(chart: &str) -> Option<Provider> {
    let (_, provider) = CHARTS.iter().find(|(name, _)| *name == chart)?;
    Some(Provider::new(provider))
}

/// Whether a value below `node` stands under `name` and is `text`.
fn mentions(node: &Node, text: &str) -> bool {
    match (node.as_mapping(), node.as_sequence()) {
        (Some(entries), _) => entries.iter().any(|entry| {
            entry.key == "name" && entry.value.as_str() == Some(text) || mentions(&entry.value, text)
        }),
        (None, Some(items)) => items.iter().any(|item| mentions(item, text)),
        (None, None) => false,
    }
}
