//! From a folder to a [`Cluster`].

use std::collections::BTreeMap;

use super::record::{RecordedBy, RecordedRelease};
use super::{Cluster, ParsedBaseFile};
use super::{provider_sets, services};
use crate::giant_swarm::{self, ReleaseScalar};
use crate::layout::TargetFolder;
use crate::release::{class_versions, infrastructure_kinds, kubernetes_version};
use crate::settings::{ClusterSettings, OverlaySettings};
use capstan_kustomize::render::is_kustomization;
use capstan_model::finding::{FileError, Finding, Place, rules};
use capstan_model::ids::ReleaseName;
use capstan_model::kinds::{KindRole, role};
use capstan_model::target::TargetKind;
use capstan_model::tree::{RepoPath, Tree, TreeEntry, is_manifest};
use capstan_yaml::manifest::{group_and_kind, objects};
use capstan_yaml::{Node, YamlFile};

impl Cluster {
    /// Reads a cluster or provider set: its settings and every manifest of its base.
    ///
    /// # Errors
    /// The first file that cannot be read, is not valid YAML, or holds invalid settings. The caller refuses that
    /// cluster and continues with the others. If the base has a kustomization, a file that is not YAML and that no
    /// kustomization names is skipped.
    pub fn read(tree: &dyn Tree, folder: &TargetFolder) -> Result<Self, FileError> {
        let settings = Self::settings_of(tree, folder)?;
        let overlay_settings = Self::overlay_settings_of(tree, folder)?;
        let mut base = Vec::new();
        for entry in folder.base_files.iter().filter(|entry| is_manifest(&entry.path)) {
            match yaml(tree, entry) {
                Ok(file) => base.push(ParsedBaseFile { entry: entry.clone(), file }),
                Err(error) if error.rule == rules::INVALID_YAML && is_unread(tree, folder, entry) => {}
                Err(error) => return Err(error),
            }
        }
        let is_set = folder.kind == TargetKind::Providers;
        let documents = || base.iter().flat_map(|manifest| manifest.file.documents());
        let roots = || documents().flat_map(|document| objects(&document.root)).map(|(_, object)| object);
        let release_scalar = giant_swarm::find(&files_of(&base));
        let recorded = recorded(release_scalar.as_ref(), settings.as_ref(), roots());
        let mut findings: Vec<Finding> =
            record_differs(release_scalar.as_ref(), settings.as_ref()).into_iter().collect();
        findings.extend(provider_sets::beside_others(folder.kind, &base));
        findings.extend(provider_sets::overlay_changes(folder));
        findings.extend(services::of_cluster(tree, folder, settings.as_ref(), overlay_settings.as_ref()));
        Ok(Self {
            id: folder.id.clone(),
            folder: folder.clone(),
            infrastructure_kinds: roots().flat_map(infrastructure_kinds).collect(),
            class_versions: class_versions(roots()),
            // The `version` of provider objects is not a version of Kubernetes.
            kubernetes: kubernetes_version(
                roots().filter(|_| !is_set),
                settings.as_ref().map_or(&BTreeMap::new(), |s| &s.variables),
            ),
            base,
            settings,
            overlay_settings,
            recorded,
            release_scalar,
            findings,
        })
    }

    /// What a cluster's `capstan.yaml` says, without reading anything else; `None` where it has none.
    ///
    /// # Errors
    /// A file that cannot be read, is not valid YAML, or holds invalid settings.
    pub fn settings_of(tree: &dyn Tree, folder: &TargetFolder) -> Result<Option<ClusterSettings>, FileError> {
        let Some(entry) = &folder.settings else { return Ok(None) };
        Ok(Some(ClusterSettings::read(&entry.path, yaml(tree, entry)?.text())?))
    }

    /// A cluster's overlay's `capstan.yaml`, where it has one.
    ///
    /// # Errors
    /// As [`settings_of`](Self::settings_of).
    pub fn overlay_settings_of(
        tree: &dyn Tree,
        folder: &TargetFolder,
    ) -> Result<Option<OverlaySettings>, FileError> {
        let Some(entry) = &folder.overlay_settings else { return Ok(None) };
        Ok(Some(OverlaySettings::read(&entry.path, yaml(tree, entry)?.text())?))
    }
}

/// Whether a file of a base is not read: the base has a kustomization, and no kustomization there contains the
/// file's name. It is called for files that cannot be parsed. So it searches for the name anywhere, and not only in
/// the fields that kustomize knows today.
pub fn is_unread(tree: &dyn Tree, folder: &TargetFolder, file: &TreeEntry) -> bool {
    let kustomizations = || folder.base_files.iter().filter(|entry| is_kustomization(&entry.path));
    let name = file.path.name().as_bytes();
    let says = |entry: &TreeEntry| {
        let bytes = tree.read(entry);
        bytes.map_or(true, |bytes| bytes.windows(name.len()).any(|window| window == name))
    };
    folder.base_files.contains(file)
        && kustomizations().any(|entry| entry.path.parent().as_ref() == Some(&folder.base))
        && kustomizations().all(|entry| entry.path != file.path && !says(entry))
}

fn yaml(tree: &dyn Tree, entry: &TreeEntry) -> Result<YamlFile, FileError> {
    let bytes = tree.read(entry)?;
    YamlFile::read_bytes(&bytes).map_err(|error| {
        FileError::new(rules::INVALID_YAML, Place::at(entry.path.clone(), error.position), error.message)
    })
}

/// The first that is found, in the order of [`RecordedBy`].
fn recorded<'a>(
    scalar: Option<&ReleaseScalar>,
    settings: Option<&ClusterSettings>,
    roots: impl Iterator<Item = &'a Node> + Clone,
) -> Option<RecordedRelease> {
    let written = settings.and_then(|settings| settings.release.clone());
    let content = settings.and_then(ClusterSettings::release_content);
    if let Some(name) = scalar.and_then(|scalar| ReleaseName::parse(&scalar.version)) {
        // The content is that of the release in the record; of another one it would be the wrong one.
        let agrees = written.as_ref().is_some_and(|id| id.version() == name.version());
        let content = content.filter(|_| agrees);
        return Some(RecordedRelease { name, content, by: RecordedBy::ConfigMap });
    }
    if let Some(id) = written {
        return Some(RecordedRelease { name: ReleaseName::Id(id), content, by: RecordedBy::Settings });
    }
    let from = |field: &str, key: &str, by: RecordedBy| {
        let name = roots.clone().filter(|root| is_cluster(root)).find_map(|root| {
            let value = root.get("metadata")?.get(field)?.get(key)?.as_scalar()?;
            ReleaseName::parse(&value.text)
        });
        name.map(|name| RecordedRelease { name, content: None, by })
    };
    from("annotations", "capstan.dev/release", RecordedBy::Annotation)
        .or_else(|| from("labels", "release.giantswarm.io/version", RecordedBy::Label))
}

fn is_cluster(root: &Node) -> bool {
    group_and_kind(root).is_some_and(|(group, kind)| role(group, kind) == Some(KindRole::Cluster))
}

fn record_differs(scalar: Option<&ReleaseScalar>, settings: Option<&ClusterSettings>) -> Option<Finding> {
    let scalar = scalar?;
    let written = settings?.release.as_ref()?;
    let named = ReleaseName::parse(&scalar.version)?;
    if named.version() == written.version() {
        return None;
    }
    let message = format!(
        "the ConfigMap {} names release {}, but capstan.yaml records {written}. The ConfigMap counts. Correct `release` in capstan.yaml, or remove both lines: the next upgrade writes them",
        scalar.object.name, scalar.version
    );
    Some(
        Finding::new(rules::RELEASE_RECORD_DIFFERS, message)
            .place(scalar.place.clone())
            .object(&scalar.object)
            .path(&scalar.path),
    )
}

fn files_of(manifests: &[ParsedBaseFile]) -> Vec<(&RepoPath, &YamlFile)> {
    manifests.iter().map(|manifest| (&manifest.entry.path, &manifest.file)).collect()
}
