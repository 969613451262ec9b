//! The content of a commit, or of a folder found by its tree id.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use capstan_model::tree::{EntryKind, Folder, RepoPath, StoredTree, Tree, TreeEntry, TreeId, Unreadable};
use capstan_model::wording::with_causes;
use gix::ObjectId;

use super::objects::{Objects, blob_id, entry_kind, tree_id};

/// How deep folders may be nested: far above what people do, far below what ends a stack.
const MAXIMUM_DEPTH: usize = 128;

/// Files and folders of a snapshot: the largest repositories known have about as many files. A tree may hold another
/// one several times, and that again: nine objects list 35 million entries.
const MAXIMUM_ENTRIES: usize = 500_000;

/// Bytes of all their paths.
const MAXIMUM_PATH_BYTES: usize = 128 << 20;

/// Bytes of one tree object: what is in one folder, those below it left out.
const MAXIMUM_FOLDER_BYTES: u64 = 32 << 20;

/// Entries that are listed of folders which the snapshot has already elsewhere, before anybody asks how many those are.
const REPEATED_ENTRIES: usize = 20_000;

/// A folder that holds others several times is not listed where those have more entries together than this.
const COUNTLESS: u64 = 100_000;

/// A folder that also occurs elsewhere is not listed again if it has more entries than this.
const COUNTLESS_AGAIN: u64 = 1_000;

/// The only entry of a folder that is not listed: it has the folder's id, so that it can never be read.
const PLACEHOLDER: &str = "files-without-number.yaml";

/// Why a folder that is not listed is not read.
const WITHOUT_NUMBER: &str = "this folder repeats the same folders too often to list its files: remove them";

/// Why something without a name is not read.
pub(super) const UNNAMED: &str = "its name has a backslash or is not UTF-8";

/// Why a commit's files cannot be listed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ListError {
    /// There are more than may be read, and that will not change.
    #[error("{0}")]
    TooLarge(String),
    /// An object is not what it should be.
    #[error("{0}")]
    Broken(String),
}

/// A snapshot over an object database. Folders are listed when it is made, contents are read when
/// they are asked for.
pub(super) struct CommitTree {
    objects: Arc<Objects>,
    root: Arc<Folder>,
    shows: Shows,
    /// How many folders were read from the database to make it.
    pub(super) folders_read: usize,
}

/// How much of a tree a snapshot shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shows {
    All,
    OneFile,
}

impl CommitTree {
    /// Lists the tree `root`; `earlier` is one of the same repository, whose folders are not read again
    /// where they have not changed. `Ok(None)` where it, or a folder in it, is not in the database.
    pub(super) fn list(
        objects: Arc<Objects>,
        root: ObjectId,
        earlier: Option<&Arc<Folder>>,
    ) -> Result<Option<Self>, ListError> {
        let mut listing = TreeListing::default();
        let list = |listing: &mut TreeListing| {
            objects.with(|repository| listing.folder(repository, root, RepoPath::root(), earlier, 0))
        };
        let mut listed = list(&mut listing);
        if listing.repeats() {
            // Most snapshots never come here, and asking beforehand would read each of their folders.
            listing = TreeListing { weights: Some(Weights::default()), ..TreeListing::default() };
            listed = list(&mut listing);
        }
        let folders_read = listing.folders_read;
        Ok(listed?.map(|root| Self { objects, root, shows: Shows::All, folders_read }))
    }

    /// The tree `root` with only this one of its own files, if it has it: for a tree that is too large to be
    /// listed. `None` where it is not in the database.
    pub(super) fn of_file(objects: Arc<Objects>, root: ObjectId, file: &RepoPath) -> Option<Self> {
        let files = objects.with(|repository| {
            if repository.try_find_header(root).ok()??.size() > MAXIMUM_FOLDER_BYTES {
                return Some(Vec::new());
            }
            let tree = repository.try_find_object(root).ok()??.try_into_tree().ok()?;
            let mut entries = tree.iter().flatten();
            let found = entries.find(|entry| *entry.filename() == file.as_str().as_bytes());
            Some(found.map_or_else(Vec::new, |entry| {
                let entry = entry_kind(entry.mode()).zip(blob_id(entry.oid()));
                entry.map(|(kind, blob)| TreeEntry { path: file.clone(), kind, blob }).into_iter().collect()
            }))
        })?;
        let root = Folder::new(RepoPath::root(), tree_id(&root)?, files, Vec::new());
        Some(Self { objects, root: Arc::new(root), shows: Shows::OneFile, folders_read: 1 })
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
        if entry.kind == EntryKind::Unnamed {
            return Err(Unreadable { path: entry.path.clone(), reason: UNNAMED.to_owned() });
        }
        if entry.kind == EntryKind::Submodule {
            return Err(Unreadable {
                path: entry.path.clone(),
                reason: "a submodule, whose content is in another repository".to_owned(),
            });
        }
        match entry.path.parent().filter(|_| entry.path.name() == PLACEHOLDER) {
            Some(folder) if self.folder_id(&folder).is_some_and(|id| id.as_str() == entry.blob.as_str()) => {
                Err(Unreadable { path: folder, reason: WITHOUT_NUMBER.to_owned() })
            }
            _ => self.objects.blob(&entry.path, &entry.blob),
        }
    }

    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        self.root.folder(folder).map(|folder| folder.id().clone())
    }

    fn root(&self) -> Option<&Arc<Folder>> {
        Some(&self.root)
    }

    fn stored(&self) -> Option<StoredTree> {
        // Opening it by its id would read all of it.
        if self.shows != Shows::All {
            return None;
        }
        let git_dir = self.objects.with(|repository| std::path::absolute(repository.git_dir())).ok()?;
        Some(StoredTree { git_dir, tree: self.root.id().clone() })
    }

    fn entry(&self, path: &RepoPath) -> Option<&TreeEntry> {
        self.root.entry(path)
    }

    fn entries_in(&self, folder: &RepoPath) -> &[TreeEntry] {
        self.root.folder(folder).map(Folder::entries).unwrap_or_default()
    }
}

#[derive(Default)]
struct TreeListing {
    folders_read: usize,
    /// Files, and folders that were read.
    entries: usize,
    path_bytes: usize,
    /// The folders that were listed, wherever they stand.
    seen: HashSet<ObjectId>,
    /// Entries of those that were listed once more.
    repeated: usize,
    /// How much is in folders; `None` while nobody has asked.
    weights: Option<Weights>,
}

impl TreeListing {
    /// Whether it ended because it is to be begun again with the folders' weights.
    const fn repeats(&self) -> bool {
        self.weights.is_none() && self.repeated > REPEATED_ENTRIES
    }

    /// Whether a folder is not listed, since the snapshot has more entries than are listed: it contains a
    /// large folder several times, or is large and occurs elsewhere too.
    fn is_countless(&mut self, repository: &gix::Repository, id: ObjectId, is_again: bool) -> bool {
        let Some(weights) = &mut self.weights else { return false };
        let FolderWeight { entries, in_twins } = weights.of(repository, id, 0);
        // The root comes first, and is asked whether everything can be listed.
        let all = *weights.all.get_or_insert(entries);
        all > MAXIMUM_ENTRIES as u64 && (in_twins > COUNTLESS || is_again && entries > COUNTLESS_AGAIN)
    }

    /// The tree `id` at `path`. An entry whose name cannot be part of a path here (no UTF-8, or a backslash
    /// in it) is kept as one entry under an escaped name, a folder too.
    fn folder(
        &mut self,
        repository: &gix::Repository,
        id: ObjectId,
        path: RepoPath,
        earlier: Option<&Arc<Folder>>,
        depth: usize,
    ) -> Result<Option<Arc<Folder>>, ListError> {
        if let Some(earlier) = earlier.filter(|earlier| is_id(&id, earlier.id())) {
            self.count(earlier.len(), 0, &path)?;
            return Ok(Some(Arc::clone(earlier)));
        }
        if depth > MAXIMUM_DEPTH {
            let reason = format!("`{path}` is nested deeper than {MAXIMUM_DEPTH} folders: keep them flatter");
            return Err(ListError::TooLarge(reason));
        }
        let is_again = !self.seen.insert(id);
        if self.is_countless(repository, id, is_again) && depth > 0 {
            return self.not_listed(id, path).map(Some);
        }
        self.folders_read += 1;
        self.count(1, path.as_str().len(), &path)?;
        let broken = |error: &(dyn std::error::Error + 'static)| {
            ListError::Broken(format!("tree {id} at `{path}`: {}", with_causes(error)))
        };
        let header = repository.try_find_header(id).map_err(|error| broken(&error))?;
        let Some(header) = header else { return Ok(None) };
        // Its size precedes it: a larger one is not unpacked.
        if header.size() > MAXIMUM_FOLDER_BYTES {
            return Err(ListError::TooLarge(format!(
                "the listing of `{path}` has more than {} MiB: divide the folder",
                MAXIMUM_FOLDER_BYTES >> 20
            )));
        }
        let object = repository.try_find_object(id).map_err(|error| broken(&error))?;
        let Some(object) = object else { return Ok(None) };
        let tree = object
            .try_into_tree()
            .map_err(|_| ListError::Broken(format!("object {id} at `{path}` is not a folder")))?;
        let mut known = EarlierFolders::of(earlier);
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        let mut unnamed = Vec::new();
        for entry in tree.iter() {
            self.repeated += usize::from(is_again);
            if self.repeats() {
                return Ok(None);
            }
            let entry = entry.map_err(|error| broken(&error))?;
            let name = std::str::from_utf8(entry.filename()).ok();
            let Some((name, below)) =
                name.and_then(|name| Some((name, RepoPath::parse(&join(&path, name)).ok()?)))
            else {
                self.count(1, path.as_str().len() + 1 + entry.filename().len(), &path)?;
                unnamed.extend(blob_id(entry.oid()).map(|id| (entry.filename().to_vec(), id)));
                continue;
            };
            let Some(kind) = entry_kind(entry.mode()) else {
                let earlier = known.next(name);
                if let Some(same) = earlier.filter(|earlier| is_id(entry.oid(), earlier.id())) {
                    self.count(same.len(), 0, &path)?;
                    folders.push(Arc::clone(same));
                } else {
                    match self.folder(repository, entry.object_id(), below, earlier, depth + 1)? {
                        Some(folder) => folders.push(folder),
                        None => return Ok(None),
                    }
                }
                continue;
            };
            self.count(1, path.as_str().len() + 1 + name.len(), &path)?;
            files.extend(blob_id(entry.oid()).map(|blob| TreeEntry { path: below, kind, blob }));
        }
        let mut taken = HashSet::new();
        if !unnamed.is_empty() {
            taken.extend(files.iter().map(|file| file.path.clone()));
            taken.extend(folders.iter().map(|folder| folder.path().clone()));
        }
        for (name, blob) in unnamed {
            let path = path.join_escaped(&name, |path| taken.contains(path));
            taken.insert(path.clone());
            files.push(TreeEntry { path, kind: EntryKind::Unnamed, blob });
        }
        let id = tree_id(&id).ok_or_else(|| ListError::Broken(format!("`{id}` is not an object id")))?;
        Ok(Some(Arc::new(Folder::new(path, id, files, folders))))
    }
}

impl TreeListing {
    /// A folder of which only that it is there is shown.
    fn not_listed(&mut self, id: ObjectId, path: RepoPath) -> Result<Arc<Folder>, ListError> {
        self.count(1, path.as_str().len() + 1 + PLACEHOLDER.len(), &path)?;
        let files = path.join(PLACEHOLDER).ok().zip(blob_id(&id));
        let files = files.map(|(path, blob)| TreeEntry { path, kind: EntryKind::File, blob });
        let known = tree_id(&id).ok_or_else(|| ListError::Broken(format!("`{id}` is not an object id")))?;
        Ok(Arc::new(Folder::new(path, known, files.into_iter().collect(), Vec::new())))
    }

    /// Counts entries before they are kept; `path` is the folder that holds them.
    fn count(&mut self, entries: usize, path_bytes: usize, path: &RepoPath) -> Result<(), ListError> {
        self.entries = self.entries.saturating_add(entries);
        self.path_bytes = self.path_bytes.saturating_add(path_bytes);
        if self.entries > MAXIMUM_ENTRIES {
            return Err(ListError::TooLarge(format!(
                "with the folder `{path}` the commit has more than {MAXIMUM_ENTRIES} files and folders: remove what repeats them, or divide the repository"
            )));
        }
        if self.path_bytes > MAXIMUM_PATH_BYTES {
            let limit = MAXIMUM_PATH_BYTES >> 20;
            return Err(ListError::TooLarge(format!(
                "with the folder `{path}` the paths of the commit have more than {limit} MiB: give its folders and files shorter names"
            )));
        }
        Ok(())
    }
}

/// Sizes of folders, each computed once however often it occurs.
#[derive(Default)]
struct Weights {
    known: HashMap<ObjectId, FolderWeight>,
    /// Entries of the whole snapshot.
    all: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct FolderWeight {
    /// Files and folders, to any depth.
    entries: u64,
    /// Those of them in folders that it contains directly, and several times.
    in_twins: u64,
}

impl Weights {
    /// What cannot be read weighs nothing: listing it says why.
    fn of(&mut self, repository: &gix::Repository, id: ObjectId, depth: usize) -> FolderWeight {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let mut weight = FolderWeight::default();
        let header = repository.try_find_header(id).ok().flatten();
        let is_read =
            depth <= MAXIMUM_DEPTH && header.is_some_and(|header| header.size() <= MAXIMUM_FOLDER_BYTES);
        let object = if is_read { repository.try_find_object(id).ok().flatten() } else { None };
        if let Some(tree) = object.and_then(|object| object.try_into_tree().ok()) {
            let mut folders: HashMap<ObjectId, u64> = HashMap::new();
            for entry in tree.iter().flatten() {
                weight.entries = weight.entries.saturating_add(1);
                if entry_kind(entry.mode()).is_none() {
                    *folders.entry(entry.object_id()).or_default() += 1;
                }
            }
            for (folder, times) in folders {
                let below = self.of(repository, folder, depth + 1).entries.saturating_mul(times);
                weight.entries = weight.entries.saturating_add(below);
                if times > 1 {
                    weight.in_twins = weight.in_twins.saturating_add(below);
                }
            }
        }
        self.known.insert(id, weight);
        weight
    }
}

/// The folders of an earlier state of a folder, asked for about in their order.
struct EarlierFolders<'a> {
    folders: &'a [Arc<Folder>],
    at: usize,
}

impl<'a> EarlierFolders<'a> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_listed_at_each_bound_and_refused_beyond() {
        let folder = RepoPath::parse("acme").unwrap();
        let listed = |entries: usize, path_bytes: usize| {
            let mut listing = TreeListing::default();
            // One after the other, as they are found.
            listing.count(entries / 2, path_bytes / 2, &folder).unwrap();
            let rest = listing.count(entries - entries / 2, path_bytes - path_bytes / 2, &folder);
            rest.map_err(|error| error.to_string())
        };
        assert_eq!(listed(500_000, 134_217_728), Ok(()));
        let told = listed(500_001, 0).unwrap_err();
        assert!(told.starts_with("with the folder `acme` the commit has more than 500000 files"), "{told}");
        let told = listed(0, 134_217_729).unwrap_err();
        assert!(
            told.starts_with("with the folder `acme` the paths of the commit have more than 128 MiB"),
            "{told}"
        );
    }
}
