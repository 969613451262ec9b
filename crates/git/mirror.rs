//! Bare shallow mirrors, one a repository, `<state>/mirrors/<repository id>.git`.
//!
//! *Expected flow*: a commit that is here is read. Another one is fetched alone, without its history, and
//! only its new objects travel. Its reference `refs/capstan/<commit>` is written last: a commit counts as
//! here when that reference exists, so a fetch that was killed leaves only garbage, which the next one
//! removes. *Guarantees*: one fetch a mirror at a time, between processes too; the token is never on disk.
//! Too many packs are merged ([`super::tidying`]). A mirror that cannot be read, or that exceeds its limits,
//! is rebuilt beside the old one and replaces it when its commit has arrived.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use async_trait::async_trait;
use capstan_model::tree::{BlobId, CommitId, Folder, RepoPath, Tree, TreeId};
use capstan_model::wording::with_causes;
use gix::ObjectId;
use gix::refs::transaction::PreviousValue;
use secrecy::SecretString;

use super::access::{RemoteCredential, check_url, without_credentials};
use super::commit_tree::{CommitTree, ListError};
use super::fetch::{Fetch, FetchFailure, folder_bytes};
use super::mirror_limits::MirrorLimits;
use super::mirror_lock::{clear_leftovers, disk, lock, make_private};
use super::objects::{Objects, object_id};
use super::opened_mirror::{OpenedMirror, REFERENCES};
use super::trailers::read_trailers;
use capstan_ports::{CommitTrailers, Mirror, MirrorError, MirrorShelf, Repository, Snapshot};

/// Commits that are asked for in one fetch.
const WANTED_AT_ONCE: usize = 32;

/// All mirrors of a state directory.
pub struct Mirrors {
    shelf: Arc<MirrorCache>,
}

struct MirrorCache {
    folder: PathBuf,
    limits: MirrorLimits,
    places: Mutex<HashMap<u64, Arc<MirrorFolder>>>,
    listed: Arc<ListedCommits>,
}

/// The lists of commits that were read last, so that the next commit of a repository costs the folders
/// that it changes.
#[derive(Default)]
struct ListedCommits {
    /// By repository, the one read last in front.
    lists: Mutex<VecDeque<(u64, Arc<Folder>)>>,
    folders: AtomicUsize,
}

/// How many files all lists that are kept may name together.
const LISTED_FILES: usize = 1_000_000;

impl ListedCommits {
    /// The list that was made last of a repository.
    fn earlier(&self, repository: u64) -> Option<Arc<Folder>> {
        let lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.iter().find(|(id, _)| *id == repository).map(|(_, list)| Arc::clone(list))
    }

    fn forget(&self, repository: u64) {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner).retain(|(id, _)| *id != repository);
    }

    fn keep(&self, repository: u64, tree: &CommitTree) {
        self.folders.fetch_add(tree.folders_read, Ordering::Relaxed);
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.retain(|(id, _)| *id != repository);
        lists.push_front((repository, Arc::clone(tree.folder())));
        let files = |lists: &VecDeque<(u64, Arc<Folder>)>| -> usize {
            lists.iter().map(|(_, list)| list.len()).sum()
        };
        while files(&lists) > LISTED_FILES {
            lists.pop_back();
        }
    }
}

/// One mirror's place: its folder, and who may change it.
pub(super) struct MirrorFolder {
    repository: u64,
    listed: Arc<ListedCommits>,
    pub(super) opened: OpenedMirror,
    pub(super) lock_file: PathBuf,
    /// Held during a whole fetch; readers of what is here do not wait for it.
    pub(super) writing: Mutex<()>,
    /// Whether somebody waits for the moment at which it may be tidied.
    pub(super) is_watched: AtomicBool,
}

impl std::fmt::Debug for Mirrors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mirrors").field("folder", &self.shelf.folder).finish_non_exhaustive()
    }
}

impl Mirrors {
    /// The mirrors in `<state>/mirrors`, which is made where it is missing.
    pub fn open(state: &Path, limits: MirrorLimits) -> Result<Self, MirrorError> {
        let folder = state.join("mirrors");
        make_private(&folder)?;
        Ok(Self {
            shelf: Arc::new(MirrorCache { folder, limits, places: Mutex::default(), listed: Arc::default() }),
        })
    }

    /// A commit of any repository, fetched where it is not here.
    pub(super) async fn snapshot_of(
        &self,
        repository: u64,
        url: &str,
        access: &RemoteCredential,
        commit: &CommitId,
    ) -> Result<Snapshot, MirrorError> {
        let (place, limits) = (self.shelf.place(repository), self.shelf.limits.clone());
        let (url, access, commit) = (url.to_owned(), access.clone(), commit.clone());
        let fetching = Arc::clone(&place);
        let fetch = move || fetching.snapshot(&limits, &url, &access, &commit);
        let snapshot = run_blocking(&self.shelf.folder, fetch).await?;
        place.tidy_at_rest(&self.shelf.limits);
        Ok(snapshot)
    }

    /// A commit that is here already; nobody is asked for it.
    pub(super) async fn kept(
        &self,
        repository: u64,
        commit: &CommitId,
    ) -> Result<Option<Snapshot>, MirrorError> {
        let (shelf, commit) = (Arc::clone(&self.shelf), commit.clone());
        run_blocking(&self.shelf.folder, move || shelf.place(repository).read(&commit)).await
    }

    /// How many folders of commits were read from disk so far, for figures.
    pub fn folders_read(&self) -> usize {
        self.shelf.listed.folders.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Mirror for Mirrors {
    async fn snapshot(
        &self,
        repository: &Repository,
        token: &SecretString,
        commit: &CommitId,
    ) -> Result<Snapshot, MirrorError> {
        self.snapshot_of(repository.id, &repository.clone_url, &RemoteCredential::token(token), commit).await
    }

    async fn bring(&self, repository: &Repository, token: &SecretString, commits: &[CommitId]) {
        let (place, limits) = (self.shelf.place(repository.id), self.shelf.limits.clone());
        let (url, access) = (repository.clone_url.clone(), RemoteCredential::token(token));
        let commits = commits.to_vec();
        let bring = move || {
            place.bring(&limits, &url, &access, &commits);
            Ok(())
        };
        if let Err(error) = run_blocking(&self.shelf.folder, bring).await {
            tracing::warn!(repository = %repository.name, error = %error, "commits are not fetched beforehand");
        }
    }

    async fn snapshot_of_file(
        &self,
        repository: &Repository,
        commit: &CommitId,
        file: &RepoPath,
    ) -> Result<Snapshot, MirrorError> {
        let shelf = Arc::clone(&self.shelf);
        let (id, url) = (repository.id, repository.clone_url.clone());
        let (commit, file) = (commit.clone(), file.clone());
        run_blocking(&self.shelf.folder, move || {
            let found = shelf.place(id).read_file(&commit, &file);
            found.ok_or(MirrorError::NoSuchCommit { url, commit })
        })
        .await
    }

    async fn folder(
        &self,
        repository: &Repository,
        tree: &TreeId,
    ) -> Result<Option<Arc<dyn Tree>>, MirrorError> {
        let shelf = Arc::clone(&self.shelf);
        let (id, tree) = (repository.id, tree.clone());
        run_blocking(&self.shelf.folder, move || Ok(shelf.place(id).folder_by_tree(&tree))).await
    }

    async fn file(&self, repository: &Repository, blob: &BlobId) -> Result<Option<Arc<[u8]>>, MirrorError> {
        let shelf = Arc::clone(&self.shelf);
        let (id, blob) = (repository.id, blob.clone());
        let find = move || Ok(shelf.place(id).opened.open().and_then(|objects| objects.find_blob(&blob)));
        run_blocking(&self.shelf.folder, find).await
    }
}

#[async_trait]
impl MirrorShelf for Mirrors {
    async fn mirrored(&self) -> Result<Vec<(u64, u64)>, MirrorError> {
        let shelf = Arc::clone(&self.shelf);
        run_blocking(&self.shelf.folder, move || shelf.mirrored()).await
    }

    async fn remove(&self, repository: u64) -> Result<(), MirrorError> {
        let shelf = Arc::clone(&self.shelf);
        run_blocking(&self.shelf.folder, move || shelf.remove(repository)).await
    }
}

pub(super) async fn run_blocking<T: Send + 'static>(
    folder: &Path,
    work: impl FnOnce() -> Result<T, MirrorError> + Send + 'static,
) -> Result<T, MirrorError> {
    let span = tracing::Span::current();
    match tokio::task::spawn_blocking(move || span.in_scope(work)).await {
        Ok(result) => result,
        Err(error) => Err(disk(folder, error)),
    }
}

impl MirrorCache {
    fn place(&self, repository: u64) -> Arc<MirrorFolder> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let place = places.entry(repository).or_insert_with(|| {
            Arc::new(MirrorFolder {
                repository,
                listed: Arc::clone(&self.listed),
                opened: OpenedMirror::new(self.folder.join(format!("{repository}.git"))),
                lock_file: self.folder.join(format!("{repository}.lock")),
                writing: Mutex::default(),
                is_watched: AtomicBool::default(),
            })
        });
        Arc::clone(place)
    }

    /// The repositories that have a mirror, and the bytes of its packs.
    fn mirrored(&self) -> Result<Vec<(u64, u64)>, MirrorError> {
        let entries = fs::read_dir(&self.folder).map_err(|error| disk(&self.folder, error))?;
        let mirrored = entries.flatten().filter_map(|entry| {
            let id = entry.file_name().to_str()?.strip_suffix(".git")?.parse().ok()?;
            Some((id, folder_bytes(&entry.path().join("objects/pack"))))
        });
        Ok(mirrored.collect())
    }

    fn remove(&self, repository: u64) -> Result<(), MirrorError> {
        let place = self.place(repository);
        let _alone = place.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let _locked = lock(&place.lock_file, self.limits.fetch_timeout)?;
        place.opened.replaced(|| ());
        let folder = &place.opened.folder;
        for folder in [folder.clone(), folder.with_extension("git.new"), folder.with_extension("git.old")] {
            remove(&folder).map_err(|failure| match failure {
                Renewal::Disk(reason) => disk(&folder, reason),
                Renewal::Fetch(failure) => disk(&folder, failure),
            })?;
        }
        self.listed.forget(repository);
        self.places.lock().unwrap_or_else(PoisonError::into_inner).remove(&repository);
        match fs::remove_file(&place.lock_file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(disk(&place.lock_file, error)),
            _ => Ok(()),
        }
    }
}

impl MirrorFolder {
    fn snapshot(
        &self,
        limits: &MirrorLimits,
        url: &str,
        access: &RemoteCredential,
        commit: &CommitId,
    ) -> Result<Snapshot, MirrorError> {
        if let Some(snapshot) = self.read(commit)? {
            return Ok(snapshot);
        }
        check_url(url, access)
            .map_err(|reason| MirrorError::Fetch { url: without_credentials(url), reason })?;
        let _alone = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let _locked = lock(&self.lock_file, limits.fetch_timeout)?;
        if let Some(snapshot) = self.read(commit)? {
            return Ok(snapshot);
        }
        let id = object_id(commit.as_str())
            .ok_or_else(|| MirrorError::NoSuchCommit { url: url.to_owned(), commit: commit.clone() })?;
        let fetch = |repository: &gix::Repository| fetch_into(repository, url, access, &[id], limits);
        if let Some(objects) = self.opened.open().filter(|objects| !self.opened.is_worn(objects, limits)) {
            clear_leftovers(&self.opened.folder);
            let objects = self.opened.with_fewer_packs(objects, limits.small_packs_at_work);
            match objects.with(fetch) {
                Ok(()) => {
                    let read = match self.read(commit)? {
                        Some(snapshot) => Some(snapshot),
                        None => {
                            self.opened.reopen();
                            self.read(commit)?
                        }
                    };
                    if let Some(snapshot) = read {
                        return Ok(snapshot);
                    }
                    tracing::warn!(mirror = %self.opened.folder.display(), "the mirror is damaged and is recreated");
                }
                Err(FetchFailure::Transfer(reason)) => {
                    tracing::warn!(mirror = %self.opened.folder.display(), reason, "a fetch failed; trying in a new mirror");
                }
                Err(failure) => return Err(explain_failure(failure, url, commit)),
            }
        }
        self.replace_mirror(fetch).map_err(|failure| match failure {
            Renewal::Fetch(failure) => explain_failure(failure, url, commit),
            Renewal::Disk(reason) => disk(&self.opened.folder, reason),
        })?;
        self.read(commit)?.ok_or_else(|| {
            disk(&self.opened.folder, format!("commit {commit} was fetched but cannot be read"))
        })
    }

    /// Fetches what is missing together, into an existing mirror. An error is left to the read that needs one
    /// of them.
    fn bring(&self, limits: &MirrorLimits, url: &str, access: &RemoteCredential, commits: &[CommitId]) {
        if check_url(url, access).is_err() {
            return;
        }
        let _alone = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(_locked) = lock(&self.lock_file, limits.fetch_timeout) else { return };
        let Some(objects) = self.opened.open().filter(|objects| !objects.is_damaged()) else { return };
        let missing = commits.iter().filter(|commit| self.find(commit).is_none());
        let missing: Vec<ObjectId> = missing.filter_map(|commit| object_id(commit.as_str())).collect();
        for some in missing.chunks(WANTED_AT_ONCE) {
            if let Err(failure) = objects.with(|repository| fetch_into(repository, url, access, some, limits))
            {
                tracing::debug!(mirror = %self.opened.folder.display(), reason = %failure, "commits are not fetched together");
                return;
            }
        }
    }

    /// A snapshot of a commit that is here; `None` where it is not, or cannot be read.
    ///
    /// # Errors
    /// It is too large to be read, however often it is fetched.
    fn read(&self, commit: &CommitId) -> Result<Option<Snapshot>, MirrorError> {
        let Some(MirroredCommit { objects, root, parents, trailers }) = self.find(commit) else {
            return Ok(None);
        };
        let earlier = self.listed.earlier(self.repository);
        let tree = match CommitTree::list(objects, root, earlier.as_ref()) {
            Ok(Some(tree)) => tree,
            Ok(None) => return Ok(None),
            Err(ListError::TooLarge(reason)) => {
                return Err(MirrorError::TooLarge { commit: commit.clone(), reason });
            }
            Err(ListError::Broken(reason)) => {
                tracing::warn!(mirror = %self.opened.folder.display(), reason, "a commit cannot be read");
                return Ok(None);
            }
        };
        self.listed.keep(self.repository, &tree);
        let Some(root) = tree.folder_id(&RepoPath::root()) else { return Ok(None) };
        Ok(Some(Snapshot { commit: commit.clone(), root, parents, trailers, tree: Arc::new(tree) }))
    }

    /// A snapshot of a commit that is here, with this one file of its root folder alone.
    fn read_file(&self, commit: &CommitId, file: &RepoPath) -> Option<Snapshot> {
        let MirroredCommit { objects, root, parents, trailers } = self.find(commit)?;
        let tree = CommitTree::of_file(objects, root, file)?;
        let root = tree.folder_id(&RepoPath::root())?;
        Some(Snapshot { commit: commit.clone(), root, parents, trailers, tree: Arc::new(tree) })
    }

    /// A commit that is here.
    fn find(&self, commit: &CommitId) -> Option<MirroredCommit> {
        let objects = self.opened.open().filter(|objects| !objects.is_damaged())?;
        let (root, parents, trailers) = objects.with(|repository| {
            repository.try_find_reference(&format!("{REFERENCES}{commit}")).ok()??;
            let found = repository.find_commit(object_id(commit.as_str())?).ok()?;
            let root = found.tree_id().ok()?.detach();
            let parents = found.parent_ids().filter_map(|id| CommitId::parse(&id.to_string()).ok());
            Some((root, parents.collect(), read_trailers(found.message_raw_sloppy())))
        })?;
        Some(MirroredCommit { objects, root, parents, trailers })
    }

    fn folder_by_tree(&self, tree: &TreeId) -> Option<Arc<dyn Tree>> {
        let tree = CommitTree::list(self.opened.open()?, object_id(tree.as_str())?, None).ok()??;
        Some(Arc::new(tree))
    }

    /// Makes a new mirror beside the old one, fetches into it, and lets it take the old one's place.
    fn replace_mirror(
        &self,
        fetch: impl FnOnce(&gix::Repository) -> Result<(), FetchFailure>,
    ) -> Result<(), Renewal> {
        let (new, old) =
            (self.opened.folder.with_extension("git.new"), self.opened.folder.with_extension("git.old"));
        remove(&new)?;
        remove(&old)?;
        let repository = gix::ThreadSafeRepository::init_opts(
            &new,
            gix::create::Kind::Bare,
            gix::create::Options::default(),
            gix::open::Options::isolated(),
        )
        .map_err(|error| Renewal::Disk(with_causes(&error)))?
        .to_thread_local();
        if let Err(failure) = fetch(&repository) {
            drop(repository);
            remove(&new)?;
            return Err(Renewal::Fetch(failure));
        }
        drop(repository);
        let io = |error: io::Error| Renewal::Disk(error.to_string());
        self.opened.replaced(|| {
            if self.opened.folder.exists() {
                fs::rename(&self.opened.folder, &old).map_err(io)?;
            }
            fs::rename(&new, &self.opened.folder).map_err(io)
        })?;
        remove(&old)
    }
}

/// A commit in a mirror.
struct MirroredCommit {
    objects: Arc<Objects>,
    root: ObjectId,
    parents: Vec<CommitId>,
    trailers: CommitTrailers,
}

/// Why a new mirror could not be made.
enum Renewal {
    Fetch(FetchFailure),
    Disk(String),
}

fn remove(folder: &Path) -> Result<(), Renewal> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Renewal::Disk(format!("{}: {error}", folder.display())))
        }
        _ => Ok(()),
    }
}

fn fetch_into(
    repository: &gix::Repository,
    url: &str,
    access: &RemoteCredential,
    commits: &[ObjectId],
    limits: &MirrorLimits,
) -> Result<(), FetchFailure> {
    let transfer = |error: gix::Error| FetchFailure::Transfer(with_causes(&error));
    let begun = Instant::now();
    let haves = fetched_commits(repository).map_err(transfer)?;
    let received = Fetch { repository, url, access, commits, haves, limits }.run()?;
    for commit in commits {
        repository
            .reference(format!("{REFERENCES}{commit}"), *commit, PreviousValue::Any, "fetched")
            .map_err(transfer)?;
    }
    if let Some(keep) = received.keep {
        let _gone = fs::remove_file(keep);
    }
    tracing::info!(
        git.url = url,
        git.commit = commits.first().map(tracing::field::display),
        git.commits = commits.len(),
        git.objects = received.objects,
        duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        "fetched a commit"
    );
    Ok(())
}

/// The commits that are here with all their content.
fn fetched_commits(repository: &gix::Repository) -> Result<Vec<ObjectId>, gix::Error> {
    let mut commits = Vec::new();
    for reference in repository.references()?.prefixed(REFERENCES)? {
        if let Some(id) = reference?.try_id() {
            commits.push(id.detach());
        }
    }
    Ok(commits)
}

fn explain_failure(failure: FetchFailure, url: &str, commit: &CommitId) -> MirrorError {
    match failure {
        FetchFailure::NoSuchCommit => {
            MirrorError::NoSuchCommit { url: url.to_owned(), commit: commit.clone() }
        }
        failure => MirrorError::Fetch { url: url.to_owned(), reason: failure.to_string() },
    }
}
