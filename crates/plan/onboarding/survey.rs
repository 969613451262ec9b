//! One look at every manifest of a repository: where Cluster API objects are, what kustomizations name, and what
//! Flux and Argo CD apply.
//!
//! Deliberately absent: what follows from any of it. In releases and in folders that begin with a dot it looks only if
//! files are to move.

use std::collections::{BTreeMap, BTreeSet};

use super::sources::{AppliedSource, GitSource, Origin, RepositoryAddresses};
use crate::flux::{Apply, read_apply};
use crate::giant_swarm::{ChartSources, chart_of, names_giant_swarm_release};
use crate::layout::{ClusterName, Layout, is_name};
use capstan_kustomize::render::{INCLUDE_FIELDS, PATCH_FIELDS, is_kustomization, kustomization_field};
use capstan_model::finding::{FileError, Place, rules};
use capstan_model::kinds::{KindRole, is_cluster_api, role};
use capstan_model::tree::{RepoPath, Tree, TreeEntry, is_manifest};
use capstan_yaml::manifest::{group_and_kind, objects};
use capstan_yaml::{Node, NodeKind, YamlFile};

/// Argo CD's objects that apply folders.
const ARGO: &str = "argoproj.io";
const FLUX_APPLIES: &str = "kustomize.toolkit.fluxcd.io";
const FLUX_SOURCES: &str = "source.toolkit.fluxcd.io";
/// The label by which an object says of which cluster it is.
pub(super) const CLUSTER_LABEL: &str = "cluster.x-k8s.io/cluster-name";
/// How a path says that something else fills it in.
const VARIABLES: [(&str, &str); 3] = [("{{", "}}"), ("${", "}"), ("<<", ">>")];
/// At most this many of each are read. Real repositories have fewer; the limit is against hostile ones.
const MOST_APPLIED: usize = 2_000;
const MOST_FILES: usize = 50_000;
/// At most this many paths, and elements of lists, count of one object of Argo CD.
const MOST_PATHS: usize = 100;

/// Something by which a folder is a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClusterSign {
    pub(super) place: Place,
    pub(super) path: RepoPath,
    pub(super) what: What,
    pub(super) name: ClusterName,
    pub(super) whole: Whole,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    Cluster,
    /// An App or HelmRelease of a chart that makes one.
    Chart,
    /// Values that name the release of one.
    Values,
}

/// Whether an object has a name of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    /// It has.
    Yes,
    /// Its name is a variable.
    Templated,
}

/// Something that owns machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) place: Place,
    pub(super) kind: String,
    pub(super) name: ClusterName,
    /// The cluster that its `spec.clusterName` names.
    pub(super) cluster: Option<String>,
    /// The cluster that its label names.
    pub(super) label: Option<String>,
}

/// What a kustomization names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct KustomizationTargets {
    /// Folders and files that it builds.
    pub(super) targets: BTreeSet<RepoPath>,
    /// Whether it changes what it takes, as an overlay does, or only lists it.
    pub(super) changes: bool,
}

/// Who applies folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Applies {
    pub(super) who: Who,
    pub(super) place: Place,
    /// Whether it gives variables values, so that one folder may become several clusters.
    pub(super) substitutes: bool,
    /// Whether it patches what it builds, so that an object in it may say something else than its file.
    pub(super) patches: bool,
    /// What it says of its source.
    pub(super) source: AppliedSource,
    /// Whether it applies nothing until somebody resumes it.
    pub(super) is_suspended: bool,
}

/// Who, and what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Who {
    Flux(Apply),
    /// An Application or ApplicationSet: its kind and name, the folders or patterns that it names, and those that it
    /// excludes from them.
    Argo {
        kind: String,
        name: String,
        paths: Vec<String>,
        excluded: Vec<String>,
        /// Patterns of paths that are filled in from what Capstan does not look at.
        guessed: Vec<String>,
        /// Whether it takes what is below a folder of manifests too.
        depth: Depth,
        /// How it takes a folder with a kustomization.
        reading: FolderReading,
        /// How many lists of folders or files of Git it generates from.
        git_lists: usize,
    },
}

/// How Argo CD takes a folder with a kustomization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FolderReading {
    /// It builds it.
    Kustomized,
    /// Its source says `directory` or `plugin`, so it reads the files.
    AsFiles,
}

/// How much of a folder of manifests Argo CD applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// What is directly in it.
    Here,
    /// Everything below it.
    Below,
}

/// What a repository holds, and where.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) seen: Vec<ClusterSign>,
    pub(super) owners: Vec<Owner>,
    /// The same in folders that begin with a dot, where nothing is a cluster.
    pub(super) hidden_owners: Vec<Owner>,
    /// The first object of Cluster API's, where no other is one by which a folder is a cluster.
    pub(super) other: Option<(Place, String)>,
    pub(super) kustomizations: BTreeMap<RepoPath, KustomizationTargets>,
    /// Files that are patches of kustomizations.
    pub(super) patches: BTreeSet<RepoPath>,
    pub(super) applies: Vec<Applies>,
    /// Flux's Git repositories, with their URLs.
    pub(super) git_sources: Vec<GitSource>,
    /// Helm charts whose templates make clusters: their folders, and the first such template of each.
    pub(super) charts: BTreeMap<RepoPath, RepoPath>,
    /// Files that mention clusters and cannot be read.
    pub(super) unreadable: Vec<FileError>,
    /// The first file that was not read, if there are too many.
    pub(super) unfinished: Option<FileError>,
    /// What Flux's sources leave out, in the form of `.gitignore`.
    pub(super) ignored: Vec<(Place, String)>,
    /// Files and objects that may apply folders, and that were not read completely.
    pub(super) unseen: Vec<FileError>,
    /// Kustomizations that cannot be read, with their text.
    pub(super) broken_kustomizations: Vec<(RepoPath, String)>,
}

/// Which files a survey looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// Those outside of releases and of folders that begin with a dot.
    Shown,
    /// Those in them.
    Hidden,
}

impl Survey {
    /// Looks at every manifest outside of releases.
    pub(super) fn of(tree: &dyn Tree, layout: &Layout) -> Self {
        Self::look(tree, layout, Look::Shown)
    }

    /// Adds what is in folders that begin with a dot, and in what has the shape of a release. They hold no clusters, but
    /// kustomizations, and objects that apply folders.
    pub(super) fn add_hidden(&mut self, tree: &dyn Tree, layout: &Layout) {
        let hidden = Self::look(tree, layout, Look::Hidden);
        self.kustomizations.extend(hidden.kustomizations);
        self.applies.extend(hidden.applies);
        self.git_sources.extend(hidden.git_sources);
        self.ignored.extend(hidden.ignored);
        self.unseen.extend(hidden.unseen);
        self.broken_kustomizations.extend(hidden.broken_kustomizations);
        let is_free = |owner: &Owner| layout.release_around(owner.place.file()).is_none();
        self.hidden_owners.extend(hidden.owners.into_iter().filter(is_free));
        self.unfinished = self.unfinished.take().or(hidden.unfinished);
    }

    /// Where what an object applies comes from.
    pub(super) fn origin(&self, applies: &Applies, own: &RepositoryAddresses) -> Origin {
        applies.source.origin(&self.git_sources, own)
    }

    /// Whether the source of an object has all of a folder, as far as the repository says.
    pub(super) fn takes(&self, applies: &Applies, folder: &RepoPath) -> bool {
        applies.source.objects(&self.git_sources).all(|source| source.takes(folder))
    }

    fn look(tree: &dyn Tree, layout: &Layout, look: Look) -> Self {
        let mut survey = Self::default();
        let mut patches = BTreeSet::new();
        let hidden = |entry: &TreeEntry| entry.path.parts().any(|part| part.starts_with('.'));
        let counts = |entry: &&TreeEntry| {
            entry.is_file()
                && (is_manifest(&entry.path) || is_kustomization(&entry.path))
                && (hidden(entry) || layout.release_around(&entry.path).is_some()) == (look == Look::Hidden)
        };
        let mut looked_into = 0;
        for entry in tree.entries().iter().filter(counts) {
            if looked_into >= MOST_FILES {
                let message = format!(
                    "{MOST_FILES} files may contain clusters, which is the limit. Capstan did not look at this one or the files after it"
                );
                let place = Place::whole(entry.path.clone());
                survey.unfinished = Some(FileError::new(rules::CLUSTER_OUTSIDE, place, message));
                break;
            }
            let bytes = match tree.read(entry) {
                Ok(bytes) => bytes,
                Err(unreadable) if is_kustomization(&entry.path) => {
                    let message = format!("Capstan cannot read this kustomization: {}", unreadable.reason);
                    survey.not_seen(Place::whole(entry.path.clone()), message);
                    continue;
                }
                Err(_) => continue,
            };
            let Ok(text) = std::str::from_utf8(&bytes) else { continue };
            if !may_count(&entry.path, text) {
                continue;
            }
            looked_into += 1;
            // Whether it is YAML or not: a template says nothing until it is filled in.
            if let Some(chart) = chart_around(tree, &entry.path) {
                if makes_a_cluster(text) {
                    survey.charts.entry(chart).or_insert_with(|| entry.path.clone());
                }
                continue;
            }
            let read = YamlFile::read(text);
            if read.is_err() && is_kustomization(&entry.path) {
                survey.broken_kustomizations.push((entry.path.clone(), text.to_owned()));
            }
            match read {
                Ok(file) => survey.add(tree, &entry.path, &file, &mut patches),
                Err(error) if speaks_of_a_cluster(text) => {
                    let place = Place::maybe_at(entry.path.clone(), Some(error.position));
                    let message = format!(
                        "this file mentions a cluster, but Capstan cannot read it: {}",
                        error.message
                    );
                    survey.unreadable.push(FileError::new(rules::CLUSTER_OUTSIDE, place, message));
                }
                Err(error) if may_apply(text) => {
                    let place = Place::maybe_at(entry.path.clone(), Some(error.position));
                    let message = format!(
                        "this file may say what Flux or Argo CD applies, but Capstan cannot read it: {}",
                        error.message
                    );
                    survey.not_seen(place, message);
                }
                Err(_) => {}
            }
        }
        // A patch looks like the object that it changes.
        survey.seen.retain(|seen| !patches.contains(&seen.path));
        survey.owners.retain(|owner| !patches.contains(owner.place.file()));
        survey.patches = patches;
        survey
    }

    fn add(&mut self, tree: &dyn Tree, path: &RepoPath, file: &YamlFile, patches: &mut BTreeSet<RepoPath>) {
        let folder = path.parent().unwrap_or_default();
        let all = || file.documents().iter().flat_map(|document| objects(&document.root));
        let sources = ChartSources::of(all().map(|(_, object)| object));
        for document in file.documents() {
            // A Flux Kustomization may be in a file of that name, too.
            let is_own = |(group, _): (&str, &str)| group == "kustomize.config.k8s.io";
            if is_kustomization(path) && group_and_kind(&document.root).is_none_or(is_own) {
                let named = self.kustomizations.entry(folder.clone()).or_default();
                name_targets(tree, &folder, &document.root, named, patches);
                continue;
            }
            for (_, object) in objects(&document.root) {
                let place = || Place::at(path.clone(), file.position(object.span.start));
                self.add_object(path, object, &sources, &place);
            }
        }
    }

    fn add_object<'n>(
        &mut self,
        path: &RepoPath,
        object: &'n Node,
        sources: &ChartSources<'n>,
        place: &dyn Fn() -> Place,
    ) {
        let metadata = object.get("metadata");
        let name = metadata.and_then(|metadata| metadata.text_at("name")).unwrap_or_default();
        let cluster_role = group_and_kind(object).and_then(|(group, kind)| role(group, kind));
        let what = if cluster_role == Some(KindRole::Cluster) && !name.is_empty() {
            Some(What::Cluster)
        } else if chart_of(object, sources).is_some_and(|chart| chart.starts_with("cluster-")) {
            Some(What::Chart)
        } else if names_giant_swarm_release(object, sources) {
            Some(What::Values)
        } else {
            None
        };
        if let Some(what) = what {
            let whole = if is_name(name) { Whole::Yes } else { Whole::Templated };
            let name = ClusterName::of(object).unwrap_or_default();
            self.seen.push(ClusterSign { place: place(), path: path.clone(), what, name, whole });
            return;
        }
        let Some((group, kind)) = group_and_kind(object) else { return };
        if matches!(cluster_role, Some(KindRole::ControlPlane(_) | KindRole::Workers(_))) && is_name(name) {
            let text = |part: Option<&Node>, key: &str| part?.text_at(key).map(str::to_owned);
            let labels = metadata.and_then(|metadata| metadata.get("labels"));
            self.owners.push(Owner {
                place: place(),
                kind: kind.to_owned(),
                name: ClusterName::of(object).unwrap_or_default(),
                cluster: text(object.get("spec"), "clusterName"),
                label: text(labels, CLUSTER_LABEL),
            });
        }
        // Providers run on a management cluster: a repository with providers alone has no cluster.
        let is_other = cluster_role.is_some_and(|role| role != KindRole::Provider);
        if is_cluster_api(group) && is_other && self.other.is_none() && is_name(name) {
            self.other = Some((place(), kind.to_owned()));
        }
        let ignored = object.get("spec").and_then(|spec| spec.text_at("ignore"));
        if group == FLUX_SOURCES
            && let Some(ignored) = ignored
        {
            self.ignored.push((place(), ignored.to_owned()));
        }
        if group == FLUX_SOURCES && kind == "GitRepository" && self.git_sources.len() < MOST_APPLIED {
            self.git_sources.push(GitSource::read(object, place()));
        }
        let composes = object.get("spec").is_some_and(|spec| spec.get("include").is_some());
        if kind == "ArtifactGenerator" || group == FLUX_SOURCES && composes {
            let message = "Flux composes a source of several here, so Capstan cannot tell where the files of this repository are in it: move the clusters by hand";
            self.not_seen(place(), message.to_owned());
        }
        if group == FLUX_APPLIES
            && object
                .get("spec")
                .is_some_and(|spec| spec.text_at("path").is_some_and(|path| path.contains("${")))
        {
            let message = "the path of this Kustomization of Flux is filled in, so Capstan cannot tell which folder it applies: move the clusters by hand";
            self.not_seen(place(), message.to_owned());
        }
        let flux = read_apply(object).map(|apply| (Who::Flux(apply), Extent::Whole, Vec::new()));
        let Some((who, extent, urls)) = flux.or_else(|| argo(group, kind, name, object)) else { return };
        if extent == Extent::Cut || self.applies.len() >= MOST_APPLIED {
            let message = if extent == Extent::Cut {
                format!(
                    "this object names more than {MOST_PATHS} paths, which is the limit: move the clusters by hand"
                )
            } else {
                format!(
                    "{MOST_APPLIED} objects apply folders, which is the limit, and Capstan did not look at this one: move the clusters by hand"
                )
            };
            self.not_seen(place(), message);
        }
        if self.applies.len() < MOST_APPLIED {
            let substitutes = object.get("spec").is_some_and(|spec| spec.get("postBuild").is_some());
            let spec = object.get("spec");
            let patches = spec.is_some_and(patches);
            let suspend = spec.and_then(|spec| spec.get("suspend")).and_then(Node::as_scalar);
            let is_suspended = suspend.is_some_and(|suspend| suspend.text != "false");
            let source = AppliedSource::read(object, urls);
            self.applies.push(Applies { who, place: place(), substitutes, patches, source, is_suspended });
        }
    }

    /// Notes what was not read. One entry is enough to stop a move, so the list is short.
    fn not_seen(&mut self, place: Place, message: String) {
        if self.unseen.len() < MOST_PATHS {
            self.unseen.push(FileError::new(rules::CLUSTER_OUTSIDE, place, message));
        }
    }
}

/// Whether all paths of an object were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    Whole,
    Cut,
}

/// Whether a file may say something, before it is read.
fn may_count(path: &RepoPath, text: &str) -> bool {
    is_kustomization(path)
        || text.contains("cluster.x-k8s.io")
        || text.contains(FLUX_APPLIES)
        || text.contains(FLUX_SOURCES)
        || text.contains("ArtifactGenerator")
        || text.contains(ARGO)
        || text.contains("application.giantswarm.io")
        || text.contains("HelmRelease")
        || text.contains("ConfigMap") && text.contains("release")
}

/// The chart that a file is a template of.
pub(super) fn chart_around(tree: &dyn Tree, path: &RepoPath) -> Option<RepoPath> {
    let folders = std::iter::successors(path.parent(), RepoPath::parent);
    let charts = folders.filter(|folder| folder.name() == "templates").filter_map(|folder| folder.parent());
    let is_chart =
        |folder: &RepoPath| folder.join("Chart.yaml").is_ok_and(|file| tree.entry(&file).is_some());
    charts.into_iter().find(is_chart)
}

fn makes_a_cluster(text: &str) -> bool {
    text.contains("cluster.x-k8s.io") && text.lines().any(|line| line.trim_end() == "kind: Cluster")
}

/// Whether a file that is not YAML may say what is applied. A file with variables does not count, because something
/// else fills it in first.
fn may_apply(text: &str) -> bool {
    let speaks = text.contains(FLUX_APPLIES) || text.contains(FLUX_SOURCES) || text.contains(ARGO);
    speaks && !text.contains("{{") && !text.contains("${")
}

/// Whether a file that is not YAML holds a cluster. Templates of charts, and manifests with variables in brackets,
/// do not count.
fn speaks_of_a_cluster(text: &str) -> bool {
    makes_a_cluster(text) && !text.contains("{{") && !text.contains("${")
}

/// What a kustomization builds, and the files of its patches.
fn name_targets(
    tree: &dyn Tree,
    folder: &RepoPath,
    root: &Node,
    named: &mut KustomizationTargets,
    patches: &mut BTreeSet<RepoPath>,
) {
    /// What only lists, or says what the file is.
    const LISTS: [&str; 6] = ["resources", "bases", "apiVersion", "kind", "metadata", "sortOptions"];
    for field in INCLUDE_FIELDS {
        let items = kustomization_field(root, field).and_then(|entry| entry.value.as_sequence());
        let paths = items.unwrap_or_default().iter().filter_map(|item| folder.join(item.as_str()?).ok());
        // A path that does not exist in this repository is neither a file nor a folder of it.
        let here = |path: &RepoPath| tree.entry(path).is_some() || !tree.entries_in(path).is_empty();
        named.targets.extend(paths.filter(here));
    }
    for field in PATCH_FIELDS {
        let Some(entry) = kustomization_field(root, field) else { continue };
        for item in entry.value.as_sequence().unwrap_or_default() {
            let text = item.as_str().or_else(|| item.text_at("path"));
            patches.extend(
                text.and_then(|text| folder.join(text).ok()).filter(|path| tree.entry(path).is_some()),
            );
        }
    }
    let entries = root.as_mapping().unwrap_or_default();
    let is_list = |key: &str| LISTS.iter().any(|list| list.eq_ignore_ascii_case(key));
    named.changes |= entries.iter().any(|entry| !is_list(&entry.key));
}

/// The folders that an Application or ApplicationSet names, whether these are all, and the repositories that it names.
fn argo(group: &str, kind: &str, name: &str, object: &Node) -> Option<(Who, Extent, Vec<String>)> {
    if group != ARGO || !matches!(kind, "Application" | "ApplicationSet") {
        return None;
    }
    let (mut written, mut excluded, mut elements) = (Vec::new(), Vec::new(), Vec::new());
    let (mut sources, mut recursing, mut selects, mut extent) = (0_usize, 0_usize, false, Extent::Whole);
    let (mut reading, mut git_lists, mut is_open) = (FolderReading::Kustomized, 0_usize, false);
    let mut urls = Vec::new();
    let mut nodes = vec![object.get("spec")?];
    while let Some(node) = nodes.pop() {
        match &node.kind {
            NodeKind::Mapping(entries) => {
                let path = node.text_at("path").filter(|path| !path.is_empty());
                // The text, or the boolean.
                let is_excluded =
                    node.get("exclude").and_then(Node::as_scalar).is_some_and(|scalar| scalar.text == "true");
                let paths = if is_excluded { &mut excluded } else { &mut written };
                if path.is_some() && paths.len() >= MOST_PATHS {
                    extent = Extent::Cut;
                }
                paths.extend(path.filter(|_| paths.len() < MOST_PATHS));
                // A chart's repository holds no folder.
                let url = node.text_at("repoURL").filter(|_| node.get("chart").is_none());
                urls.extend(url.filter(|_| urls.len() < MOST_PATHS).map(str::to_owned));
                let directory = node.get("directory");
                // One of several sources; it may leave out how it reads its folder.
                if path.is_some() && (directory.is_some() || node.get("repoURL").is_some()) {
                    let recurse = directory.and_then(|directory| directory.get("recurse"));
                    sources += 1;
                    recursing += usize::from(recurse.is_some_and(|value| value.value() == true));
                }
                selects |= directory.is_some_and(|directory| {
                    ["include", "exclude"].iter().any(|key| directory.get(key).is_some())
                });
                if directory.is_some() || node.get("plugin").is_some() {
                    reading = FolderReading::AsFiles;
                }
                let git = node.get("git");
                git_lists +=
                    usize::from(git.is_some_and(|git| {
                        ["directories", "files"].iter().any(|key| git.get(key).is_some())
                    }));
                // What a plugin, a text or a patch gives is not seen.
                is_open |=
                    ["elementsYaml", "templatePatch", "plugin"].iter().any(|key| node.get(key).is_some());
                let listed = node.get("elements").and_then(Node::as_sequence).unwrap_or_default();
                let free = MOST_PATHS.saturating_sub(elements.len());
                if listed.len() > free {
                    extent = Extent::Cut;
                }
                elements.extend(listed.iter().take(free));
                nodes.extend(entries.iter().map(|entry| &entry.value));
            }
            NodeKind::Sequence(items) => nodes.extend(items),
            _ => {}
        }
    }
    let (mut paths, mut guessed): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for path in written {
        if without_variable(path).is_some() {
            let filled: Vec<String> = elements
                .iter()
                .filter_map(|element| filled_in(path, element))
                .filter(|path| without_variable(path).is_none())
                .collect();
            let is_found = is_of_generator(path) && git_lists > 0 && !is_open;
            let is_listed =
                !filled.is_empty() && filled.len() == elements.len() && git_lists == 0 && !is_open;
            if !is_found && !is_listed {
                guessed.push(guess(path));
            }
            let free = MOST_PATHS.saturating_sub(paths.len());
            if filled.len() > free {
                extent = Extent::Cut;
            }
            paths.extend(filled.iter().take(free).map(|path| clean(path)));
        } else {
            paths.push(clean(path));
        }
    }
    paths.sort();
    paths.dedup();
    if is_open && kind == "ApplicationSet" {
        guessed.push("**".to_owned());
        selects = true;
    }
    // An exclusion is one of its own list.
    if git_lists > 1 {
        excluded.clear();
    }
    let excluded = excluded.into_iter().map(clean).collect();
    // One that does not take what is below its folder is enough.
    let depth = if sources > 0 && recursing == sources && !selects { Depth::Below } else { Depth::Here };
    let who = Who::Argo {
        kind: kind.to_owned(),
        name: name.to_owned(),
        paths,
        excluded,
        guessed,
        depth,
        reading,
        git_lists,
    };
    Some((who, extent, urls))
}

/// A path with what an element of a list generator gives, `{{name}}` or `{{.name}}`; `None` where it gives something not.
fn filled_in(path: &str, element: &Node) -> Option<String> {
    let (mut filled, mut rest) = (String::new(), path);
    while let Some((before, after)) = rest.split_once("{{") {
        let (key, after) = after.split_once("}}")?;
        filled.push_str(before);
        filled.push_str(element.text_at(key.trim().trim_start_matches('.'))?);
        rest = after;
    }
    filled.push_str(rest);
    Some(filled)
}

/// Whether a path is what a generator of folders or files found, and nothing more.
fn is_of_generator(path: &str) -> bool {
    let inner = path.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}")).unwrap_or_default();
    matches!(inner.trim().trim_start_matches('.'), "path" | "path.path")
}

/// What is before and after the first variable of a path.
fn without_variable(path: &str) -> Option<(&str, &str)> {
    let found = VARIABLES.iter().filter_map(|(begin, end)| {
        let (before, after) = path.split_once(begin)?;
        Some((before, after.split_once(end).map_or("", |(_, after)| after)))
    });
    found.min_by_key(|(before, _)| before.len())
}

/// A pattern for a path with variables.
fn guess(path: &str) -> String {
    let (mut pattern, mut rest) = (String::new(), path);
    while let Some((before, after)) = without_variable(rest) {
        pattern.push_str(before);
        pattern.push_str("**");
        rest = after;
    }
    pattern.push_str(rest);
    // A value may hold `/`, too.
    let parts = pattern.split('/').map(|part| if part.contains("**") { "**" } else { part });
    clean(&parts.collect::<Vec<_>>().join("/"))
}

/// Whether a spec has patches, at any depth.
fn patches(spec: &Node) -> bool {
    let is_patches = |key: &str| key == "components" || PATCH_FIELDS.contains(&key);
    let mut open = vec![spec];
    while let Some(node) = open.pop() {
        match &node.kind {
            NodeKind::Mapping(entries) => {
                if entries.iter().any(|entry| is_patches(&entry.key)) {
                    return true;
                }
                open.extend(entries.iter().map(|entry| &entry.value));
            }
            NodeKind::Sequence(items) => open.extend(items),
            NodeKind::Scalar(_) => {}
        }
    }
    false
}

/// Whether a path of Argo CD is a pattern.
pub(super) fn has_wildcards(path: &str) -> bool {
    path.contains(['*', '?', '[', '{'])
}

fn clean(path: &str) -> String {
    path.trim_start_matches("./").trim_matches('/').to_owned()
}
