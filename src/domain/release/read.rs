//! From a release's folder to a [`Release`].

use std::collections::BTreeSet;
use std::sync::Arc;

use super::giant_swarm::{self, Manifest};
use super::kubernetes::{infrastructure_kinds, kubernetes_version};
use super::{ContentId, Release, ReleaseState, Rendering};
use crate::layout::{ReleaseFolder, Shelf};
use crate::render::RenderError;
use crate::settings::{ReleaseSettings, SettingsError};
use crate::tree::{RepoPath, Tree, TreeEntry, Unreadable, is_manifest};
use crate::version::KubernetesVersion;
use crate::yaml::{Node, YamlError, YamlFile};

/// Why a release cannot be read. Such a release is never offered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReleaseError {
    /// A file's content cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// A file is no YAML.
    #[error("{file}:{}:{}: {}", source.position.line, source.position.column, source.message)]
    Yaml {
        /// The file.
        file: RepoPath,
        /// What is wrong.
        source: YamlError,
    },
    /// Its `capstan.yaml` is wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Its kustomizations cannot be rendered.
    #[error("{0}")]
    Render(#[source] RenderError),
    /// Its `release.yaml` is YAML, but no Release.
    #[error("{file}:{line}:{column}: {message}")]
    Manifest {
        /// The file.
        file: RepoPath,
        /// Line, from 1.
        line: u32,
        /// Column, from 1.
        column: u32,
        /// What was found and what is expected.
        message: String,
    },
}

impl ReleaseError {
    /// The file.
    pub const fn file(&self) -> &RepoPath {
        match self {
            Self::Render(error) => error.file(),
            Self::Unreadable(unreadable) => &unreadable.path,
            Self::Yaml { file, .. } | Self::Manifest { file, .. } => file,
            Self::Settings(error) => &error.file,
        }
    }

    /// Line and column, where known.
    pub const fn place(&self) -> Option<(u32, u32)> {
        match self {
            Self::Unreadable(_) => None,
            Self::Render(error) => match (error.line(), error.column()) {
                (Some(line), Some(column)) => Some((line, column)),
                _ => None,
            },
            Self::Yaml { source, .. } => Some((source.position.line, source.position.column)),
            Self::Manifest { line, column, .. } => Some((*line, *column)),
            Self::Settings(error) => match (error.line, error.column) {
                (Some(line), Some(column)) => Some((line, column)),
                _ => None,
            },
        }
    }
}

impl Release {
    /// Reads a release: its `release.yaml` and `capstan.yaml` where there are, and what its objects say
    /// about Kubernetes and infrastructure.
    pub fn read(tree: &dyn Tree, folder: &ReleaseFolder) -> Result<Self, ReleaseError> {
        let settings = match &folder.settings {
            Some(entry) => ReleaseSettings::read(&entry.path, text(tree, entry)?.text())?,
            None => ReleaseSettings::default(),
        };
        let manifest = match &folder.manifest {
            Some(entry) => giant_swarm::read(&entry.path, &text(tree, entry)?)?,
            None => Manifest::default(),
        };
        let (mut kinds, mut kubernetes) = (BTreeSet::new(), manifest.kubernetes());
        let rendering = Rendering::of(tree, &folder.folder, &folder.base_files, &folder.overlay_files)
            .map_err(ReleaseError::Render)?;
        let mut files = Vec::new();
        let own_files = folder.base_files.iter().chain(&folder.overlay_files);
        for entry in own_files.filter(|entry| is_manifest(&entry.path) && rendering.reads(&entry.path)) {
            files.push(template(tree, entry)?);
        }
        let rendered: Vec<Node> = rendering.nodes().collect();
        let of_files = || files.iter().flat_map(YamlFile::documents).map(|document| &document.root);
        let roots = || of_files().chain(&rendered);
        for root in roots() {
            kinds.extend(infrastructure_kinds(root));
        }
        kubernetes = kubernetes.or_else(|| kubernetes_version(roots(), &settings.variables));
        let content = tree.folder_id(&folder.folder);
        Ok(Self {
            state: state(folder, manifest.state),
            content: content.map(|tree| ContentId::new(tree, &folder.folder, &rendering.outside)),
            id: folder.id.clone(),
            folder: folder.folder.clone(),
            provider: folder.provider.clone(),
            version: folder.version.clone(),
            date: manifest.date,
            kubernetes,
            components: manifest.components,
            apps: manifest.apps,
            variables: settings.variables,
            infrastructure_kinds: kinds,
            base_files: folder.base_files.clone(),
            overlay_files: folder.overlay_files.clone(),
            rendering: Arc::new(rendering),
            manifest: folder.manifest.clone(),
            notes: folder.notes.clone(),
            unmet: Vec::new(),
        })
    }

    /// Kubernetes' version; see [`Release::kubernetes`].
    pub const fn kubernetes(&self) -> Option<&KubernetesVersion> {
        self.kubernetes.as_ref()
    }
}

/// The strongest reason not to offer it counts.
fn state(folder: &ReleaseFolder, written: Option<ReleaseState>) -> ReleaseState {
    let shelf = (folder.shelf == Shelf::Archived).then_some(ReleaseState::Archived);
    let prerelease = folder.version.is_prerelease().then_some(ReleaseState::Prerelease);
    [shelf, written, prerelease].into_iter().flatten().max().unwrap_or(ReleaseState::Active)
}

fn text(tree: &dyn Tree, entry: &TreeEntry) -> Result<YamlFile, ReleaseError> {
    let bytes: Arc<[u8]> = tree.read(entry)?;
    YamlFile::read_bytes(&bytes).map_err(|source| ReleaseError::Yaml { file: entry.path.clone(), source })
}

/// A manifest of a release may be YAML only once its variables have values.
fn template(tree: &dyn Tree, entry: &TreeEntry) -> Result<YamlFile, ReleaseError> {
    let bytes: Arc<[u8]> = tree.read(entry)?;
    YamlFile::read_template_bytes(&bytes)
        .map_err(|source| ReleaseError::Yaml { file: entry.path.clone(), source })
}
