//! The files of a checkout as `git add -A` would take them.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fs;
use std::io::Read;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use capstan_model::tree::{BlobId, EntryKind, RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use capstan_model::wording::with_causes;
use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice, ByteVec};
use gix::index::entry::{Flags, Mode, Stat};
use gix::index::fs::Metadata;
use gix::objs::tree::EntryKind as GitKind;

use super::commit_tree::UNNAMED;
use super::folder_ids::{StoredFile, folder_ids};
use super::identify::{Identify, Tracked, WorkTreeFile};
use super::objects::{Objects, blob_id, entry_kind, too_large};
use super::{CheckoutError, MAXIMUM_FILE_BYTES};

/// A snapshot of a work tree: tracked files as they are on disk, and files that are not tracked and not
/// ignored. Symbolic links are entries and never followed; repositories inside the work tree are left out
/// unless they are submodules. Contents are read on demand, and refused if the file has changed since the
/// snapshot was made: the same path always gives the same bytes.
///
/// Files are hashed as they are: a file that was edited *and* is converted on `git add` (line ends, LFS)
/// gets the id of its bytes on disk.
pub(super) struct WorkTree {
    root: PathBuf,
    objects: Arc<Objects>,
    hash: gix::hash::Kind,
    entries: Vec<TreeEntry>,
    /// What each entry was when it was listed, by the same index; `None` for what is not on disk.
    seen: Vec<Option<Stat>>,
    stored: Vec<StoredFile>,
    /// Ids of folders that were asked for, and of those below them.
    folders: Mutex<HashMap<RepoPath, Option<TreeId>>>,
}

impl WorkTree {
    /// Lists the work tree at `root`.
    pub(super) fn list(objects: Arc<Objects>, root: &Path) -> Result<Self, CheckoutError> {
        let listing = objects.with(|repository| IndexListing::new(repository, root))?;
        let hash = listing.identify.hash;
        let mut found = listing.run(&objects)?;
        // Both lists have this order: it is that of the bytes.
        found.sort_unstable_by(|a, b| a.stored.path.cmp(&b.stored.path));
        let mut stored = Vec::with_capacity(found.len());
        let mut listed = Vec::with_capacity(found.len());
        let mut unnamed = BTreeMap::new();
        for file in found {
            if let (Some(kind), Some(blob)) = (entry_kind(file.stored.mode), blob_id(&file.stored.id)) {
                match file.stored.path.to_str().ok().and_then(|path| RepoPath::parse(path).ok()) {
                    Some(path) => listed.push((TreeEntry { path, kind, blob }, file.seen)),
                    None => drop(unnamed.insert(up_to_unnamed(file.stored.path.as_bstr()), blob)),
                }
            }
            stored.push(file.stored);
        }
        if !unnamed.is_empty() {
            add_unnamed(unnamed, &mut listed);
        }
        let (entries, seen) = listed.into_iter().unzip();
        Ok(Self { root: root.to_owned(), objects, hash, entries, seen, stored, folders: Mutex::default() })
    }

    fn seen(&self, path: &RepoPath) -> Option<&Stat> {
        let at = self.entries.binary_search_by(|entry| entry.path.cmp(path)).ok()?;
        self.seen.get(at)?.as_ref()
    }
}

impl Tree for WorkTree {
    fn entries(&self) -> &[TreeEntry] {
        &self.entries
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        let unreadable = |reason: String| Unreadable { path: entry.path.clone(), reason };
        if entry.kind == EntryKind::Unnamed {
            return Err(unreadable(UNNAMED.to_owned()));
        }
        if entry.kind == EntryKind::Submodule {
            return Err(unreadable("a submodule, whose content is in another repository".to_owned()));
        }
        let Some(seen) = self.seen(&entry.path) else {
            // Outside of a sparse checkout: Git has it, the disk has not.
            return self.objects.blob(&entry.path, &entry.blob);
        };
        let path = self.root.join(entry.path.as_str());
        let changed = || unreadable("changed while it was being read; try again".to_owned());
        let io = |error: std::io::Error| unreadable(error.to_string());
        if entry.kind == EntryKind::Symlink {
            let target = fs::read_link(&path).map_err(io)?;
            let target = Vec::from_path_buf(target)
                .map_err(|_| unreadable("the link's target cannot be read".to_owned()))?;
            return Ok(target.into());
        }
        let file = fs::File::open(&path).map_err(io)?;
        let metadata = Metadata::from_file(&file).map_err(io)?;
        // The file's own number is part of it: what a link put in its place leads to is another file.
        if Stat::from_fs(&metadata).ok().as_ref() != Some(seen) {
            return Err(changed());
        }
        if metadata.len() > MAXIMUM_FILE_BYTES {
            return Err(unreadable(too_large(metadata.len())));
        }
        // One byte more than there should be, so that a file that grows shows.
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default() + 1);
        file.take(metadata.len() + 1).read_to_end(&mut bytes).map_err(io)?;
        if bytes.len() as u64 != metadata.len() {
            return Err(changed());
        }
        Ok(bytes.into())
    }

    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        let mut known = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = known.get(folder) {
            return id.clone();
        }
        let below = stored_in(&self.stored, folder);
        let ids = folder_ids(below, folder, self.hash).unwrap_or_else(|error| {
            tracing::error!(error = %with_causes(&error), "cannot compute the tree ids of the work tree");
            HashMap::new()
        });
        let id = ids.get(folder).cloned().filter(|_| folder.is_root() || !below.is_empty());
        known.extend(ids.into_iter().map(|(path, id)| (path, Some(id))));
        known.insert(folder.clone(), id.clone());
        id
    }
}

/// The folder and the first name in a path that cannot be part of one here.
fn up_to_unnamed(path: &BStr) -> (RepoPath, BString) {
    let mut folder = RepoPath::root();
    for name in path.split_str("/") {
        let below = name.to_str().ok().filter(|name| !name.is_empty() && !matches!(*name, "." | ".."));
        match below.and_then(|name| folder.join(name).ok()) {
            Some(below) => folder = below,
            None => return (folder, name.into()),
        }
    }
    (folder, BString::default())
}

/// Puts what has no name that could be read among the files: as a commit's listing has it, one entry a file or
/// folder.
fn add_unnamed(unnamed: BTreeMap<(RepoPath, BString), BlobId>, listed: &mut Vec<(TreeEntry, Option<Stat>)>) {
    let mut taken: HashSet<RepoPath> = HashSet::new();
    for (entry, _) in listed.iter() {
        let mut path = Some(entry.path.clone());
        while let Some(next) = path.filter(|path| !taken.contains(path)) {
            path = next.parent();
            taken.insert(next);
        }
    }
    for ((folder, name), blob) in unnamed {
        let path = folder.join_escaped(&name, |path| taken.contains(path));
        taken.insert(path.clone());
        listed.push((TreeEntry { path, kind: EntryKind::Unnamed, blob }, None));
    }
    listed.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
}

/// The files in a folder, of a list that is ordered by path.
pub(super) fn stored_in<'s>(stored: &'s [StoredFile], folder: &RepoPath) -> &'s [StoredFile] {
    if folder.is_root() {
        return stored;
    }
    let prefix = format!("{folder}/");
    let start = stored.partition_point(|file| file.path.as_bytes() < prefix.as_bytes());
    let length = stored[start..].partition_point(|file| file.path.starts_with(prefix.as_bytes()));
    &stored[start..start + length]
}

/// What is known before the walk over the disk: the index.
pub(super) struct IndexListing<'a> {
    root: &'a Path,
    tracked: HashMap<BString, Tracked>,
    tracked_folders: HashSet<BString>,
    identify: Identify<'a>,
}

/// Whether files that are not tracked are wanted: below an ignored folder they are not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Untracked {
    Wanted,
    Ignored,
}

/// A folder that is still to be walked.
type FolderToWalk = (BString, Untracked);

/// How many folders for each thread there shall be before the walk is shared: so few that finding them costs
/// nothing, so many that no thread waits long for another one's last.
const FOLDERS_OF_A_THREAD: usize = 8;

impl<'a> IndexListing<'a> {
    pub(super) fn new(repository: &gix::Repository, root: &'a Path) -> Result<Self, CheckoutError> {
        let failed = |error: gix::Error| CheckoutError::unreadable(root, &error);
        let index = repository.index_or_empty().map_err(failed)?;
        let mut tracked = HashMap::with_capacity(index.entries().len());
        let mut tracked_folders = HashSet::new();
        for entry in index.entries() {
            let path = entry.path(&index);
            if entry.mode.is_sparse() {
                // A sparse index folds what is not checked out into folders.
                add_sparse_folder(repository, path, entry.id, &mut tracked).map_err(failed)?;
            } else {
                let known = Tracked { mode: entry.mode, id: entry.id, stat: entry.stat, flags: entry.flags };
                tracked.insert(path.to_owned(), known);
            }
        }
        for path in tracked.keys() {
            let mut end = path.len();
            while let Some(slash) = path[..end].rfind_byte(b'/') {
                let folder = path[..slash].as_bstr();
                if tracked_folders.contains(folder) {
                    break;
                }
                tracked_folders.insert(folder.to_owned());
                end = slash;
            }
        }
        Ok(Self {
            root,
            tracked,
            tracked_folders,
            identify: Identify {
                root,
                hash: repository.object_hash(),
                index_time: index.timestamp().into(),
                stat_options: repository.stat_options().map_err(failed)?,
                capabilities: repository.filesystem_options().map_err(failed)?,
            },
        })
    }

    /// The files on disk, found and examined on all cores, and those that a sparse checkout left out.
    fn run(&self, objects: &Objects) -> Result<Vec<WorkTreeFile>, CheckoutError> {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let mut ahead = VecDeque::from([(BString::default(), Untracked::Wanted)]);
        let mut walked = objects.with(|repository| {
            let mut walk = DiskWalk::new(self, repository)?;
            while ahead.len() < threads * FOLDERS_OF_A_THREAD
                && let Some(next) = ahead.pop_front()
            {
                ahead.extend(walk.step(next)?);
            }
            Ok::<_, CheckoutError>(walk.walked)
        })?;
        let ahead: Vec<FolderToWalk> = ahead.into();
        let next = AtomicUsize::new(0);
        let share = || {
            objects.with(|repository| {
                let mut walk = DiskWalk::new(self, repository)?;
                while let Some(folder) = ahead.get(next.fetch_add(1, Ordering::Relaxed)) {
                    walk.all_below(folder.clone())?;
                }
                Ok::<_, CheckoutError>(walk.walked)
            })
        };
        let parts = thread::scope(|scope| {
            let others: Vec<_> = (1..threads.min(ahead.len())).map(|_| scope.spawn(share)).collect();
            let own = share();
            let others = others.into_iter().map(|other| match other.join() {
                Ok(part) => part,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            std::iter::once(own).chain(others).collect::<Vec<_>>()
        });
        for part in parts {
            let mut part = part?;
            walked.found.append(&mut part.found);
            walked.unskipped.append(&mut part.unskipped);
        }
        let Walked { mut found, unskipped } = walked;
        // What was not found is deleted on disk, unless a sparse checkout left it out on purpose.
        let unskipped: HashSet<BString> = unskipped.into_iter().collect();
        for (path, known) in &self.tracked {
            if known.flags.contains(Flags::SKIP_WORKTREE)
                && !unskipped.contains(path)
                && let Some(mode) = known.mode.to_tree_entry_mode()
            {
                found.push(WorkTreeFile {
                    stored: StoredFile { path: path.clone(), mode, id: known.id },
                    seen: None,
                });
            }
        }
        Ok(found)
    }
}

/// What a walk came by.
#[derive(Default)]
struct Walked {
    found: Vec<WorkTreeFile>,
    /// What a sparse checkout would leave out, and is there.
    unskipped: Vec<BString>,
}

/// One thread's walk over the disk, guided by the index and the ignore rules.
pub(super) struct DiskWalk<'l, 'repository> {
    listing: &'l IndexListing<'l>,
    excludes: gix::AttributeStack<'repository>,
    walked: Walked,
}

impl<'l, 'repository> DiskWalk<'l, 'repository> {
    pub(super) fn new(
        listing: &'l IndexListing<'l>,
        repository: &'repository gix::Repository,
    ) -> Result<Self, CheckoutError> {
        let failed = |error: gix::Error| CheckoutError::unreadable(listing.root, &error);
        let index = repository.index_or_empty().map_err(failed)?;
        let excludes = repository.excludes(&index, None, Default::default()).map_err(failed)?;
        Ok(Self { listing, excludes, walked: Walked::default() })
    }

    fn all_below(&mut self, folder: FolderToWalk) -> Result<(), CheckoutError> {
        let mut ahead = vec![folder];
        while let Some(next) = ahead.pop() {
            ahead.extend(self.step(next)?);
        }
        Ok(())
    }

    /// Takes in the files of one folder; the folders in it that are to be walked.
    fn step(&mut self, (mut path, untracked): FolderToWalk) -> Result<Vec<FolderToWalk>, CheckoutError> {
        let on_disk = self.listing.root.join(path.to_path_lossy());
        let io = |error: std::io::Error| CheckoutError::io(&on_disk, error);
        let mut ahead = Vec::new();
        for entry in fs::read_dir(&on_disk).map_err(io)? {
            let entry = entry.map_err(io)?;
            let Ok(name) = Vec::from_os_string(entry.file_name()) else { continue };
            if name.eq_ignore_ascii_case(b".git") {
                continue;
            }
            let length = path.len();
            if length > 0 {
                path.push(b'/');
            }
            path.push_str(&name);
            let kind = entry.file_type().map_err(io)?;
            if kind.is_dir() {
                ahead.extend(self.folder(&path, untracked)?.map(|untracked| (path.clone(), untracked)));
            } else if kind.is_file() || kind.is_symlink() {
                self.file(&path, untracked)?;
            }
            path.truncate(length);
        }
        Ok(ahead)
    }

    /// Whether a file that is not there yet would be taken.
    pub(super) fn takes(&mut self, path: &RepoPath) -> Result<bool, CheckoutError> {
        let path = path.as_str();
        let mut untracked = Untracked::Wanted;
        for (end, _) in path.match_indices('/') {
            match self.folder(&BString::from(&path[..end]), untracked)? {
                Some(within) => untracked = within,
                None => return Ok(false),
            }
        }
        Ok(untracked == Untracked::Wanted && !self.is_excluded(BStr::new(path), Mode::FILE)?)
    }

    /// Whether a folder is walked, and what of it is wanted.
    fn folder(&mut self, path: &BString, untracked: Untracked) -> Result<Option<Untracked>, CheckoutError> {
        if let Some(known) = self.listing.tracked.get(path).filter(|known| known.mode.is_submodule()) {
            self.submodule(path, known);
            return Ok(None);
        }
        let holds_tracked = self.listing.tracked_folders.contains(path);
        let is_repository = || {
            let on_disk = self.listing.root.join(path.to_path_lossy());
            on_disk.join(".git").symlink_metadata().is_ok()
        };
        if !holds_tracked && is_repository() {
            return Ok(None);
        }
        let ignored = untracked == Untracked::Ignored || self.is_excluded(path.as_bstr(), Mode::DIR)?;
        Ok(match (ignored, holds_tracked) {
            (true, false) => None,
            (true, true) => Some(Untracked::Ignored),
            (false, _) => Some(untracked),
        })
    }

    /// A submodule counts as the commit that is checked out in it.
    fn submodule(&mut self, path: &BString, known: &Tracked) {
        let on_disk = self.listing.root.join(path.to_path_lossy());
        let head = gix::open(on_disk).ok().and_then(|inner| inner.head_id().ok().map(gix::Id::detach));
        self.note_unskipped(path, known);
        self.walked.found.push(WorkTreeFile {
            stored: StoredFile {
                path: path.clone(),
                mode: GitKind::Commit.into(),
                id: head.unwrap_or(known.id),
            },
            seen: None,
        });
    }

    fn file(&mut self, path: &BString, untracked: Untracked) -> Result<(), CheckoutError> {
        let known = self.listing.tracked.get(path);
        match known {
            Some(known) => self.note_unskipped(path, known),
            None if untracked == Untracked::Ignored => return Ok(()),
            None if self.is_excluded(path.as_bstr(), Mode::FILE)? => return Ok(()),
            None => {}
        }
        self.walked.found.extend(self.listing.identify.one(path, known)?);
        Ok(())
    }

    fn note_unskipped(&mut self, path: &BString, known: &Tracked) {
        if known.flags.contains(Flags::SKIP_WORKTREE) {
            self.walked.unskipped.push(path.clone());
        }
    }

    fn is_excluded(&mut self, path: &BStr, mode: Mode) -> Result<bool, CheckoutError> {
        let root = self.listing.root;
        let platform = self
            .excludes
            .at_entry(path, Some(mode))
            .map_err(|error| CheckoutError::unreadable(&root.join(path.to_path_lossy()), &error))?;
        Ok(platform.is_excluded())
    }
}

/// Unfolds a folder of a sparse index: all below it is tracked and not on disk.
fn add_sparse_folder(
    repository: &gix::Repository,
    folder: &BStr,
    id: ObjectId,
    tracked: &mut HashMap<BString, Tracked>,
) -> Result<(), gix::Error> {
    for file in repository.find_tree(id)?.traverse().breadthfirst.files()? {
        if file.mode.is_tree() {
            continue;
        }
        let mut path = folder.to_owned();
        if !path.ends_with(b"/") {
            path.push(b'/');
        }
        path.push_str(&file.filepath);
        let mode = Mode::from_bits_truncate(u32::from(file.mode.value()));
        let known = Tracked { mode, id: file.oid, stat: Stat::default(), flags: Flags::SKIP_WORKTREE };
        tracked.insert(path, known);
    }
    Ok(())
}
