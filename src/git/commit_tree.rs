//! The content of a commit, or of a folder found by its tree id.

use std::sync::Arc;

use capstan_model::tree::{EntryKind, Folder, RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use gix::ObjectId;

use super::explain;
use super::objects::{Objects, blob_id, entry_kind, tree_id};

/// How deep folders may be nested: far above what people do, far below what ends a stack.
const MAXIMUM_DEPTH: usize = 128;

/// Files and folders of a snapshot: the largest repositories known have about as many files. A tree may hold another
/// one several times, and that again: nine objects list 35 million entries.
const MAXIMUM_ENTRIES: usize = 500_000;

/// Bytes of all their paths.
const MAXIMUM_PATH_BYTES: usize = 128 << 20;

/// A snapshot over an object database. Folders are listed when it is made, contents are read when
/// they are asked for.
pub(super) struct CommitTree {
    objects: Arc<Objects>,
    root: Arc<Folder>,
    /// How many folders were read from the database to make it.
    pub(super) folders_read: usize,
}

impl CommitTree {
    /// Lists the tree `root`; `earlier` is one of the same repository, whose folders are not read again
    /// where they have not changed. `Ok(None)` where it, or a folder in it, is not in the database.
    pub(super) fn list(
        objects: Arc<Objects>,
        root: ObjectId,
        earlier: Option<&Arc<Folder>>,
    ) -> Result<Option<Self>, String> {
        let mut listing = Listing::default();
        let root =
            objects.with(|repository| listing.folder(repository, root, RepoPath::root(), earlier, 0))?;
        let folders_read = listing.folders_read;
        Ok(root.map(|root| Self { objects, root, folders_read }))
    }

    /// Its files and folders, without the database that they were read from.
    pub(super) const fn folder(&self) -> &Arc<Folder> {
        &self.root
    }
}

impl Tree for CommitTree {
    fn entries(&self) -> &[TreeEntry] {
        self.root.entries()
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        if entry.kind == EntryKind::Submodule {
            return Err(Unreadable {
                path: entry.path.clone(),
                reason: "a submodule, whose content stands in another repository".to_owned(),
            });
        }
        self.objects.blob(&entry.path, &entry.blob)
    }

    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        self.root.folder(folder).map(|folder| folder.id().clone())
    }

    fn root(&self) -> Option<&Arc<Folder>> {
        Some(&self.root)
    }

    fn entry(&self, path: &RepoPath) -> Option<&TreeEntry> {
        self.root.entry(path)
    }

    fn entries_in(&self, folder: &RepoPath) -> &[TreeEntry] {
        self.root.folder(folder).map(Folder::entries).unwrap_or_default()
    }
}

#[derive(Default)]
struct Listing {
    folders_read: usize,
    /// Files, and folders that were read.
    entries: usize,
    path_bytes: usize,
}

impl Listing {
    /// The tree `id` that stands at `path`. A name that is no UTF-8 or holds a backslash cannot be a path
    /// here and is left out; it still counts in its folder's id, which is Git's own.
    fn folder(
        &mut self,
        repository: &gix::Repository,
        id: ObjectId,
        path: RepoPath,
        earlier: Option<&Arc<Folder>>,
        depth: usize,
    ) -> Result<Option<Arc<Folder>>, String> {
        if let Some(earlier) = earlier.filter(|earlier| is_id(&id, earlier.id())) {
            self.count(earlier.len(), 0, &path)?;
            return Ok(Some(Arc::clone(earlier)));
        }
        if depth > MAXIMUM_DEPTH {
            return Err(format!("`{path}` is nested deeper than {MAXIMUM_DEPTH} folders"));
        }
        self.folders_read += 1;
        self.count(1, path.as_str().len(), &path)?;
        let object =
            repository.try_find_object(id).map_err(|error| format!("tree {id}: {}", explain(&error)))?;
        let Some(object) = object else { return Ok(None) };
        let tree = object.try_into_tree().map_err(|_| format!("object {id} at `{path}` is not a folder"))?;
        let mut known = Known::of(earlier);
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        for entry in tree.iter() {
            let entry = entry.map_err(|error| format!("tree {id} at `{path}`: {}", explain(&error)))?;
            let Ok(name) = std::str::from_utf8(entry.filename()) else { continue };
            let Some(kind) = entry_kind(entry.mode()) else {
                let earlier = known.next(name);
                if let Some(same) = earlier.filter(|earlier| is_id(entry.oid(), earlier.id())) {
                    self.count(same.len(), 0, &path)?;
                    folders.push(Arc::clone(same));
                } else if let Ok(below) = RepoPath::parse(&join(&path, name)) {
                    match self.folder(repository, entry.object_id(), below, earlier, depth + 1)? {
                        Some(folder) => folders.push(folder),
                        None => return Ok(None),
                    }
                }
                continue;
            };
            self.count(1, path.as_str().len() + 1 + name.len(), &path)?;
            if let (Ok(path), Some(blob)) = (RepoPath::parse(&join(&path, name)), blob_id(entry.oid())) {
                files.push(TreeEntry { path, kind, blob });
            }
        }
        let id = tree_id(&id).ok_or_else(|| format!("`{id}` is no object id"))?;
        Ok(Some(Arc::new(Folder::new(path, id, files, folders))))
    }
}

impl Listing {
    /// Counts entries before they are kept; `path` is the folder that holds them.
    fn count(&mut self, entries: usize, path_bytes: usize, path: &RepoPath) -> Result<(), String> {
        self.entries = self.entries.saturating_add(entries);
        self.path_bytes = self.path_bytes.saturating_add(path_bytes);
        if self.entries > MAXIMUM_ENTRIES {
            return Err(format!(
                "with the folder `{path}` the commit has more than {MAXIMUM_ENTRIES} files and folders: take out what holds them again and again, or divide the repository"
            ));
        }
        if self.path_bytes > MAXIMUM_PATH_BYTES {
            let limit = MAXIMUM_PATH_BYTES >> 20;
            return Err(format!(
                "with the folder `{path}` the paths of the commit have more than {limit} MiB: give its folders and files shorter names"
            ));
        }
        Ok(())
    }
}

/// The folders of an earlier state of a folder, asked for about in their order.
struct Known<'a> {
    folders: &'a [Arc<Folder>],
    at: usize,
}

impl<'a> Known<'a> {
    fn of(earlier: Option<&'a Arc<Folder>>) -> Self {
        Self { folders: earlier.map(|folder| folder.folders()).unwrap_or_default(), at: 0 }
    }

    fn next(&mut self, name: &str) -> Option<&'a Arc<Folder>> {
        let is_it = |folder: &&'a Arc<Folder>| folder.path().name() == name;
        if let Some(found) = self.folders.get(self.at).filter(is_it) {
            self.at += 1;
            return Some(found);
        }
        let at = self.folders.binary_search_by(|folder| folder.path().name().cmp(name)).ok()?;
        self.at = at + 1;
        self.folders.get(at)
    }
}

fn join(folder: &RepoPath, name: &str) -> String {
    if folder.is_root() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// Whether Git's own id is the one in the domain's words.
fn is_id(id: &gix::oid, known: &TreeId) -> bool {
    let mut digits = gix::hash::Kind::hex_buf();
    id.hex_to_buf(&mut digits) == known.as_str()
}
