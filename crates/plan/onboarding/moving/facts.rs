//! What a move of clusters is decided on, and what it comes to.

use std::collections::{BTreeMap, BTreeSet};

use capstan_kustomize::render::is_kustomization;
use capstan_model::file_change::FileChange;
use capstan_model::finding::{FileError, Place};
use capstan_model::tree::{RepoPath, Tree, TreeEntry, is_manifest};

use super::super::sources::RepositoryAddresses;
use super::super::survey::{Survey, chart_around};
use super::super::units::Units;
use crate::layout::Layout;

/// The folder into whose folders the clusters of the repository's root go.
pub(super) const FOLDER_OF_ROOT: &str = "clusters";

/// A file with this text may hold objects of Cluster API.
pub(super) const CLUSTER_API: &str = "cluster.x-k8s.io";

/// What is known of the repository.
pub(super) struct MoveFacts<'t> {
    pub(super) tree: &'t dyn Tree,
    pub(super) own: &'t RepositoryAddresses,
    pub(super) shaped: Layout,
    pub(super) survey: Survey,
    pub(super) units: Units,
    /// Where in its folder a cluster has its manifests.
    pub(super) base: RepoPath,
}

impl MoveFacts<'_> {
    /// The folder of the manifests of a cluster that leaves a crowded one.
    pub(super) fn home(&self, crowded: &RepoPath, name: &str) -> Option<RepoPath> {
        own_folder(crowded, name)?.join(self.base.as_str()).ok()
    }

    /// The manifests of a crowded folder: those below it as well, but in what is a cluster, a release or a build of its
    /// own. Of the root only what is directly in it: everything is below it.
    pub(super) fn manifests(&self, folder: &RepoPath) -> Vec<&TreeEntry> {
        let apart = self.apart(folder);
        let counts = |entry: &&TreeEntry| {
            let below = entry.path.below(folder).unwrap_or_default();
            let inner = below.split_once('/').map(|(inner, _)| inner);
            is_manifest(&entry.path)
                && !is_kustomization(&entry.path)
                && inner.is_none_or(|inner| {
                    !folder.is_root() && !inner.starts_with('.') && !apart.contains(inner)
                })
                && !self.survey.patches.contains(&entry.path)
                && chart_around(self.tree, &entry.path).is_none()
        };
        self.tree.entries_in(folder).iter().filter(counts).collect()
    }

    /// The folders directly in a crowded one that something of its own is in.
    pub(super) fn apart(&self, folder: &RepoPath) -> BTreeSet<&str> {
        let units = self.units.folders.keys().chain(self.units.crowded.keys());
        let targets = self.shaped.targets.iter().map(|target| target.id.folder());
        let releases = self.shaped.releases.iter().map(|release| &release.folder);
        let all = units.chain(self.survey.kustomizations.keys()).chain(targets).chain(releases);
        let below = all.filter_map(|other| other.below(folder));
        below.filter_map(|below| below.split('/').next()).filter(|inner| !inner.is_empty()).collect()
    }
}

/// What would be moved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moving {
    /// The folders that the clusters get, where their manifests are.
    pub clusters: Vec<RepoPath>,
    /// Each file that moves, and where its documents come to be; its own path where some stay.
    pub moves: BTreeMap<RepoPath, BTreeSet<RepoPath>>,
    /// Objects that stay in a crowded folder, and why.
    pub kept: Vec<(Place, String)>,
    /// Kustomizations that name the new folders instead of the files.
    pub edited: Vec<RepoPath>,
    /// All files as they would be: nothing where something is refused.
    pub changes: Vec<FileChange>,
    /// Why nothing is moved.
    pub refused: Vec<FileError>,
    /// What has to come to the same objects before and after: kustomizations, and folders that are applied as they are.
    pub(super) rendered: BTreeSet<RepoPath>,
    /// The clusters that move, as the objects elsewhere name them.
    pub(super) leaving: Vec<LeavingCluster>,
}

/// A cluster that leaves a crowded folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeavingCluster {
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    /// What its object names: kinds and names, and namespaces where it says them.
    pub(super) names: Vec<(String, String, Option<String>)>,
    /// The crowded folder.
    pub(super) from: RepoPath,
    /// The folder that it gets.
    pub(super) home: RepoPath,
}

/// The folder of a cluster that leaves a crowded one.
pub(super) fn own_folder(crowded: &RepoPath, name: &str) -> Option<RepoPath> {
    let above = if crowded.is_root() { FOLDER_OF_ROOT } else { crowded.as_str() };
    RepoPath::parse(above).ok()?.join(name).ok()
}

/// A folder in words.
pub(super) fn in_words(folder: &RepoPath) -> &str {
    if folder.is_root() { "the repository's root" } else { folder.as_str() }
}
