//! Replacing files of a work tree, all or nothing.
//!
//! *Expected flow*: every change is checked (inside the root, not through a symbolic link, the file
//! still as it was planned on), every new content is written and synced next to its target, and only
//! then are the targets replaced by renames. *Guarantee*: when [`write_all_or_nothing`] returns an error,
//! the tree is as it was, the folders that it made included. *Caveat*: a machine that dies between two
//! renames leaves some files replaced and some not (each whole); `git status` shows them.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use capstan_model::file_change::FileChange;
use capstan_model::tree::RepoPath;
use tempfile::{NamedTempFile, TempPath};

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum WriteFailure {
    /// The file is not what the change was planned on.
    #[error("{path}: was edited since the upgrade was planned; nothing was written, run the command again")]
    EditedMeanwhile {
        /// The file.
        path: RepoPath,
    },
    /// The file, or a folder on the way, is a symbolic link.
    #[error(
        "{path}: `{link}` is a symbolic link, and Capstan does not write through links; nothing was written"
    )]
    ThroughLink {
        /// The file.
        path: RepoPath,
        link: RepoPath,
    },
    /// The path has something that is not a file, or a folder on the way is something else.
    #[error("{path}: `{obstacle}` is in the way ({found}); nothing was written")]
    InTheWay {
        /// The file.
        path: RepoPath,
        /// What is in the way.
        obstacle: RepoPath,
        /// What it is.
        found: &'static str,
    },
    /// A path that Capstan never writes: the root itself, or below `.git`.
    #[error("{path}: not a path that may be written; nothing was written")]
    Forbidden { path: RepoPath },
    /// The same path twice.
    #[error("{path}: changed twice by the same upgrade; nothing was written")]
    Twice { path: RepoPath },
    /// The disk failed; everything was put back.
    #[error("{path}: {source}; nothing was written")]
    Io {
        /// The file.
        path: RepoPath,
        /// Why.
        source: io::Error,
    },
    /// The disk failed, and then failed again while everything was put back.
    #[error(
        "{path}: {source}; putting the files back failed too: {}; `git status` shows what was changed",
        left.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    )]
    NotUndone {
        /// The file that failed first.
        path: RepoPath,
        /// Why.
        source: io::Error,
        /// The files that could not be put back.
        left: Vec<RepoPath>,
    },
}

/// Makes all changes, or none. Executable bits stay; folders that a removal empties go.
pub fn write_all_or_nothing(root: &Path, changes: &[FileChange]) -> Result<(), WriteFailure> {
    let mut seen = BTreeSet::new();
    for change in changes {
        if !seen.insert(&change.path) {
            return Err(WriteFailure::Twice { path: change.path.clone() });
        }
        check(root, change)?;
    }
    let mut transaction = Transaction { root, made_folders: Vec::new(), done: Vec::new() };
    let outcome = transaction.stage(changes).and_then(|staged| transaction.replace(staged));
    match outcome {
        Ok(()) => {
            transaction.finish(changes);
            Ok(())
        }
        Err(failure) => Err(transaction.undo(failure)),
    }
}

/// Refuses what must not be written, before anything is touched.
fn check(root: &Path, change: &FileChange) -> Result<(), WriteFailure> {
    let path = || change.path.clone();
    let in_git = change.path.parts().any(|part| part.eq_ignore_ascii_case(".git"));
    if change.path.is_root() || in_git {
        return Err(WriteFailure::Forbidden { path: path() });
    }
    let io = |source| WriteFailure::Io { path: path(), source };
    let mut folders: Vec<RepoPath> = std::iter::successors(change.path.parent(), RepoPath::parent).collect();
    folders.reverse();
    for folder in folders.iter().filter(|folder| !folder.is_root()) {
        match fs::symlink_metadata(root.join(folder.as_str())) {
            Ok(metadata) if metadata.is_symlink() => {
                return Err(WriteFailure::ThroughLink { path: path(), link: folder.clone() });
            }
            Ok(metadata) if !metadata.is_dir() => {
                return Err(WriteFailure::InTheWay {
                    path: path(),
                    obstacle: folder.clone(),
                    found: "not a folder",
                });
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            Err(error) => return Err(io(error)),
        }
    }
    check_content(root, change)
}

/// The file still is what the change was planned on.
fn check_content(root: &Path, change: &FileChange) -> Result<(), WriteFailure> {
    let path = || change.path.clone();
    let target = root.join(change.path.as_str());
    let edited = || WriteFailure::EditedMeanwhile { path: path() };
    match fs::symlink_metadata(&target) {
        Ok(metadata) if metadata.is_symlink() => {
            Err(WriteFailure::ThroughLink { path: path(), link: path() })
        }
        Ok(metadata) if metadata.is_dir() => {
            Err(WriteFailure::InTheWay { path: path(), obstacle: path(), found: "a folder" })
        }
        Ok(metadata) if !metadata.is_file() => {
            Err(WriteFailure::InTheWay { path: path(), obstacle: path(), found: "not a file" })
        }
        Ok(_) => {
            let content = fs::read(&target).map_err(|source| WriteFailure::Io { path: path(), source })?;
            if change.before.as_ref().is_some_and(|before| before.as_bytes() == content) {
                Ok(())
            } else {
                Err(edited())
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if change.before.is_none() {
                Ok(())
            } else {
                Err(edited())
            }
        }
        Err(source) => Err(WriteFailure::Io { path: path(), source }),
    }
}

/// One change whose new content is on the disk, under a name of its own.
struct Staged<'change> {
    change: &'change FileChange,
    target: PathBuf,
    content: Option<TempPath>,
}

/// One change that was made, and the way back.
struct CompletedWrite {
    path: RepoPath,
    target: PathBuf,
    /// The file as it was; `None` where there was none. Removed when dropped.
    original: Option<TempPath>,
}

struct Transaction<'root> {
    root: &'root Path,
    made_folders: Vec<PathBuf>,
    done: Vec<CompletedWrite>,
}

impl Transaction<'_> {
    fn stage<'change>(
        &mut self,
        changes: &'change [FileChange],
    ) -> Result<Vec<Staged<'change>>, WriteFailure> {
        let mut staged = Vec::with_capacity(changes.len());
        for change in changes {
            let target = self.root.join(change.path.as_str());
            let io = |source| WriteFailure::Io { path: change.path.clone(), source };
            let content = match &change.after {
                Some(text) => Some(self.stage_content(&target, text).map_err(io)?),
                None => None,
            };
            staged.push(Staged { change, target, content });
        }
        Ok(staged)
    }

    fn stage_content(&mut self, target: &Path, text: &str) -> io::Result<TempPath> {
        let folder = target.parent().unwrap_or(self.root);
        self.make_folder(folder)?;
        let mut file = temporary_file(folder)?;
        file.write_all(text.as_bytes())?;
        match fs::metadata(target) {
            Ok(metadata) => file.as_file().set_permissions(metadata.permissions())?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => make_ordinary(file.as_file(), folder)?,
            Err(error) => return Err(error),
        }
        file.as_file().sync_all()?;
        Ok(file.into_temp_path())
    }

    fn make_folder(&mut self, folder: &Path) -> io::Result<()> {
        let mut missing = Vec::new();
        let mut at = folder;
        while at != self.root && !at.try_exists()? {
            missing.push(at.to_owned());
            match at.parent() {
                Some(parent) => at = parent,
                None => break,
            }
        }
        for folder in missing.into_iter().rev() {
            fs::create_dir(&folder)?;
            self.made_folders.push(folder);
        }
        Ok(())
    }

    fn replace(&mut self, staged: Vec<Staged<'_>>) -> Result<(), WriteFailure> {
        for Staged { change, target, content } in staged {
            // Checked once more, at the last moment: staging many files takes a while.
            check_content(self.root, change)?;
            let io = |source| WriteFailure::Io { path: change.path.clone(), source };
            let original = match &change.before {
                Some(_) => Some(set_aside(&target).map_err(io)?),
                None => None,
            };
            self.done.push(CompletedWrite { path: change.path.clone(), target: target.clone(), original });
            match content {
                Some(content) => content.persist(&target).map_err(|error| io(error.error))?,
                None => fs::remove_file(&target).map_err(io)?,
            }
        }
        self.sync_folders().map_err(|(path, source)| WriteFailure::Io { path, source })
    }

    /// A rename is durable once its folder is.
    fn sync_folders(&self) -> Result<(), (RepoPath, io::Error)> {
        let mut synced = BTreeSet::new();
        for done in &self.done {
            if let Some(folder) = done.target.parent()
                && synced.insert(folder.to_owned())
            {
                fs::File::open(folder)
                    .and_then(|folder| folder.sync_all())
                    .map_err(|error| (done.path.clone(), error))?;
            }
        }
        Ok(())
    }

    /// Drops the originals, and the folders that removals emptied: Git knows no empty folders.
    fn finish(self, changes: &[FileChange]) {
        drop(self.done);
        for change in changes.iter().filter(|change| change.after.is_none()) {
            for folder in std::iter::successors(change.path.parent(), RepoPath::parent) {
                if folder.is_root() || fs::remove_dir(self.root.join(folder.as_str())).is_err() {
                    break;
                }
            }
        }
    }

    fn undo(self, failure: WriteFailure) -> WriteFailure {
        let mut left = Vec::new();
        for CompletedWrite { path, target, original } in self.done.into_iter().rev() {
            let undone = match original {
                Some(original) => original.persist(&target).map_err(|error| {
                    // The only copy: it must not be removed with its guard.
                    let source = error.error;
                    let _kept = error.path.keep();
                    source
                }),
                None => match fs::remove_file(&target) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                    _ => Ok(()),
                },
            };
            if undone.is_err() {
                left.push(path);
            }
        }
        for folder in self.made_folders.iter().rev() {
            // Not empty: another process put something there meanwhile, and it stays.
            let _not_ours = fs::remove_dir(folder);
        }
        match failure {
            WriteFailure::Io { path, source } if !left.is_empty() => {
                WriteFailure::NotUndone { path, source, left }
            }
            failure => failure,
        }
    }
}

/// Keeps the original under a second name: the target itself never goes missing in between.
fn set_aside(target: &Path) -> io::Result<TempPath> {
    let folder = target.parent().unwrap_or(Path::new("."));
    let aside = temporary_file(folder)?.into_temp_path();
    fs::remove_file(&aside)?;
    if fs::hard_link(target, &aside).is_err() {
        // No hard links here (some network and FUSE file systems): a copy with its permissions.
        fs::copy(target, &aside)?;
    }
    Ok(aside)
}

fn temporary_file(folder: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(".capstan-").suffix(".tmp").tempfile_in(folder)
}

/// A new file gets the permissions that any program's new file would get here, not a temporary file's.
#[cfg(unix)]
fn make_ordinary(file: &fs::File, folder: &Path) -> io::Result<()> {
    let probe = folder.join(format!(".capstan-{}.tmp", ulid::Ulid::generate()));
    let permissions = fs::File::create_new(&probe)
        .and_then(|probe| probe.metadata())
        .map(|metadata| metadata.permissions());
    let _gone = fs::remove_file(&probe);
    file.set_permissions(permissions?)
}

#[cfg(not(unix))]
fn make_ordinary(_: &fs::File, _: &Path) -> io::Result<()> {
    Ok(())
}
