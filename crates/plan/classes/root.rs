//! What may be applied with a class in it.

use std::fmt;
use std::sync::Arc;

use crate::layout::{Layout, may_hold};
use crate::policy::folders_of;
use capstan_kustomize::render::{
    Folders, ParsedFiles, RenderedObject, is_kustomization, kustomized, render, render_with,
};
use capstan_model::ids::ClusterId;
use capstan_model::kinds::is_cluster_api;
use capstan_model::tree::{RepoPath, Tree, TreeEntry, TreeId, Unreadable, below, is_manifest};

/// At most this many manifests of a folder are read.
const MOST_FILES: usize = 500;

/// Something that is applied as a whole.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Root {
    /// A cluster, as it is rendered.
    Cluster(ClusterId),
    /// The kustomization of a folder, which no other kustomization names.
    Kustomization(RepoPath),
    /// The manifests of a folder, which no kustomization names.
    Folder(RepoPath),
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster(cluster) => cluster.fmt(f),
            Self::Kustomization(folder) | Self::Folder(folder) if folder.is_root() => f.write_str("."),
            Self::Kustomization(folder) | Self::Folder(folder) => folder.fmt(f),
        }
    }
}

impl Root {
    /// Renders everything that is applied with it.
    ///
    /// # Errors
    /// Why it cannot be rendered, as a sentence without a full stop.
    pub fn render(&self, tree: &dyn Tree, layout: &Layout) -> Result<Vec<RenderedObject>, String> {
        let rendered = match self {
            Self::Cluster(cluster) => match layout.target(cluster.as_str()) {
                Some(folder) => render(tree, &folders_of(folder)).map(|rendered| rendered.objects),
                None => Ok(Vec::new()),
            },
            Self::Kustomization(folder) => kustomized(tree, folder).map(Option::unwrap_or_default),
            Self::Folder(folder) => {
                let files = Manifests::of(tree, layout, folder)?;
                // Nothing is laid over them.
                let overlay = folder.join(".overlay").unwrap_or_default();
                let folders = Folders { cluster: folder.clone(), base: folder.clone(), overlay };
                render_with(&files, &folders, &ParsedFiles::default()).map(|rendered| rendered.objects)
            }
        };
        rendered.map_err(|error| format!("{}: {error}", error.place()))
    }
}

/// The Cluster API manifests of a folder that no kustomization names, including those of subfolders. Clusters,
/// releases, and folders with a kustomization are left out, because they are applied by themselves. Of the
/// repository's root only its own files count, because everything is below it.
struct Manifests<'a> {
    tree: &'a dyn Tree,
    entries: Vec<TreeEntry>,
}

impl<'a> Manifests<'a> {
    fn of(tree: &'a dyn Tree, layout: &Layout, folder: &RepoPath) -> Result<Self, String> {
        let inside = tree.entries_in(folder);
        let kustomized: Vec<RepoPath> = inside
            .iter()
            .filter(|entry| is_kustomization(&entry.path))
            .filter_map(|entry| entry.path.parent())
            .filter(|kustomized| kustomized != folder)
            .collect();
        let is_of_no_other_cluster = |path: &RepoPath| {
            layout.target_around(path).is_none_or(|cluster| folder.is_in(cluster.id.folder()))
        };
        let counts = |entry: &&TreeEntry| {
            let parent = entry.path.parent().unwrap_or_default();
            entry.is_file()
                && is_manifest(&entry.path)
                && !is_kustomization(&entry.path)
                && (parent == *folder || !folder.is_root())
                && !entry.path.parts().any(|part| part.starts_with('.'))
                && (parent == *folder || is_of_no_other_cluster(&entry.path))
                && layout.release_around(&entry.path).is_none()
                && !kustomized.iter().any(|kustomized| entry.path.is_in(kustomized))
        };
        let manifests: Vec<&TreeEntry> = inside.iter().filter(counts).collect();
        if manifests.len() > MOST_FILES {
            return Err(format!(
                "the folder {folder} holds {} manifests, more than the {MOST_FILES} that Capstan looks at",
                manifests.len()
            ));
        }
        let is_of_cluster_api = |entry: &&TreeEntry| {
            // An unreadable file is kept: the render reads it again, and refuses it.
            tree.read(entry).map_or(true, |bytes| may_hold(&bytes, |group, _| is_cluster_api(group)))
        };
        let entries = manifests.into_iter().filter(is_of_cluster_api).cloned().collect();
        Ok(Self { tree, entries })
    }
}

impl Tree for Manifests<'_> {
    fn entries(&self) -> &[TreeEntry] {
        &self.entries
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        self.tree.read(entry)
    }

    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        self.tree.folder_id(folder).filter(|_| !below(&self.entries, folder).is_empty())
    }
}
