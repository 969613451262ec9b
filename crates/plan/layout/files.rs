//! Which files of a folder count, and what is said of those that do not.

use capstan_model::finding::{FileError, Place, rules};
use capstan_model::tree::{EntryKind, RepoPath, Tree, TreeEntry};

/// Which files of a folder count.
pub(super) struct FolderFiles {
    folder: RepoPath,
    without_folders: Vec<RepoPath>,
    without_files: &'static [&'static str],
}

impl FolderFiles {
    /// All of them, at any depth.
    pub(super) const fn of(folder: RepoPath) -> Self {
        Self { folder, without_folders: Vec::new(), without_files: &[] }
    }

    /// But not those in this folder.
    pub(super) fn without_folder(mut self, folder: RepoPath) -> Self {
        self.without_folders.push(folder);
        self
    }

    /// But not those of these names directly in the folder.
    pub(super) fn without_files(self, names: &'static [&'static str]) -> Self {
        Self { without_files: names, ..self }
    }

    fn counts(&self, entry: &TreeEntry) -> bool {
        let below = entry.path.below(&self.folder);
        below.is_none_or(|below| !self.without_files.contains(&below))
            && !self.without_folders.iter().any(|folder| entry.path.is_in(folder))
    }
}

/// The files that count; links and submodules among them are problems.
pub(super) fn files_in(
    tree: &dyn Tree,
    files: &FolderFiles,
    problems: &mut Vec<FileError>,
) -> Vec<TreeEntry> {
    let (found, foreign): (Vec<&TreeEntry>, Vec<&TreeEntry>) = tree
        .entries_in(&files.folder)
        .iter()
        .filter(|entry| files.counts(entry))
        .partition(|entry| entry.is_file());
    problems.extend(foreign.into_iter().map(not_followed));
    found.into_iter().cloned().collect()
}

/// A link, a submodule or an entry without a name in the place of a file.
pub fn not_followed(entry: &TreeEntry) -> FileError {
    let message = match entry.kind {
        EntryKind::Unnamed => {
            "the name of this file or folder has a backslash or is not UTF-8 (shown as `%5C`), so Capstan cannot read it: rename it"
        }
        EntryKind::Submodule => "Capstan does not follow submodules: put the files themselves here",
        EntryKind::File | EntryKind::Executable | EntryKind::Symlink => {
            "Capstan does not follow symbolic links: put the files themselves here"
        }
    };
    FileError::new(rules::UNREADABLE_FILE, Place::whole(entry.path.clone()), message)
}

/// A reminder for a folder without a name.
pub(super) fn folder_or_root(folder: &RepoPath) -> &'static str {
    if folder.is_root() { " (it is the repository's root)" } else { "" }
}
