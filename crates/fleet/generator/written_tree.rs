//! Some files of a snapshot with their contents, and the ids of some folders: what goes where there is no repository.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_model::tree::{RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use serde::{Deserialize, Serialize};

use super::content::Content;
use super::inputs::FleetInputs;
use super::read_set::ReadSet;

/// Some files of a snapshot, and the ids of some folders.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub(crate) struct WrittenTree {
    entries: Vec<TreeEntry>,
    contents: BTreeMap<RepoPath, Content>,
    folders: BTreeMap<RepoPath, TreeId>,
    /// What cannot be read, with the path that the error names: a folder, for example.
    unreadable: BTreeMap<RepoPath, RepoPath>,
}

#[derive(Serialize, Deserialize)]
struct Written {
    files: Vec<(TreeEntry, Content)>,
    folders: BTreeMap<RepoPath, TreeId>,
    unreadable: BTreeMap<RepoPath, RepoPath>,
}

impl From<Written> for WrittenTree {
    fn from(written: Written) -> Self {
        let Written { files, folders, unreadable } = written;
        let mut tree = Self { folders, unreadable, ..Self::default() };
        for (entry, content) in files {
            tree.contents.insert(entry.path.clone(), content);
            tree.entries.push(entry);
        }
        tree.entries.sort_by(|one, other| one.path.cmp(&other.path));
        tree
    }
}

impl From<WrittenTree> for Written {
    fn from(tree: WrittenTree) -> Self {
        let WrittenTree { entries, mut contents, folders, unreadable } = tree;
        let file = |entry: TreeEntry| {
            let content = contents.remove(&entry.path)?;
            Some((entry, content))
        };
        Self { files: entries.into_iter().filter_map(file).collect(), folders, unreadable }
    }
}

impl WrittenTree {
    /// Takes a folder with all below it.
    pub(super) fn take_folder(&mut self, tree: &dyn Tree, folder: &RepoPath) {
        tree.entries_in(folder).iter().for_each(|entry| self.take(tree, entry));
        self.folders.extend(tree.folder_id(folder).map(|id| (folder.clone(), id)));
    }

    /// Takes what was read.
    pub(super) fn take_read_set(&mut self, tree: &dyn Tree, looked: &ReadSet) {
        looked.entries(tree).into_iter().for_each(|entry| self.take(tree, entry));
        self.folders.extend(looked.folder_ids().map(|(path, id)| (path.clone(), id.clone())));
    }

    /// Takes the releases of a fleet.
    pub(super) fn take_releases(&mut self, tree: &dyn Tree, fleet: &FleetInputs) {
        self.take_read_set(tree, &fleet.looked);
        fleet.releases.iter().for_each(|release| self.take_folder(tree, &release.folder));
    }

    fn take(&mut self, tree: &dyn Tree, entry: &TreeEntry) {
        if self.contents.contains_key(&entry.path) {
            return;
        }
        let read = tree.read(entry);
        if let Err(error) = &read
            && error.path != entry.path
        {
            self.unreadable.insert(entry.path.clone(), error.path.clone());
        }
        let content = Content(read.map_err(|error| error.reason));
        self.contents.insert(entry.path.clone(), content);
        let at = self.entries.partition_point(|known| known.path < entry.path);
        self.entries.insert(at, entry.clone());
    }

    /// All of it, but for the ids of folders below the root.
    pub(super) fn whole(tree: &dyn Tree) -> Self {
        let mut written = Self::default();
        written.take_folder(tree, &RepoPath::root());
        written
    }

    /// All of it.
    pub(crate) fn everything(tree: &dyn Tree) -> Self {
        let mut written = Self::whole(tree);
        for entry in tree.entries() {
            let mut folder = entry.path.parent();
            while let Some(path) = folder.take().filter(|path| !written.folders.contains_key(path)) {
                let Some(id) = tree.folder_id(&path) else { break };
                folder = path.parent();
                written.folders.insert(path, id);
            }
        }
        written
    }
}

impl Tree for WrittenTree {
    fn entries(&self) -> &[TreeEntry] {
        &self.entries
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        let path = self.unreadable.get(&entry.path).unwrap_or(&entry.path);
        let unreadable = |reason: &str| Unreadable { path: path.clone(), reason: reason.to_owned() };
        match self.contents.get(&entry.path) {
            Some(Content(Ok(bytes))) => Ok(Arc::clone(bytes)),
            Some(Content(Err(reason))) => Err(unreadable(reason)),
            None => Err(unreadable("this file was not given")),
        }
    }

    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        self.folders.get(folder).cloned()
    }
}
