//! The content of a commit, or of a folder found by its tree id.

use std::collections::HashMap;
use std::sync::Arc;

use capstan_domain::tree::{EntryKind, RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use gix::ObjectId;

use super::explain;
use super::objects::{Objects, blob_id, entry_kind, tree_id};

/// How deep folders may be nested: far above what people do, far below what ends a stack.
const MAXIMUM_DEPTH: usize = 128;

/// A snapshot over an object database. Folders are listed when it is made, contents are read when
/// they are asked for.
pub(super) struct CommitTree {
    objects: Arc<Objects>,
    entries: Vec<TreeEntry>,
    folders: HashMap<RepoPath, TreeId>,
}

impl CommitTree {
    /// Lists the tree `root`. `Ok(None)` where it, or a folder in it, is not in the database.
    pub(super) fn list(objects: Arc<Objects>, root: ObjectId) -> Result<Option<Self>, String> {
        let mut listing = Listing::default();
        let complete = objects.with(|repository| listing.add(repository, root, &mut String::new(), 0))?;
        if !complete {
            return Ok(None);
        }
        let Listing { mut entries, folders } = listing;
        entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(Some(Self { objects, entries, folders }))
    }
}

impl Tree for CommitTree {
    fn entries(&self) -> &[TreeEntry] {
        &self.entries
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
        self.folders.get(folder).cloned()
    }
}

#[derive(Default)]
struct Listing {
    entries: Vec<TreeEntry>,
    folders: HashMap<RepoPath, TreeId>,
}

impl Listing {
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
        let object =
            repository.try_find_object(id).map_err(|error| format!("tree {id}: {}", explain(&error)))?;
        let Some(object) = object else { return Ok(false) };
        let tree =
            object.try_into_tree().map_err(|_| format!("object {id} at `{prefix}` is not a folder"))?;
        if let (Ok(path), Some(tree_id)) = (RepoPath::parse(prefix), tree_id(&id)) {
            self.folders.insert(path, tree_id);
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
                        self.entries.push(TreeEntry { path, kind, blob });
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
}
