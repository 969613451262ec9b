//! Clusters of Giant Swarm: the release is one scalar, most often inside a ConfigMap's YAML string
//! ([U16]).
//!
//! Where a release is named:
//!
//! | object | scalar |
//! |---|---|
//! | ConfigMap | `global.release.version` in a string of `data` |
//! | ConfigMap that a kustomization generates | `global.release.version` of a file that it is made of |
//! | HelmRelease of a cluster chart | `spec.values.global.release.version` |
//! | App of a chart `release-<provider>` | `spec.version`: such a chart *is* a release |
//! | HelmRelease of one | `spec.chart.spec.version`, where it is one version and no range |
//!
//! The chart of a HelmRelease with a `chartRef` is the one that the source holds, by its url, whatever the source is called.
//!
//! The charts `release-<provider>` are made of the cluster charts by
//! <https://github.com/giantswarm/releases/blob/master/docs/workflows-retagging-cluster-charts.md>.
//!
//! Several objects may name a release. Those count that the cluster's own App or HelmRelease is or
//! names; where it names none of them, all do. What counts must agree, or nobody can say what the
//! cluster is at.
//!
//! [U16]: crate::upgrade#u16

use capstan_kustomize::render::{is_kustomization, kustomization_field};
use capstan_model::finding::Place;
use capstan_model::ids::Provider;
use capstan_model::object::{FieldPath, ObjectId, api_group};
use capstan_model::tree::RepoPath;
use capstan_model::version::ReleaseVersion;
use capstan_yaml::manifest::{identity, objects};
use capstan_yaml::{Node, YamlFile};

/// The path of the release in a chart's values.
const PLACE: [&str; 3] = ["global", "release", "version"];

/// What follows `cluster-` or `release-` in the name of a chart, and what its releases' provider is
/// called.
const CHARTS: [(&str, &str); 7] = [
    ("aws", "capa"),
    ("azure", "azure"),
    ("vsphere", "vsphere"),
    ("cloud-director", "cloud-director"),
    ("eks", "eks"),
    ("aks", "aks"),
    ("proxmox", "proxmox"),
];

/// The scalar that names a cluster's release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseScalar {
    /// Where the scalar begins, also inside a string.
    pub place: Place,
    /// Which of the file's documents, from 0.
    pub document: usize,
    /// The ConfigMap, App or HelmRelease.
    pub object: ObjectId,
    /// The scalar, through the string: `/data/values/global/release/version`.
    pub path: FieldPath,
    /// What it says: `34.5.0`.
    pub version: String,
    /// The chart that deploys the cluster: `cluster-aws`.
    pub chart: Option<String>,
    /// What the chart's provider is called: `capa`.
    pub provider: Option<Provider>,
}

/// A scalar of an object that names a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedRelease {
    /// The scalar, or the string that holds it.
    pub(crate) outer: FieldPath,
    /// The document of the string, and the scalar in it; `None` where `outer` is the scalar.
    pub(crate) inside: Option<(usize, FieldPath)>,
    /// What it says.
    pub(crate) text: String,
    /// The key of `data` that holds the whole document; `None` where it is the object itself.
    pub(crate) key: Option<String>,
}

/// What may name a release.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holder<'a> {
    pub(crate) id: &'a ObjectId,
    pub(crate) root: &'a Node,
    /// Where `root` is a file of which a ConfigMap is generated: its key there.
    pub(crate) key: Option<&'a str>,
}

/// A file of which a kustomization generates a ConfigMap: `files: [values=values.yaml]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GeneratedFrom {
    pub(crate) config_map: ObjectId,
    pub(crate) key: String,
    pub(crate) file: RepoPath,
}

/// The files of the ConfigMaps that a kustomization in `folder` generates.
pub(crate) fn generated_from(kustomization: &Node, folder: &RepoPath) -> Vec<GeneratedFrom> {
    let text = |node: &Node, field: &str| {
        kustomization_field(node, field).and_then(|entry| entry.value.as_str()).map(str::to_owned)
    };
    let mut found = Vec::new();
    for entry in items_of(kustomization, "configMapGenerator") {
        let Some(name) = text(entry, "name") else { continue };
        let config_map = ObjectId {
            group: String::new(),
            kind: "ConfigMap".to_owned(),
            namespace: text(kustomization, "namespace").or_else(|| text(entry, "namespace")),
            name,
        };
        for item in items_of(entry, "files") {
            let Some(item) = item.as_str() else { continue };
            let (key, path) = item.split_once('=').unwrap_or((item.rsplit('/').next().unwrap_or(item), item));
            let Ok(file) = folder.join(path) else { continue };
            found.push(GeneratedFrom { config_map: config_map.clone(), key: key.to_owned(), file });
        }
    }
    found
}

fn items_of<'n>(node: &'n Node, field: &str) -> &'n [Node] {
    kustomization_field(node, field).and_then(|entry| entry.value.as_sequence()).unwrap_or_default()
}

impl NamedRelease {
    /// The byte of the file at which the scalar of this object begins, also inside a string.
    pub(crate) fn offset(&self, file: &YamlFile, object: &Node) -> usize {
        let Some(outer) = object.at(&self.outer) else { return object.span.start };
        let inside = || {
            let (document, path) = self.inside.as_ref()?;
            let text = YamlFile::read(outer.as_str()?).ok()?;
            let scalar = text.documents().get(*document)?.root.at(path)?;
            Some(file.offset_inside(outer.span.start, text.text(), scalar.span.start))
        };
        inside().unwrap_or(outer.span.start)
    }

    /// The scalar, through the string.
    pub(crate) fn path(&self) -> FieldPath {
        let data = self.key.as_ref().map(|key| FieldPath::root().key("data").key(key)).unwrap_or_default();
        let inside = self.inside.iter().flat_map(|(_, path)| path.steps());
        data.steps().iter().chain(self.outer.steps()).chain(inside).cloned().collect()
    }
}

/// Flux's sources of charts: what the chart reference of a HelmRelease names.
#[derive(Debug, Default)]
pub(crate) struct ChartSources<'n>(Vec<&'n Node>);

impl<'n> ChartSources<'n> {
    /// Those among objects.
    pub(crate) fn of(objects: impl IntoIterator<Item = &'n Node>) -> Self {
        let is_source = |root: &&Node| {
            root.text_at("kind").is_some_and(is_source_kind)
                && root.text_at("apiVersion").map(api_group) == Some("source.toolkit.fluxcd.io")
        };
        Self(objects.into_iter().filter(is_source).collect())
    }

    /// The one that a reference names.
    fn named(&self, reference: &Node) -> Option<&'n Node> {
        self.0.iter().copied().find(|source| is_named(source, reference))
    }
}

fn is_source_kind(kind: &str) -> bool {
    matches!(kind, "OCIRepository" | "HelmChart")
}

/// Whether a chart reference names a source.
pub(crate) fn is_named(source: &Node, reference: &Node) -> bool {
    let metadata = |key| source.get("metadata").and_then(|metadata| metadata.text_at(key));
    let namespace = |one: Option<&str>, other: Option<&str>| one.is_none() || other.is_none() || one == other;
    source.text_at("kind") == reference.text_at("kind")
        && metadata("name") == reference.text_at("name")
        && namespace(metadata("namespace"), reference.text_at("namespace"))
}

/// Whether an object names a Giant Swarm release. Where it is a HelmRelease, `sources` are those that its chart may be
/// known by.
pub(crate) fn names_giant_swarm_release(root: &Node, sources: &ChartSources<'_>) -> bool {
    let is_object = root.get("kind").is_some() || root.get("apiVersion").is_some();
    let is_version = |named: NamedRelease| ReleaseVersion::parse(&named.text).is_some();
    !named_in(root, sources).is_empty() || !is_object && in_values(root, "values").is_some_and(is_version)
}

/// The release that a file of values names.
fn in_values(root: &Node, key: &str) -> Option<NamedRelease> {
    let outer = FieldPath::of_keys(PLACE);
    let text = root.at(&outer)?.as_scalar()?.text.clone();
    Some(NamedRelease { outer, inside: None, text, key: Some(key.to_owned()) })
}

/// The scalars that count, with the index of their object: those of the cluster's own App or
/// HelmRelease first, then in the order of the objects.
pub(crate) fn named_releases(objects: &[Holder<'_>]) -> Vec<(usize, NamedRelease)> {
    let sources = ChartSources::of(objects.iter().map(|holder| holder.root));
    let named = |holder: &Holder<'_>| match holder.key {
        Some(key) => in_values(holder.root, key).into_iter().collect(),
        None => named_in(holder.root, &sources),
    };
    let all = || {
        let each = objects.iter().enumerate();
        each.flat_map(move |(at, holder)| named(holder).into_iter().map(move |named| (at, named)))
    };
    let charts: Vec<usize> =
        (0..objects.len()).filter(|at| chart_of(objects[*at].root, &sources).is_some()).collect();
    let owned = |at: usize| {
        let names = |chart: &usize| {
            objects[*chart].root.get("spec").is_some_and(|spec| mentions(spec, &objects[at].id.name))
        };
        objects[at].id.kind == "ConfigMap" && charts.iter().any(names)
    };
    let mut counting: Vec<(usize, NamedRelease)> = all().filter(|(at, _)| charts.contains(at)).collect();
    counting.extend(all().filter(|(at, _)| owned(*at)));
    if counting.is_empty() { all().collect() } else { counting }
}

/// The Apps and HelmReleases of charts that are or name what names the release; the only one where none does.
pub(crate) fn deploys(objects: &[Holder<'_>], named: &[(usize, NamedRelease)]) -> Vec<usize> {
    let sources = ChartSources::of(objects.iter().map(|holder| holder.root));
    let charts: Vec<usize> =
        (0..objects.len()).filter(|at| chart_of(objects[*at].root, &sources).is_some()).collect();
    let names = |chart: usize, at: usize| {
        chart == at
            || objects[chart].root.get("spec").is_some_and(|spec| mentions(spec, &objects[at].id.name))
    };
    let is_meant = |chart: &usize| named.iter().any(|(at, _)| names(*chart, *at));
    let meant: Vec<usize> = charts.iter().copied().filter(is_meant).collect();
    if meant.is_empty() && charts.len() == 1 { charts } else { meant }
}

/// The scalars of one object that name a release.
fn named_in(root: &Node, sources: &ChartSources<'_>) -> Vec<NamedRelease> {
    let text = |key: &str| root.text_at(key);
    if text("kind") == Some("ConfigMap") && text("apiVersion") == Some("v1") {
        let data = root.get("data").and_then(Node::as_mapping).unwrap_or_default();
        return data.iter().filter_map(|entry| in_string(&entry.key, &entry.value)).collect();
    }
    let chart = chart_of(root, sources);
    // What the source is that the chart comes from may stand elsewhere: then the values alone tell.
    let is_open = chart.is_none() && is_chart_open(root, sources);
    if chart.is_none() && !is_open {
        return Vec::new();
    }
    let kind = text("kind").unwrap_or_default();
    let mut places: Vec<Vec<&str>> = Vec::new();
    if kind == "HelmRelease" {
        places.push([&["spec", "values"], &PLACE[..]].concat());
    }
    if chart.is_some_and(|chart| chart.starts_with("release-")) {
        let version: &[&str] =
            if kind == "App" { &["spec", "version"] } else { &["spec", "chart", "spec", "version"] };
        places.push(version.to_vec());
    }
    let named = places.into_iter().filter_map(|keys| {
        let scalar = keys.iter().try_fold(root, |node, key| node.get(key))?.as_scalar()?;
        let is_chart_version = keys.last() == Some(&"version") && !keys.contains(&PLACE[0]);
        // `>=34.0.0` leaves the choice to Flux.
        let is_one = !is_chart_version && !is_open || ReleaseVersion::parse(&scalar.text).is_some();
        let outer = FieldPath::of_keys(&keys);
        is_one.then(|| NamedRelease { outer, inside: None, text: scalar.text.clone(), key: None })
    });
    named.collect()
}

fn in_string(key: &str, value: &Node) -> Option<NamedRelease> {
    let text = value.as_str().filter(|text| text.contains(PLACE[1]))?;
    let file = YamlFile::read(text).ok()?;
    let inside = FieldPath::of_keys(PLACE);
    let found = file
        .documents()
        .iter()
        .enumerate()
        .find_map(|(at, document)| Some((at, document.root.at(&inside)?.as_scalar()?.text.clone())));
    let (document, text) = found?;
    Some(NamedRelease {
        outer: FieldPath::root().key("data").key(key),
        inside: Some((document, inside)),
        text,
        key: None,
    })
}

/// The record among the files of a cluster's base.
pub(crate) fn find(files: &[(&RepoPath, &YamlFile)]) -> Option<ReleaseScalar> {
    let mut places = Vec::new();
    let mut ids = Vec::new();
    let mut keys = Vec::new();
    for (file, yaml) in files {
        for (document, content) in yaml.documents().iter().enumerate() {
            for (_, node) in objects(&content.root) {
                // Most objects are of other kinds, and reading their identity costs time.
                if node.text_at("kind").is_some_and(may_name_release)
                    && let Some(id) = identity(node)
                {
                    places.push((*file, *yaml, document, node));
                    ids.push(id);
                    keys.push(None);
                }
            }
        }
    }
    for (path, kustomization) in files.iter().filter(|(path, _)| is_kustomization(path)) {
        let folder = path.parent().unwrap_or_default();
        let roots = kustomization.documents().iter().map(|document| &document.root);
        for from in roots.flat_map(|root| generated_from(root, &folder)) {
            let Some((path, yaml)) = files.iter().find(|(path, _)| **path == from.file) else { continue };
            let Some(document) = yaml.documents().first() else { continue };
            places.push((*path, *yaml, 0, &document.root));
            ids.push(from.config_map);
            keys.push(Some(from.key));
        }
    }
    let all: Vec<Holder<'_>> = ids
        .iter()
        .zip(&places)
        .zip(&keys)
        .map(|((id, (.., root)), key)| Holder { id, root, key: key.as_deref() })
        .collect();
    let (at, named) = named_releases(&all).into_iter().next()?;
    let (path, yaml, document, node) = places[at];
    let chart = chart(&all, at);
    let start = named.offset(yaml, node);
    Some(ReleaseScalar {
        place: Place::at(path.clone(), yaml.position(start)),
        document,
        path: named.path(),
        version: named.text,
        provider: chart.as_deref().and_then(provider_of),
        chart,
        object: ids.swap_remove(at),
    })
}

fn may_name_release(kind: &str) -> bool {
    matches!(kind, "ConfigMap" | "App" | "HelmRelease") || is_source_kind(kind)
}

/// The cluster chart that an App or HelmRelease deploys: the one that is or names the object at `at`,
/// else the only one.
fn chart(objects: &[Holder<'_>], at: usize) -> Option<String> {
    let sources = ChartSources::of(objects.iter().map(|holder| holder.root));
    let charts: Vec<(usize, &str)> = objects
        .iter()
        .enumerate()
        .filter_map(|(at, holder)| Some((at, chart_of(holder.root, &sources)?)))
        .collect();
    let name = &objects[at].id.name;
    let fits = |(chart, _): &&(usize, &str)| {
        *chart == at || objects[*chart].root.get("spec").is_some_and(|spec| mentions(spec, name))
    };
    let chosen = charts.iter().find(fits).or(if charts.len() == 1 { charts.first() } else { None });
    chosen.map(|(_, chart)| (*chart).to_owned())
}

/// The cluster chart of a known provider that an App or HelmRelease deploys.
pub(crate) fn chart_of<'n>(root: &'n Node, sources: &ChartSources<'n>) -> Option<&'n str> {
    chart_name(root, sources).filter(|name| provider_of(name).is_some())
}

/// Whatever chart an App or HelmRelease deploys.
pub(crate) fn chart_name<'n>(root: &'n Node, sources: &ChartSources<'n>) -> Option<&'n str> {
    let spec = root.get("spec")?;
    let group = api_group(root.get("apiVersion")?.as_str()?);
    match (group, root.get("kind")?.as_str()?) {
        ("application.giantswarm.io", "App") => spec.get("name")?.as_str(),
        ("helm.toolkit.fluxcd.io", "HelmRelease") => {
            if let Some(chart) = spec.get("chart").and_then(|chart| chart.get("spec")?.get("chart")) {
                return chart.as_str().and_then(last_segment);
            }
            let reference = spec.get("chartRef")?;
            // Of a source that is elsewhere only the name is known: often it is called like its chart.
            sources.named(reference).and_then(chart_of_source).or_else(|| reference.text_at("name"))
        }
        _ => None,
    }
}

/// The chart that a source holds: the last part of its url, or of the chart that it names.
fn chart_of_source(source: &Node) -> Option<&str> {
    let field = if source.text_at("kind") == Some("OCIRepository") { "url" } else { "chart" };
    last_segment(source.get("spec")?.text_at(field)?)
}

/// A chart may be a path in a Git repository.
fn last_segment(text: &str) -> Option<&str> {
    text.trim_end_matches('/').rsplit('/').next().filter(|name| !name.is_empty())
}

/// Whether a HelmRelease takes its chart from a source that is not known.
fn is_chart_open(root: &Node, sources: &ChartSources<'_>) -> bool {
    let is_release = root.text_at("kind") == Some("HelmRelease")
        && root.text_at("apiVersion").map(api_group) == Some("helm.toolkit.fluxcd.io");
    let reference = root.get("spec").and_then(|spec| spec.get("chartRef"));
    is_release && reference.is_some_and(|reference| sources.named(reference).is_none())
}

fn provider_of(chart: &str) -> Option<Provider> {
    let name = chart.strip_prefix("cluster-").or_else(|| chart.strip_prefix("release-"))?;
    let (_, provider) = CHARTS.iter().find(|(known, _)| *known == name)?;
    Some(Provider::new(provider))
}

/// Whether a mapping in `node` has the `name` `text`.
fn mentions(node: &Node, text: &str) -> bool {
    match (node.as_mapping(), node.as_sequence()) {
        (Some(entries), _) => entries.iter().any(|entry| {
            entry.key == "name" && entry.value.as_str() == Some(text) || mentions(&entry.value, text)
        }),
        (None, Some(items)) => items.iter().any(|item| mentions(item, text)),
        (None, None) => false,
    }
}
