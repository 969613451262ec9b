//! The checkout that the command line works on.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use capstan_model::spelling::suggestion;
use capstan_model::tree::{BlobId, CommitId, RepoPath, Tree, TreeId};
use capstan_model::wording::count;
use gix::bstr::BStr;

use super::checkout_error::CheckoutError;
use super::commit_tree::CommitTree;
use super::objects::{Objects, object_id};
use super::work_tree::WorkTree;

/// A repository on disk. Reading blocks; in async code call it from a blocking task.
pub struct Checkout {
    pub(super) objects: Arc<Objects>,
    root: Option<PathBuf>,
    git_dir: PathBuf,
    /// The directory that it was found around.
    opened_in: PathBuf,
}

impl std::fmt::Debug for Checkout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checkout").field("git_dir", &self.git_dir).finish_non_exhaustive()
    }
}

impl Checkout {
    /// Finds the repository around a directory (default: the working directory), as `git` does:
    /// linked work trees and `GIT_DIR` included.
    pub fn open(directory: Option<&Path>) -> Result<Self, CheckoutError> {
        let directory = directory.unwrap_or(Path::new("."));
        match directory.metadata() {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err(CheckoutError::NotADirectory { path: directory.to_owned() }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(CheckoutError::NoDirectory { path: directory.to_owned() });
            }
            Err(error) => return Err(CheckoutError::io(directory, error)),
        }
        // An absolute path: it is shown in errors, and outlives a change of the working directory.
        let directory = directory.canonicalize().map_err(|error| CheckoutError::io(directory, error))?;
        let shared =
            gix::ThreadSafeRepository::discover_with_environment_overrides(&directory).map_err(|error| {
                if error.downcast_any_ref::<gix::discover::upwards::Error>().is_some() {
                    CheckoutError::NoRepository { path: directory.clone() }
                } else {
                    CheckoutError::unreadable(&directory, &error)
                }
            })?;
        let root = match shared.work_dir() {
            Some(root) => Some(root.canonicalize().map_err(|error| CheckoutError::io(root, error))?),
            None => None,
        };
        let git_dir = shared.git_dir().to_owned();
        Ok(Self { objects: Objects::new(shared), root, git_dir, opened_in: directory })
    }

    /// The URLs of its remotes, without passwords.
    pub(crate) fn remotes(&self) -> Vec<String> {
        self.objects.with(|repository| {
            let url_of = |name: &BStr| {
                let remote = repository.find_remote(name).ok()?;
                let mut url = remote.url(gix::remote::Direction::Fetch)?.clone();
                url.set_password(None);
                Some(url.to_bstring().to_string())
            };
            repository.remote_names().iter().filter_map(|name| url_of(name.as_ref())).collect()
        })
    }

    /// The work tree's root, an absolute path; `None` for a bare repository.
    pub fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// The path in the repository of one as it was typed: absolute, or relative to the directory in which the checkout was
    /// opened; `None` where it leads elsewhere. Nothing has to be there, and links in it are not followed.
    pub(super) fn path_of(&self, typed: &Path) -> Option<RepoPath> {
        let below = match &self.root {
            // The end of a path may be missing, and what there is of it may be named by links, as /tmp is on some systems.
            Some(root) => {
                let whole = plain(&self.opened_in.join(typed))?;
                let there =
                    whole.ancestors().find_map(|there| there.canonicalize().ok().map(|real| (there, real)));
                let within = |path: &Path| path.strip_prefix(root).ok().map(Path::to_owned);
                within(&whole).or_else(|| {
                    let (there, real) = there?;
                    within(&real.join(whole.strip_prefix(there).ok()?))
                })?
            }
            // A bare repository has no directories: its root is where paths begin.
            None => plain(typed).filter(|path| path.is_relative())?,
        };
        RepoPath::parse(below.to_str()?).ok()
    }

    /// The files on disk: what `git add -A` would take.
    pub fn work_tree(&self) -> Result<Arc<dyn Tree>, CheckoutError> {
        let root = self.root.as_deref().ok_or_else(|| CheckoutError::Bare { path: self.git_dir.clone() })?;
        Ok(Arc::new(WorkTree::list(Arc::clone(&self.objects), root)?))
    }

    /// The content of a revision: a branch, a tag, an id, `HEAD~2`, `v1.2^{commit}`.
    pub fn commit(&self, revision: &str) -> Result<Arc<dyn Tree>, CheckoutError> {
        let root = self.objects.with(|repository| {
            let commit = self.resolve(repository, revision)?;
            let tree = repository
                .find_commit(commit)
                .and_then(|commit| commit.tree_id().map(gix::Id::detach))
                .map_err(|error| CheckoutError::unreadable(&self.git_dir, &error))?;
            Ok::<_, CheckoutError>(tree)
        })?;
        let unreadable = |reason: String| CheckoutError::Unreadable { path: self.git_dir.clone(), reason };
        let tree = CommitTree::list(Arc::clone(&self.objects), root, None)
            .map_err(|error| unreadable(error.to_string()))?
            .ok_or_else(|| {
                unreadable(format!(
                    "folders of `{revision}` are missing from the object database; run `git fetch --refetch`"
                ))
            })?;
        Ok(Arc::new(tree))
    }

    /// The commit that a revision names.
    pub fn commit_id(&self, revision: &str) -> Result<CommitId, CheckoutError> {
        let id = self.objects.with(|repository| self.resolve(repository, revision))?;
        CommitId::parse(&id.to_string()).map_err(|error| CheckoutError::Unreadable {
            path: self.git_dir.clone(),
            reason: error.to_string(),
        })
    }

    /// A folder's content by its tree id, from whatever commit left it in the object database; its
    /// paths start at that folder. `None` where the id is not there, is no folder, or is incomplete
    /// (a shallow or partial clone).
    pub fn folder_by_tree(&self, tree: &TreeId) -> Option<Arc<dyn Tree>> {
        let id = object_id(tree.as_str())?;
        let tree = CommitTree::list(Arc::clone(&self.objects), id, None).ok()??;
        Some(Arc::new(tree))
    }

    /// A file's content by its blob id, from whatever commit left it.
    pub fn file_by_blob(&self, blob: &BlobId) -> Option<Arc<[u8]>> {
        self.objects.find_blob(blob)
    }

    fn resolve(&self, repository: &gix::Repository, revision: &str) -> Result<gix::ObjectId, CheckoutError> {
        let path = || self.root.clone().unwrap_or_else(|| self.git_dir.clone());
        let object = repository
            .rev_parse_single(BStr::new(revision))
            .and_then(|id| id.object())
            .and_then(gix::Object::peel_tags_to_end)
            .map_err(|_in_words_of_gitoxide| {
                let unborn = repository.head().ok().filter(gix::Head::is_unborn);
                if let Some(head) = unborn {
                    let branch =
                        head.referent_name().map(|name| name.shorten().to_string()).unwrap_or_default();
                    return CheckoutError::Unborn { path: path(), revision: revision.to_owned(), branch };
                }
                let hint = if repository.is_shallow().unwrap_or(false) {
                    "; this clone is shallow, `git fetch --unshallow` gets its history".to_owned()
                } else {
                    revision_hint(repository, revision)
                };
                CheckoutError::NoSuchRevision { path: path(), revision: revision.to_owned(), hint }
            })?;
        if object.kind == gix::objs::Kind::Commit {
            Ok(object.id)
        } else {
            let kind = object.kind.to_string();
            Err(CheckoutError::NotACommit { path: path(), revision: revision.to_owned(), kind })
        }
    }
}

/// A history with more commits is not counted for a message.
const MOST_COMMITS: usize = 10_000;

/// What may be meant by a revision that is not there: how many commits there are, or the nearest branch or tag.
fn revision_hint(repository: &gix::Repository, revision: &str) -> String {
    let (name, steps) = revision.split_at(revision.find(['~', '^', '@', ':']).unwrap_or(revision.len()));
    if let Some(commit) = repository.rev_parse_single(BStr::new(name)).ok().filter(|_| !steps.is_empty()) {
        let before = commit.ancestors().first_parent_only().all();
        let commits = before.map_or(0, |all| all.filter_map(Result::ok).take(MOST_COMMITS).count());
        return match steps.starts_with('~') && (1..MOST_COMMITS).contains(&commits) {
            true => format!("; `{name}` has {}", count(commits, "commit", "commits")),
            false => String::new(),
        };
    }
    let references = repository.references().ok();
    let all = references.as_ref().and_then(|references| references.all().ok());
    let names: Vec<String> = all
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .map(|reference| reference.name().shorten().to_string())
        .collect();
    suggestion(name, names.iter().map(String::as_str))
}

/// A path without `.` and `..`, by its words alone; `None` where `..` leads above its beginning.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                if !whole.pop() {
                    return None;
                }
            }
            part => whole.push(part),
        }
    }
    Some(whole)
}
