//! The Flux Kustomizations of a repository, found by the folders that they apply.

use std::collections::{BTreeMap, BTreeSet};

use super::FluxRemote;
use super::applied::{AppliedExtent, FluxKustomization, FluxNeed, From, FromKind, reached, read};
use super::post_build::{Disagreement, Knowledge, PlacedVariable, PostBuild, is_name};
use crate::layout::Layout;
use capstan_kustomize::render::is_kustomization;
use capstan_model::finding::Place;
use capstan_model::ids::ClusterId;
use capstan_model::tree::{Folder, RepoPath, Tree, TreeEntry, is_manifest};
use capstan_yaml::{Node, YamlFile};

/// The Flux Kustomizations of a snapshot that substitute, and what they take values from; and those that
/// apply folders to other clusters.
///
/// They are looked for in every manifest outside of releases and of clusters' bases. Building the index reads each
/// of these files. So a planner builds it once, and only if a release has variables.
#[derive(Debug, Default)]
pub struct FluxIndex {
    applied: Vec<FluxKustomization>,
    /// What is applied by which of them.
    folders: BTreeMap<RepoPath, Vec<(AppliedExtent, usize)>>,
    sources: Vec<ValueSource>,
    remote: Vec<FluxRemote>,
    /// The files that it was made from, beside the kustomizations on the way.
    files: BTreeSet<RepoPath>,
}

/// A ConfigMap or Secret that some Kustomization names.
#[derive(Debug)]
struct ValueSource {
    kind: FromKind,
    name: String,
    namespace: Option<String>,
    file: RepoPath,
    values: Vec<(String, PlacedVariable)>,
}

impl FluxIndex {
    /// Reads a snapshot. Files that are not YAML are skipped: judging the tree reports them.
    pub fn read(tree: &dyn Tree, layout: &Layout) -> Self {
        let mut index = Self::default();
        let mut holders = Vec::new();
        for entry in candidates(tree, layout) {
            let Ok(bytes) = tree.read(entry) else { continue };
            let Ok(text) = std::str::from_utf8(&bytes) else { continue };
            if may_count(text) {
                index.files.insert(entry.path.clone());
                let Ok(file) = YamlFile::read(text) else { continue };
                for document in file.documents() {
                    index.applied.extend(read(&entry.path, &file, &document.root));
                    index.remote.extend(FluxRemote::read(&document.root.value()));
                }
            }
            if may_hold_values(text) {
                index.files.insert(entry.path.clone());
                holders.push(entry);
            }
        }
        for (at, applied) in index.applied.iter().enumerate() {
            for (folder, extent) in reached(tree, &applied.path) {
                index.folders.entry(folder).or_default().push((extent, at));
            }
        }
        let wanted: Vec<&From> = index.applied.iter().flat_map(|applied| &applied.from).collect();
        if !wanted.is_empty() {
            index.sources = holders.iter().flat_map(|entry| sources(tree, entry, &wanted)).collect();
        }
        index
    }

    /// Whether another index might come of a snapshot that differs from this index's own in a file; `earlier`
    /// is that one's root.
    pub fn may_change(&self, earlier: &Folder, tree: &dyn Tree, layout: &Layout, path: &RepoPath) -> bool {
        // What a Kustomization reaches depends on all kustomizations, and on which files exist.
        let came_or_went = earlier.entry(path).is_some() != tree.entry(path).is_some();
        if !self.applied.is_empty() && (came_or_went || is_kustomization(path)) {
            return true;
        }
        if self.files.contains(path) {
            return true;
        }
        let Some(entry) = tree.entry(path).filter(|entry| is_candidate(layout, entry)) else { return false };
        let content = tree.read(entry);
        let text =
            content.as_ref().ok().and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default();
        content.is_err() || may_count(text) || !self.applied.is_empty() && may_hold_values(text)
    }

    /// What Flux substitutes in a cluster's objects: of the Kustomizations that apply the cluster's own
    /// folders, else of those nearest above it.
    pub fn post_build(&self, cluster: &ClusterId) -> PostBuild {
        let mut result = PostBuild::default();
        for at in self.applying(cluster.folder()) {
            if let Some(applied) = self.applied.get(at) {
                self.add(applied, &mut result);
            }
        }
        result
    }

    /// The Kustomizations, outside of clusters' bases, that apply folders to other clusters.
    pub fn remote(&self) -> &[FluxRemote] {
        &self.remote
    }

    fn applying(&self, folder: &RepoPath) -> Vec<usize> {
        let own = self.folders.range(folder.clone()..).take_while(|(path, _)| {
            // Siblings such as `peu01-old` sort between a folder and what is below it.
            path.as_str().starts_with(folder.as_str())
        });
        let own = own.filter(|(path, _)| *path == folder || path.is_in(folder));
        let mut found: Vec<usize> = own.flat_map(|(_, list)| list.iter().map(|(_, at)| *at)).collect();
        let mut above = folder.parent();
        while let (true, Some(ancestor)) = (found.is_empty(), above) {
            let list = self.folders.get(&ancestor).map(Vec::as_slice).unwrap_or_default();
            let below = list.iter().filter(|(extent, at)| {
                *extent == AppliedExtent::Below
                    && self.applied.get(*at).is_some_and(|applied| applied.from_git)
            });
            found.extend(below.map(|(_, at)| *at));
            above = ancestor.parent();
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Adds what one Kustomization gives.
    fn add(&self, applied: &FluxKustomization, result: &mut PostBuild) {
        let mut values: BTreeMap<String, PlacedVariable> = BTreeMap::new();
        let mut knowledge = Knowledge::Everything;
        for from in &applied.from {
            match self.source(applied, from) {
                Some(source) => values.extend(source.values.iter().cloned()),
                None if from.need == FluxNeed::Optional => {}
                None => knowledge = Knowledge::Partly,
            }
        }
        values.extend(applied.inline.iter().cloned());
        for (name, given) in values {
            if !is_name(&name) {
                result.misnamed.push((name, given));
                continue;
            }
            if result.disagreements.iter().any(|known| known.name == name) {
                continue;
            }
            match result.values.get(&name) {
                Some(known) if known.text != given.text => {
                    let one = known.clone();
                    result.values.remove(&name);
                    result.disagreements.push(Disagreement { name, one, other: given });
                }
                Some(_) => {}
                None => {
                    result.values.insert(name, given);
                }
            }
        }
        let is_certain = knowledge == Knowledge::Everything && result.knowledge != Knowledge::Partly;
        result.knowledge = if is_certain { Knowledge::Everything } else { Knowledge::Partly };
    }

    /// The ConfigMap or Secret that is meant. Its namespace must be the Kustomization's, if both name one. Of
    /// several (one for each management cluster, say) it is the one whose file is nearest to the Kustomization's.
    /// `None` if several are equally near.
    fn source(&self, applied: &FluxKustomization, from: &From) -> Option<&ValueSource> {
        let fits = |source: &&ValueSource| {
            let namespaces = (source.namespace.as_deref(), applied.namespace.as_deref());
            source.kind == from.kind
                && source.name == from.name
                && !matches!(namespaces, (Some(one), Some(other)) if one != other)
        };
        let near = |source: &ValueSource| {
            let (one, other) = (source.file.parts(), applied.file.parts());
            one.zip(other).take_while(|(one, other)| one == other).count()
        };
        let nearest = self.sources.iter().filter(fits).map(near).max()?;
        let mut found = self.sources.iter().filter(fits).filter(|source| near(source) == nearest);
        let first = found.next();
        first.filter(|_| found.next().is_none())
    }
}

/// Manifests outside of releases and of clusters' bases.
fn candidates<'t>(tree: &'t dyn Tree, layout: &Layout) -> impl Iterator<Item = &'t TreeEntry> {
    tree.entries().iter().filter(move |entry| is_candidate(layout, entry))
}

fn is_candidate(layout: &Layout, entry: &TreeEntry) -> bool {
    // With `base: "."` the base is the whole folder of the cluster, Flux's own files included.
    let in_base = || {
        let cluster = layout.target_around(&entry.path);
        cluster.is_some_and(|cluster| cluster.base != *cluster.id.folder() && entry.path.is_in(&cluster.base))
    };
    is_manifest(&entry.path)
        && !layout.is_record(&entry.path)
        && layout.release_around(&entry.path).is_none()
        && !in_base()
}

/// Whether a text may hold a Kustomization that substitutes, or reaches another cluster.
fn may_count(text: &str) -> bool {
    text.contains("kustomize.toolkit.fluxcd.io")
        && (text.contains("postBuild") || text.contains("kubeConfig"))
}

fn may_hold_values(text: &str) -> bool {
    text.contains("ConfigMap") || text.contains("Secret")
}

/// The ConfigMaps and Secrets of a file from which Kustomizations take values.
fn sources(tree: &dyn Tree, entry: &TreeEntry, wanted: &[&From]) -> Vec<ValueSource> {
    let Ok(bytes) = tree.read(entry) else { return Vec::new() };
    let Ok(text) = std::str::from_utf8(&bytes) else { return Vec::new() };
    if !wanted.iter().any(|from| text.contains(&from.name)) {
        return Vec::new();
    }
    let Ok(file) = YamlFile::read(text) else { return Vec::new() };
    let documents = file.documents().iter().map(|document| &document.root);
    documents.filter_map(|root| source(&entry.path, &file, root, wanted)).collect()
}

fn source(path: &RepoPath, file: &YamlFile, root: &Node, wanted: &[&From]) -> Option<ValueSource> {
    let text = |node: &Node, key: &str| node.text_at(key).map(str::to_owned);
    let kind = FromKind::parse(root.get("kind")?.as_str()?)
        .filter(|_| text(root, "apiVersion").as_deref() == Some("v1"))?;
    let metadata = root.get("metadata")?;
    let name = text(metadata, "name")?;
    if !wanted.iter().any(|from| from.kind == kind && from.name == name) {
        return None;
    }
    let is_encrypted = root.get("sops").is_some();
    let mut values = Vec::new();
    for key in ["data", "stringData"] {
        for entry in root.get(key).and_then(Node::as_mapping).unwrap_or_default() {
            let text = entry.value.as_scalar().map(|scalar| scalar.text.replace('\n', ""));
            let is_secret =
                |text: &String| kind == FromKind::Secret || is_encrypted && text.starts_with("ENC[");
            let position = file.position(entry.key_span.start);
            let given = PlacedVariable {
                text: text.filter(|text| !is_secret(text)),
                place: Place::at(path.clone(), position),
                by: format!("{} {name}", kind.as_str()),
            };
            values.push((entry.key.clone(), given));
        }
    }
    Some(ValueSource { kind, name, namespace: text(metadata, "namespace"), file: path.clone(), values })
}
