//! What a release brings of services, read once.

use std::collections::BTreeMap;

use crate::merge::{ReleaseSource, SourceFacts, SourceFile};
use crate::release::Release;
use crate::settings::{FOLDER_FILE, ServiceFolder};
use capstan_kustomize::schema::Schemas;
use capstan_model::finding::{FileError, Place, rules};
use capstan_model::tree::{Tree, TreeEntry, is_manifest};
use capstan_yaml::{Node, YamlFile};

/// Lists of entries with names.
pub(super) const LISTS: [&str; 2] = ["services", "owners"];
/// The cloud's name.
pub(super) const CLOUD: &str = "cloud";

#[derive(Debug)]
pub struct ReleaseServices {
    /// The documents of each folder.
    pub(super) folders: BTreeMap<ServiceFolder, ReleaseSource>,
    /// Its `capstan.yaml`, where it has one.
    pub(super) settings: Option<YamlFile>,
    /// No documents at all, in the place of a folder that it does not have.
    pub(super) nothing: ReleaseSource,
}

impl ReleaseServices {
    /// Reads those of a release.
    ///
    /// # Errors
    /// A file that cannot be read, with its place.
    pub fn read(tree: &dyn Tree, release: &Release, schemas: &Schemas) -> Result<Self, FileError> {
        let mut folders = BTreeMap::new();
        let source = |facts: &SourceFacts| ReleaseSource::read_with(release.id.clone(), None, facts, schemas);
        for service in release.services.iter() {
            let facts = SourceFacts {
                base_folder: service.files.folder.inside(&release.folder),
                base: files(tree, &service.files.files)?,
                overlay: files(tree, &service.files.overlay_files)?,
                variables: release.variables.clone(),
                rendering: service.rendering.clone(),
            };
            folders.insert(service.files.folder.clone(), source(&facts)?);
        }
        let entry = release.folder.join(FOLDER_FILE).ok().and_then(|path| tree.entry(&path).cloned());
        let settings = match entry.filter(TreeEntry::is_file) {
            Some(entry) => Some(file(tree, &entry)?.read()?),
            None => None,
        };
        let nothing =
            source(&SourceFacts { variables: release.variables.clone(), ..SourceFacts::default() })?;
        Ok(Self { folders, settings, nothing })
    }

    /// Whether it brings none, and says nothing of them.
    pub fn is_empty(&self) -> bool {
        self.folders.is_empty() && LISTS.iter().chain([&CLOUD]).all(|key| self.said(key).is_none())
    }

    /// Names of files of one service that are not manifests, and that its kustomizations generate objects from.
    pub fn contents(&self, folder: &ServiceFolder) -> impl Iterator<Item = &str> {
        self.folders.get(folder).into_iter().flat_map(ReleaseSource::contents)
    }

    /// What its `capstan.yaml` says under a key.
    pub(super) fn said(&self, key: &str) -> Option<&Node> {
        let root = &self.settings.as_ref()?.documents().first()?.root;
        root.get(key).filter(|node| !node.is_null())
    }
}

pub(super) fn files(tree: &dyn Tree, entries: &[TreeEntry]) -> Result<Vec<SourceFile>, FileError> {
    entries.iter().filter(|entry| is_manifest(&entry.path)).map(|entry| file(tree, entry)).collect()
}

fn file(tree: &dyn Tree, entry: &TreeEntry) -> Result<SourceFile, FileError> {
    let bytes = tree.read(entry)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| {
        let place = Place::whole(entry.path.clone());
        FileError::new(rules::INVALID_YAML, place, "not UTF-8 text; save the file as UTF-8")
    })?;
    Ok(SourceFile::new(entry.path.clone(), text))
}
