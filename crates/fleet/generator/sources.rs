//! Releases as sources of change: read once, kept, and shared by every plan of a fleet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use capstan_inventory::components::InventoryComponent;
use capstan_inventory::survey::ReleaseParts;
use capstan_kustomize::schema::Schemas;
use capstan_model::finding::Place;
use capstan_model::ids::{ContentId, ReleaseId};
use capstan_model::tree::{RepoPath, Tree, TreeEntry, TreeId, is_manifest};
use capstan_plan::inventory::ReleaseTemplates;
use capstan_plan::layout::{NOTES, ReleaseFolder, ReleaseShelf, TargetFolder, services_in};
use capstan_plan::merge::{OtherFile, ReleaseSource, SourceFacts, SourceFile};
use capstan_plan::release::{Release, ReleaseContent, ReleaseError, Standalone};
use capstan_plan::services::ReleaseServices;
use capstan_plan::settings::FOLDER_FILE;
use capstan_plan::upgrade::{ChangeSource, GiantSwarmRelease};

use super::refused::Refused;
use super::renders::Renders;

/// A source that was read, or why it cannot be.
pub(super) type ReadSource = Result<Box<dyn ChangeSource>, Refused>;

/// Sources by what identifies their content.
#[derive(Default)]
pub(super) struct Sources {
    read: Mutex<BTreeMap<Key, Arc<ReadSource>>>,
    templates: Mutex<BTreeMap<Key, Arc<ReleaseTemplates>>>,
    services: Mutex<BTreeMap<Key, Arc<ReleaseServices>>>,
    components: Mutex<BTreeMap<(RepoPath, TreeId), Arc<InventoryComponent>>>,
    /// Those with templates, as clusters' values have them.
    pub(super) renders: Renders,
}

/// How many components are kept: those that are in use, and a past version of each.
const MOST_COMPONENTS: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// A release folder of the snapshot.
    Folder(RepoPath),
    /// Content from elsewhere.
    Content(ContentId),
}

impl Sources {
    /// With these renders, and nothing read yet.
    pub(super) fn with_renders(renders: Renders) -> Self {
        Self { renders, ..Self::default() }
    }

    /// A release of the snapshot as a source.
    pub(super) fn of_release(
        &self,
        tree: &dyn Tree,
        release: &Release,
        schemas: &Schemas,
    ) -> Arc<ReadSource> {
        self.cached(Key::Folder(release.folder.clone()), || read(tree, release, schemas))
    }

    /// A release from content of its own.
    pub(super) fn of_content(
        &self,
        content: &ReleaseContent,
        release: &ReleaseId,
        id: &ContentId,
        schemas: &Schemas,
    ) -> Arc<ReadSource> {
        self.cached(Key::Content(id.clone()), || {
            let tree = Standalone::new(release, content.clone(), &id.reads);
            let found = Release::read(&tree, &standing_alone(&tree, release)?);
            let mut read_release = found.map_err(|error| alone(release, error))?;
            read_release.content = Some(id.clone());
            read(&tree, &read_release, schemas)
        })
    }

    /// A release of the snapshot with its schema and templates.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(super) fn templates_of(
        &self,
        tree: &dyn Tree,
        release: &Release,
    ) -> Result<Arc<ReleaseTemplates>, Refused> {
        self.cached_templates(Key::Folder(release.folder.clone()), || read_templates(tree, release))
    }

    /// The same of content from elsewhere.
    ///
    /// # Errors
    /// What cannot be read.
    pub(super) fn templates_of_content(
        &self,
        content: &ReleaseContent,
        release: &ReleaseId,
        id: &ContentId,
    ) -> Result<Arc<ReleaseTemplates>, Refused> {
        self.cached_templates(Key::Content(id.clone()), || {
            let tree = Standalone::new(release, content.clone(), &id.reads);
            let found = Release::read(&tree, &standing_alone(&tree, release)?);
            let mut read_release = found.map_err(|error| alone(release, error))?;
            read_release.content = Some(id.clone());
            read_templates(&tree, &read_release)
        })
    }

    /// What a release of the snapshot brings of services.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(super) fn services_of(
        &self,
        tree: &dyn Tree,
        release: &Release,
        schemas: &Schemas,
    ) -> Result<Arc<ReleaseServices>, Refused> {
        self.cached_services(Key::Folder(release.folder.clone()), || {
            Ok(ReleaseServices::read(tree, release, schemas)?)
        })
    }

    /// The same of content from elsewhere.
    ///
    /// # Errors
    /// What cannot be read.
    pub(super) fn services_of_content(
        &self,
        content: &ReleaseContent,
        release: &ReleaseId,
        id: &ContentId,
        schemas: &Schemas,
    ) -> Result<Arc<ReleaseServices>, Refused> {
        self.cached_services(Key::Content(id.clone()), || {
            let tree = Standalone::new(release, content.clone(), &id.reads);
            let found = Release::read(&tree, &standing_alone(&tree, release)?);
            let read_release = found.map_err(|error| alone(release, error))?;
            Ok(ReleaseServices::read(&tree, &read_release, schemas)?)
        })
    }

    fn cached_services(
        &self,
        key: Key,
        read: impl FnOnce() -> Result<ReleaseServices, Refused>,
    ) -> Result<Arc<ReleaseServices>, Refused> {
        let mut known = self.services.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(services) = known.get(&key) {
            return Ok(Arc::clone(services));
        }
        let services = Arc::new(read()?);
        known.insert(key, Arc::clone(&services));
        Ok(services)
    }

    fn cached_templates(
        &self,
        key: Key,
        read: impl FnOnce() -> Result<ReleaseTemplates, Refused>,
    ) -> Result<Arc<ReleaseTemplates>, Refused> {
        let mut known = self.templates.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(templates) = known.get(&key) {
            return Ok(Arc::clone(templates));
        }
        let templates = Arc::new(read()?);
        known.insert(key, Arc::clone(&templates));
        Ok(templates)
    }

    /// A component by its folder and that folder's tree; `read` reads it if it is not kept.
    pub(super) fn component(
        &self,
        (path, tree): (&RepoPath, &TreeId),
        read: impl FnOnce() -> Option<InventoryComponent>,
    ) -> Option<Arc<InventoryComponent>> {
        let key = (path.clone(), tree.clone());
        let known = || self.components.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(component) = known().get(&key) {
            return Some(Arc::clone(component));
        }
        let component = Arc::new(read()?);
        // What could not be read now may be readable the next time.
        if component.is_whole() {
            let mut known = known();
            if known.len() >= MOST_COMPONENTS {
                known.clear();
            }
            known.insert(key, Arc::clone(&component));
        }
        Some(component)
    }

    fn cached(&self, key: Key, read: impl FnOnce() -> ReadSource) -> Arc<ReadSource> {
        let mut known = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(source) = known.get(&key) {
            return Arc::clone(source);
        }
        let source = Arc::new(read());
        // What could not be read now may be readable the next time.
        if source.is_ok() {
            known.insert(key, Arc::clone(&source));
        }
        source
    }
}

fn facts(tree: &dyn Tree, release: &Release) -> Result<SourceFacts, Refused> {
    Ok(SourceFacts {
        base_folder: release.folder.join("base").unwrap_or_default(),
        base: files(tree, &release.base_files)?,
        overlay: files(tree, &release.overlay_files)?,
        variables: release.variables.clone(),
        rendering: Arc::clone(&release.rendering),
    })
}

fn read_templates(tree: &dyn Tree, release: &Release) -> Result<ReleaseTemplates, Refused> {
    Ok(ReleaseTemplates {
        id: release.id.clone(),
        content: release.content.clone(),
        folder: release.folder.clone(),
        facts: facts(tree, release)?,
        parts: ReleaseParts::read_in(tree, &release.folder, &release.id),
    })
}

/// The one place that knows which kinds of releases there are.
fn read(tree: &dyn Tree, release: &Release, schemas: &Schemas) -> ReadSource {
    let facts = facts(tree, release)?;
    let documents = ReleaseSource::read_with(release.id.clone(), release.content.clone(), &facts, schemas)?;
    Ok(match &release.manifest {
        Some(entry) => Box::new(GiantSwarmRelease::read(documents, &file(tree, entry)?)?),
        None => Box::new(documents),
    })
}

/// The manifests among these entries, with their texts.
pub(super) fn files(tree: &dyn Tree, entries: &[TreeEntry]) -> Result<Vec<SourceFile>, Refused> {
    entries.iter().filter(|entry| is_manifest(&entry.path)).map(|entry| file(tree, entry)).collect()
}

/// The files of a cluster's base that are not manifests and whose names releases have, too.
pub(super) fn contents<'s>(
    tree: &dyn Tree,
    cluster: &TargetFolder,
    releases: impl Iterator<Item = &'s ReleaseSource>,
) -> Result<Vec<OtherFile>, Refused> {
    let names: BTreeSet<&str> = releases.flat_map(ReleaseSource::contents).collect();
    let known = cluster.base_files.iter().filter_map(|entry| {
        let below = entry.path.below(&cluster.base).filter(|below| names.contains(below))?;
        let (bytes, blob) = (tree.read(entry), entry.blob.clone());
        let text = bytes.map(|bytes| std::str::from_utf8(&bytes).ok().map(Arc::from));
        Some(
            text.map(|text| OtherFile { below: below.to_owned(), blob, text })
                .map_err(|error| Refused { message: error.reason, place: Some(Place::whole(error.path)) }),
        )
    });
    known.collect()
}

/// One file with its text.
pub(super) fn file(tree: &dyn Tree, entry: &TreeEntry) -> Result<SourceFile, Refused> {
    let refused = |message: String, place: Place| Refused { message, place: Some(place) };
    let bytes = tree.read(entry).map_err(|error| refused(error.reason, Place::whole(error.path)))?;
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let line = bytes.iter().take(error.valid_up_to()).filter(|byte| **byte == b'\n').count() + 1;
        let place = Place::line_of(entry.path.clone(), u32::try_from(line).unwrap_or(u32::MAX));
        refused("not UTF-8 text; save the file as UTF-8".to_owned(), place)
    })?;
    Ok(SourceFile::new(entry.path.clone(), text))
}

/// The text of a target's own settings, where it has a file of them.
///
/// # Errors
/// It cannot be read.
pub(super) fn settings_text(tree: &dyn Tree, folder: &TargetFolder) -> Result<Option<String>, Refused> {
    folder.settings.as_ref().map(|entry| Ok(file(tree, entry)?.text().to_owned())).transpose()
}

/// Why a release cannot be read if only its own folder was found: what its kustomization reads elsewhere is missing,
/// and Capstan does not guess it.
fn alone(release: &ReleaseId, error: ReleaseError) -> Refused {
    let ReleaseError::Render(trouble) = &error else { return error.into() };
    let message = format!(
        "of the old release {release} only its own folder was found in Git's history, and it cannot be rendered without what it reads elsewhere: {trouble}. Restore its folder (for example below `archived/`) with what it reads, or record the release that fits the cluster's base: `capstan adopt` finds it"
    );
    Refused { message, ..error.into() }
}

/// A release folder whose tree was found outside of any snapshot.
fn standing_alone(tree: &Standalone, id: &ReleaseId) -> Result<ReleaseFolder, Refused> {
    let root = tree.folder();
    let below =
        |folder: &str| root.join(folder).map(|folder| tree.entries_in(&folder).to_vec()).unwrap_or_default();
    let at = |name: &str| root.join(name).ok().and_then(|path| tree.entry(&path)).cloned();
    let version = id.version().ok_or_else(|| Refused {
        message: format!("`{id}` is not a release: its last part is not a version"),
        place: None,
    })?;
    Ok(ReleaseFolder {
        id: id.clone(),
        folder: root.clone(),
        provider: id.provider(),
        version,
        shelf: ReleaseShelf::Archived,
        base_files: below("base"),
        overlay_files: below("overlay"),
        manifest: at("release.yaml"),
        notes: NOTES.into_iter().find_map(at),
        settings: at(FOLDER_FILE),
        services: services_in(tree, root),
    })
}
