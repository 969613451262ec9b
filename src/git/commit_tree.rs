//! The content of a commit, or of a folder found by its tree id.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_domain::tree::{EntryKind, RepoPath, Tree, TreeEntry, TreeId, Unreadable, below};
use gix::ObjectId;

use super::explain;
use super::objects::{Objects, blob_id, entry_kind, tree_id};

/// How deep folders may be nested: far above what people do, far below what ends a stack.
const MAXIMUM_DEPTH: usize = 128;

/// A snapshot over an object database. Folders are listed when it is made, contents are read when
/// they are asked for.
pub(super) struct CommitTree {
    objects: Arc<Objects>,
    files: Arc<FileList>,
}

/// The files and folders of a commit, without the database that they were read from.
pub(super) struct FileList {
    /// Ordered by path.
    entries: Vec<TreeEntry>,
    folders: BTreeMap<RepoPath, TreeId>,
    /// How many folders were read from the database to make this list.
    pub(super) folders_read: usize,
}

impl CommitTree {
    /// Lists the tree `root`; `earlier` is a list of the same repository, whose folders are not read
    /// again where they have not changed. `Ok(None)` where it, or a folder in it, is not in the database.
    pub(super) fn list(
        objects: Arc<Objects>,
        root: ObjectId,
        earlier: Option<&FileList>,
    ) -> Result<Option<Self>, String> {
        let files = FileList { entries: Vec::new(), folders: BTreeMap::new(), folders_read: 0 };
        let mut listing = Listing { earlier, files };
        let complete = objects.with(|repository| listing.add(repository, root, &mut String::new(), 0))?;
        if !complete {
            return Ok(None);
        }
        let mut files = listing.files;
        // Git's order of folders is that of their files' paths: this finds little to do.
        files.entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Some(Self { objects, files: Arc::new(files) }))
    }

    /// Its files and folders.
    pub(super) const fn files(&self) -> &Arc<FileList> {
        &self.files
    }
}

impl FileList {
    /// How many files it names.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

impl Tree for CommitTree {
    fn entries(&self) -> &[TreeEntry] {
        &self.files.entries
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
        self.files.folders.get(folder).cloned()
    }
}

struct Listing<'a> {
    earlier: Option<&'a FileList>,
    files: FileList,
}

impl Listing<'_> {
    /// Adds the tree `id` that stands at `prefix`. A name that is no UTF-8 or holds a backslash
    /// cannot be a path here and is left out; it still counts in its folder's id, which is Git's own.
    fn add(
        &mut self,
        repository: &gix::Repository,
        id: ObjectId,
        prefix: &mut String,
        depth: usize,
    ) -> Result<bool, String> {
        if depth > MAXIMUM_DEPTH {
            return Err(format!("`{prefix}` is nested deeper than {MAXIMUM_DEPTH} folders"));
        }
        if self.copy_unchanged(id, prefix) {
            return Ok(true);
        }
        self.files.folders_read += 1;
        let object =
            repository.try_find_object(id).map_err(|error| format!("tree {id}: {}", explain(&error)))?;
        let Some(object) = object else { return Ok(false) };
        let tree =
            object.try_into_tree().map_err(|_| format!("object {id} at `{prefix}` is not a folder"))?;
        if let (Ok(path), Some(tree_id)) = (RepoPath::parse(prefix), tree_id(&id)) {
            self.files.folders.insert(path, tree_id);
        }
        for entry in tree.iter() {
            let entry = entry.map_err(|error| format!("tree {id} at `{prefix}`: {}", explain(&error)))?;
            let Ok(name) = std::str::from_utf8(entry.filename()) else { continue };
            let length = prefix.len();
            if !prefix.is_empty() {
                prefix.push('/');
            }
            prefix.push_str(name);
            let complete = match entry_kind(entry.mode()) {
                None => self.add(repository, entry.object_id(), prefix, depth + 1)?,
                Some(kind) => {
                    if let (Ok(path), Some(blob)) = (RepoPath::parse(prefix), blob_id(entry.oid())) {
                        self.files.entries.push(TreeEntry { path, kind, blob });
                    }
                    true
                }
            };
            if !complete {
                return Ok(false);
            }
            prefix.truncate(length);
        }
        Ok(true)
    }

    /// Takes over a folder from the earlier list, if it stands there with the same content.
    fn copy_unchanged(&mut self, id: ObjectId, prefix: &str) -> bool {
        let Some((earlier, path)) = self.earlier.zip(RepoPath::parse(prefix).ok()) else { return false };
        let is_same = earlier.folders.get(&path).is_some_and(|known| Some(known) == tree_id(&id).as_ref());
        if !is_same {
            return false;
        }
        self.files.entries.extend_from_slice(below(&earlier.entries, &path));
        let folders = earlier.folders.range(path.clone()..);
        let folders = folders.take_while(|(folder, _)| folder.as_str().starts_with(path.as_str()));
        // `a-b` stands between `a` and `a/c`.
        let folders = folders.filter(|(folder, _)| **folder == path || folder.is_in(&path));
        self.files.folders.extend(folders.map(|(folder, id)| (folder.clone(), id.clone())));
        true
    }
}
