//! A release that has kustomizations is what they render: its own folder's files as far as they name them,
//! what they name elsewhere in the repository, and what they make of it ([U1]).
//!
//! Where a kustomization only lists files and folders of the release's own base, its files are read as they are,
//! fragments too. Files that it does not name are not part of the release.
//!
//! [U1]: crate::merge::source#u1

use std::collections::BTreeSet;
use std::sync::Arc;

use super::watched::Watched;
use capstan_kustomize::render::{
    self, Folders, KUSTOMIZATION_NAMES, RenderError, RenderedObject, is_kustomization, kustomization_field,
};
use capstan_model::tree::{RepoPath, Tree, TreeEntry, is_manifest};
use capstan_yaml::{Entry, Node, YamlFile};

/// Fields with which a kustomization makes nothing of the files that it lists.
const PLAIN: [&str; 5] = ["apiVersion", "kind", "metadata", "resources", "bases"];

/// Whether a field of a kustomization makes nothing of the files that it lists.
pub(crate) fn only_lists(root: &Node, field: &Entry) -> bool {
    let is_that = |plain: &str| kustomization_field(root, plain).is_some_and(|own| std::ptr::eq(own, field));
    field.value.is_null() || PLAIN.into_iter().any(is_that)
}

/// What a kustomization lists.
fn listed(root: &Node) -> impl Iterator<Item = &Node> {
    let lists = ["resources", "bases"].into_iter().filter_map(|field| kustomization_field(root, field));
    lists.flat_map(|list| list.value.as_sequence().unwrap_or_default())
}

/// What a release's kustomizations come to.
#[derive(Debug, Clone, Default)]
pub struct Rendering {
    /// The objects that they render, in their order.
    pub objects: Vec<RenderedObject>,
    /// Files that went into those objects (or into none): they are not objects of their own.
    pub(crate) absorbed: BTreeSet<RepoPath>,
    /// Files that a plain list of resources does not name: no part of the release.
    pub(crate) unnamed: BTreeSet<RepoPath>,
    /// Whether the release's overlay is rendered into the objects too.
    pub(crate) with_overlay: bool,
    /// What was read from outside of the release's folder, ordered by path: a change there changes the release.
    pub outside: Vec<TreeEntry>,
    /// The folder's own files that were read and are not manifests: contents of generated objects; `None` where that is
    /// not text.
    pub(crate) contents: Vec<(TreeEntry, Option<Arc<str>>)>,
}

impl Rendering {
    /// Renders what a release's folder has to render. Without a kustomization that is nothing.
    ///
    /// # Errors
    /// What cannot be rendered, with its place: a remote base, a plugin, a file that does not exist, a patch that
    /// does not fit.
    pub fn of(
        tree: &dyn Tree,
        folder: &RepoPath,
        base_files: &[TreeEntry],
        overlay_files: &[TreeEntry],
    ) -> Result<Self, RenderError> {
        let base = folder.join("base").unwrap_or_default();
        let overlay = folder.join("overlay").unwrap_or_default();
        let mut rendering = Self::default();
        let own = |files: &[TreeEntry], at: &RepoPath| {
            files
                .iter()
                .any(|entry| is_kustomization(&entry.path) && entry.path.parent().as_ref() == Some(at))
        };
        let watched = Watched::new(tree);
        // Beside a `release.yaml` alone there is nothing to render: it is a list of what is deployed.
        let has_base = !base_files.is_empty();
        if own(overlay_files, &overlay) || has_base && has_kustomization_of_its_own(tree, folder) {
            let folders = Folders { cluster: folder.clone(), base, overlay };
            rendering.objects = render::render(&watched, &folders)?.with_all_patches()?.objects;
            rendering.with_overlay = true;
            let files = base_files.iter().chain(overlay_files);
            rendering.absorbed.extend(files.map(|entry| entry.path.clone()));
        } else {
            rendering.files_of(tree, &watched, &base, base_files)?;
        }
        rendering.note_reads(tree, folder, &watched);
        Ok(rendering)
    }

    /// Renders what one folder of a release's has to render by itself: that of a service.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub(super) fn of_part(
        tree: &dyn Tree,
        folder: &RepoPath,
        part: &RepoPath,
        files: &[TreeEntry],
    ) -> Result<Self, RenderError> {
        let (watched, mut rendering) = (Watched::new(tree), Self::default());
        rendering.files_of(tree, &watched, part, files)?;
        rendering.note_reads(tree, folder, &watched);
        Ok(rendering)
    }

    /// What the kustomizations among the files of a folder come to.
    fn files_of(
        &mut self,
        tree: &dyn Tree,
        watched: &Watched<'_>,
        base: &RepoPath,
        files: &[TreeEntry],
    ) -> Result<(), RenderError> {
        for entry in topmost(files) {
            let at = entry.path.parent().unwrap_or_default();
            let inside: Vec<&TreeEntry> = files.iter().filter(|entry| entry.path.is_in(&at)).collect();
            if let Some(named) = named_by_list(tree, &inside, entry, base) {
                let unnamed = inside.iter().filter(|entry| !is_kustomization(&entry.path));
                let unnamed = unnamed.map(|entry| &entry.path).filter(|path| !named.contains(*path));
                self.unnamed.extend(unnamed.cloned());
            } else {
                let objects = render::kustomized(watched, &at)?.unwrap_or_default();
                self.objects.extend(objects);
                self.absorbed.extend(inside.iter().map(|entry| entry.path.clone()));
            }
        }
        Ok(())
    }

    /// What was read besides manifests, and outside of the release's folder.
    fn note_reads(&mut self, tree: &dyn Tree, folder: &RepoPath, watched: &Watched<'_>) {
        let found = watched.found();
        let (inside, outside): (Vec<TreeEntry>, Vec<TreeEntry>) =
            found.into_iter().partition(|entry| folder.is_root() || entry.path.is_in(folder));
        self.outside = outside;
        self.contents = inside
            .into_iter()
            .filter(|entry| !is_kustomization(&entry.path) && !is_manifest(&entry.path))
            .map(|entry| {
                let bytes = tree.read(&entry).ok();
                (entry, bytes.and_then(|bytes| std::str::from_utf8(&bytes).ok().map(Arc::from)))
            })
            .collect();
    }

    /// Whether the release's kustomizations make something of its files, or name others.
    pub(crate) fn is_plain(&self) -> bool {
        self.absorbed.is_empty()
    }

    /// Whether a file's documents are objects of the release.
    pub(crate) fn reads(&self, path: &RepoPath) -> bool {
        !self.absorbed.contains(path) && !self.unnamed.contains(path)
    }

    /// The objects as nodes.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = Node> {
        self.objects.iter().map(|object| object.placed.to_node())
    }
}

/// Whether there is a kustomization beside base and overlay that does more than list what is in the folder.
fn has_kustomization_of_its_own(tree: &dyn Tree, folder: &RepoPath) -> bool {
    let mut paths = KUSTOMIZATION_NAMES.iter().filter_map(|name| folder.join(name).ok());
    let Some(entry) = paths.find_map(|path| tree.entry(&path)) else { return false };
    let read = |bytes: Arc<[u8]>| YamlFile::read_bytes(&bytes).ok();
    let Some(yaml) = tree.read(entry).ok().and_then(read) else { return true };
    let roots = || yaml.documents().iter().map(|document| &document.root);
    let makes =
        |root: &Node| root.as_mapping().unwrap_or_default().iter().any(|field| !only_lists(root, field));
    let mut items = roots().flat_map(listed);
    let leads_outside = |item: &Node| {
        let path = item.as_str().and_then(|text| folder.join(text).ok());
        path.is_none_or(|path| !path.is_in(folder))
    };
    roots().any(makes) || items.any(leads_outside)
}

/// The kustomizations that are in no other one's folder.
fn topmost(files: &[TreeEntry]) -> Vec<&TreeEntry> {
    let all: Vec<&TreeEntry> = files.iter().filter(|entry| is_kustomization(&entry.path)).collect();
    let lies_in_another = |entry: &TreeEntry| {
        let folder = entry.path.parent().unwrap_or_default();
        all.iter().any(|other| folder.is_in(&other.path.parent().unwrap_or_default()))
    };
    all.iter().copied().filter(|entry| !lies_in_another(entry)).collect()
}

/// The files that a kustomization names, where it and those that it reaches only list files of their own
/// release; `None` where there is more to it, or something that only rendering can say.
fn named_by_list(
    tree: &dyn Tree,
    files: &[&TreeEntry],
    first: &TreeEntry,
    base: &RepoPath,
) -> Option<BTreeSet<RepoPath>> {
    let (mut named, mut seen, mut open) = (BTreeSet::new(), BTreeSet::new(), vec![first]);
    while let Some(entry) = open.pop() {
        if !seen.insert(&entry.path) {
            return None;
        }
        let yaml = YamlFile::read_bytes(&tree.read(entry).ok()?).ok()?;
        let [document] = yaml.documents() else { return None };
        if !document.root.as_mapping()?.iter().all(|field| only_lists(&document.root, field)) {
            return None;
        }
        let kind = kustomization_field(&document.root, "kind");
        if kind.is_some_and(|kind| kind.value.as_str() != Some("Kustomization")) {
            return None;
        }
        let folder = entry.path.parent().unwrap_or_default();
        for item in listed(&document.root) {
            let path = folder.join(item.as_str()?).ok().filter(|path| path.is_in(base))?;
            let inner = |entry: &&&TreeEntry| {
                is_kustomization(&entry.path) && entry.path.parent().as_ref() == Some(&path)
            };
            if files.iter().any(|entry| entry.path == path) {
                named.insert(path);
            } else {
                open.push(files.iter().find(inner)?);
            }
        }
    }
    Some(named)
}
