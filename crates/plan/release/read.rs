//! From a release's folder to a [`Release`].

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Rendering;
use super::giant_swarm::{self, ReleaseManifest};
use super::kubernetes::{class_versions, holds_providers, infrastructure_kinds, kubernetes_version};
use super::parts::{Release, ReleaseService, ReleaseState};
use crate::layout::{ReleaseFolder, ReleaseShelf, ServiceFiles};
use crate::settings::ReleaseSettings;
use crate::strangers::first_stranger;
use capstan_kustomize::render::{RenderError, RenderErrorKind};
use capstan_model::finding::{FileError, Finding, Place, rules};
use capstan_model::ids::ContentId;
use capstan_model::target::TargetKind;
use capstan_model::tree::{Tree, TreeEntry, is_manifest};
use capstan_model::version::KubernetesVersion;
use capstan_yaml::{Node, YamlError, YamlFile};

/// Why a release cannot be read. Such a release is never offered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReleaseError {
    /// One of its files cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// Its kustomizations cannot be rendered.
    #[error("{0}")]
    Render(#[source] RenderError),
}

impl ReleaseError {
    /// Where.
    pub const fn place(&self) -> &Place {
        match self {
            Self::Render(error) => error.place(),
            Self::File(error) => &error.place,
        }
    }

    /// All that is wrong, a finding each.
    pub fn findings(&self) -> Vec<Finding> {
        match self {
            Self::File(error) => error.findings().collect(),
            // Whatever else the trouble is: of the release it is that it cannot be rendered.
            Self::Render(error) => {
                let rule = match error.trouble() {
                    RenderErrorKind::TooLarge => rules::TOO_LARGE,
                    _ => rules::RENDER_FAILED,
                };
                vec![Finding::new(rule, error.to_string()).place(error.place().clone())]
            }
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
            None => ReleaseManifest::default(),
        };
        let (mut kinds, mut kubernetes) = (BTreeSet::new(), manifest.kubernetes());
        let rendering = Rendering::of(tree, &folder.folder, &folder.base_files, &folder.overlay_files)
            .map_err(ReleaseError::Render)?;
        let (mut files, mut paths) = (Vec::new(), Vec::new());
        let own_files = folder.base_files.iter().chain(&folder.overlay_files);
        for entry in own_files.filter(|entry| is_manifest(&entry.path) && rendering.reads(&entry.path)) {
            files.push(template(tree, entry)?);
            paths.push(entry.path.clone());
        }
        let rendered: Vec<Node> = rendering.nodes().collect();
        let of_files = || files.iter().flat_map(YamlFile::documents).map(|document| &document.root);
        let roots = || of_files().chain(&rendered);
        for root in roots() {
            kinds.extend(infrastructure_kinds(root));
        }
        let kind = if roots().any(holds_providers) { TargetKind::Providers } else { TargetKind::Cluster };
        if kind == TargetKind::Providers {
            let named = files.iter().zip(&paths).map(|(file, path)| (path, file));
            if let Some((place, message)) = first_stranger(TargetKind::Cluster, named) {
                return Err(FileError::new(rules::PROVIDERS_BESIDE_OTHERS, place, message).into());
            }
            // The `version` of a provider object is not a version of Kubernetes.
            kubernetes = None;
        } else {
            kubernetes = kubernetes.or_else(|| kubernetes_version(roots(), &settings.variables));
        }
        let class_versions = class_versions(roots());
        let services = services(tree, folder)?;
        let content = tree.folder_id(&folder.folder);
        let mut outside = rendering.outside.clone();
        for entry in services.iter().flat_map(|service: &ReleaseService| &service.rendering.outside) {
            if !outside.contains(entry) {
                outside.push(entry.clone());
            }
        }
        Ok(Self {
            state: state(folder, manifest.state),
            content: content.map(|tree| ContentId::new(tree, &folder.folder, &outside)),
            id: folder.id.clone(),
            folder: folder.folder.clone(),
            provider: folder.provider.clone(),
            version: folder.version.clone(),
            kind,
            date: manifest.date,
            kubernetes,
            class_versions,
            components: manifest.components,
            apps: manifest.apps,
            variables: settings.variables,
            infrastructure_kinds: kinds,
            base_files: folder.base_files.clone(),
            overlay_files: folder.overlay_files.clone(),
            services: services.into(),
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

/// The services, each of whose files can be read.
fn services(tree: &dyn Tree, folder: &ReleaseFolder) -> Result<Vec<ReleaseService>, ReleaseError> {
    let of = |files: &ServiceFiles| {
        let part = files.folder.inside(&folder.folder);
        let rendering =
            Rendering::of_part(tree, &folder.folder, &part, &files.files).map_err(ReleaseError::Render)?;
        let own = files.files.iter().filter(|entry| is_manifest(&entry.path) && rendering.reads(&entry.path));
        for entry in own.chain(files.overlay_files.iter().filter(|entry| is_manifest(&entry.path))) {
            template(tree, entry)?;
        }
        Ok(ReleaseService { files: files.clone(), rendering: Arc::new(rendering) })
    };
    folder.services.iter().map(of).collect()
}

/// The strongest reason not to offer it counts.
fn state(folder: &ReleaseFolder, written: Option<ReleaseState>) -> ReleaseState {
    let shelf = (folder.shelf == ReleaseShelf::Archived).then_some(ReleaseState::Archived);
    let prerelease = folder.version.is_prerelease().then_some(ReleaseState::Prerelease);
    [shelf, written, prerelease].into_iter().flatten().max().unwrap_or(ReleaseState::Active)
}

fn text(tree: &dyn Tree, entry: &TreeEntry) -> Result<YamlFile, FileError> {
    let bytes: Arc<[u8]> = tree.read(entry)?;
    YamlFile::read_bytes(&bytes).map_err(|error| invalid(entry, error))
}

/// A manifest of a release may be YAML only once its variables have values.
fn template(tree: &dyn Tree, entry: &TreeEntry) -> Result<YamlFile, FileError> {
    let bytes: Arc<[u8]> = tree.read(entry)?;
    YamlFile::read_template_bytes(&bytes).map_err(|error| invalid(entry, error))
}

fn invalid(entry: &TreeEntry, error: YamlError) -> FileError {
    FileError::new(rules::INVALID_YAML, Place::at(entry.path.clone(), error.position), error.message)
}
