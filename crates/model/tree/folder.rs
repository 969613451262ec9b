//! Folders as values that snapshots share: what did not change from one commit to the next is the same
//! value, so that two snapshots are compared, and the next one made, at the price of what differs.

use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

use super::{RepoPath, Tree, TreeEntry, TreeId};

/// A folder of a snapshot with all that is below it.
#[derive(Debug)]
pub struct Folder {
    path: RepoPath,
    id: TreeId,
    /// The files that stand directly in it, ordered by path.
    files: Vec<TreeEntry>,
    /// The folders that stand directly in it, ordered by name.
    folders: Vec<Arc<Self>>,
    /// The number of its files, at any depth.
    count: usize,
    /// All files in it, at any depth; made when somebody asks, and only where there are folders in it.
    all: OnceLock<Vec<TreeEntry>>,
}

impl Folder {
    /// A folder of these files and folders, in any order; all of their paths begin with `path`.
    pub fn new(path: RepoPath, id: TreeId, mut files: Vec<TreeEntry>, mut folders: Vec<Arc<Self>>) -> Self {
        if !files.is_sorted_by(|a, b| a.path <= b.path) {
            files.sort_by(|a, b| a.path.cmp(&b.path));
        }
        if !folders.is_sorted_by(|a, b| a.path <= b.path) {
            folders.sort_by(|a, b| a.path.cmp(&b.path));
        }
        let count = files.len() + folders.iter().map(|folder| folder.count).sum::<usize>();
        Self { path, id, files, folders, count, all: OnceLock::new() }
    }
    pub const fn path(&self) -> &RepoPath {
        &self.path
    }

    /// Git's id of it.
    pub const fn id(&self) -> &TreeId {
        &self.id
    }

    /// The number of its files, at any depth.
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether it has no file.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The folders that stand directly in it, ordered by name.
    pub fn folders(&self) -> &[Arc<Self>] {
        &self.folders
    }

    /// Every file in it, at any depth, ordered by path.
    pub fn entries(&self) -> &[TreeEntry] {
        if self.folders.is_empty() {
            return &self.files;
        }
        self.all.get_or_init(|| {
            let mut all = Vec::with_capacity(self.count);
            self.collect(&mut all);
            // A folder `a` is before a file `a.b` among the folders, and its files after it.
            all.sort_by(|a, b| a.path.cmp(&b.path));
            all
        })
    }

    fn collect(&self, all: &mut Vec<TreeEntry>) {
        all.extend_from_slice(&self.files);
        self.folders.iter().for_each(|folder| folder.collect(all));
    }

    /// The folder at a path at or below this one.
    pub fn folder(&self, path: &RepoPath) -> Option<&Self> {
        let mut folder = self;
        while folder.path != *path {
            folder = folder.towards(path)?;
        }
        Some(folder)
    }

    /// The file at a path below this folder.
    pub fn entry(&self, path: &RepoPath) -> Option<&TreeEntry> {
        let mut folder = self;
        while let Some(next) = folder.towards(path) {
            folder = next;
        }
        let at = folder.files.binary_search_by(|entry| entry.path.cmp(path)).ok()?;
        folder.files.get(at)
    }

    /// The folder directly in this one that contains a path, or is that path.
    fn towards(&self, path: &RepoPath) -> Option<&Self> {
        let rest = path.below(&self.path)?;
        let length = path.as_str().len() - rest.len() + rest.find('/').unwrap_or(rest.len());
        let wanted = path.as_str().get(..length)?;
        let at = self.folders.binary_search_by(|folder| folder.path.as_str().cmp(wanted)).ok()?;
        self.folders.get(at).map(AsRef::as_ref)
    }
}

/// A file that came, went or changed between two snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileDifference<'a> {
    pub path: &'a RepoPath,
    /// What it is now; `None` where it went.
    pub after: Option<&'a TreeEntry>,
}

/// The files that came, went or changed between two snapshots, ordered by path; no content is read. Of snapshots
/// that are made of folders, those that are the same are passed over.
pub fn differences<'a>(before: &'a dyn Tree, after: &'a dyn Tree) -> Vec<FileDifference<'a>> {
    let mut found = Vec::new();
    match (before.root(), after.root()) {
        (Some(old), Some(new)) => {
            compare(old, new, usize::MAX, &mut found);
            found.sort_by_key(|difference| difference.path);
        }
        _ => compare_files(before.entries(), after.entries(), &mut found),
    }
    found
}

/// The paths of the files that came, went or changed between two snapshots, ordered; `None` where they are
/// more than `most`.
pub fn changed_files(old: &Folder, new: &Folder, most: usize) -> Option<Vec<RepoPath>> {
    let mut found = Vec::new();
    compare(old, new, most, &mut found).then(|| {
        let mut paths: Vec<RepoPath> = found.iter().map(|difference| difference.path.clone()).collect();
        paths.sort();
        paths
    })
}

/// Whether the changes found so far are not too many.
fn compare<'a>(old: &'a Folder, new: &'a Folder, most: usize, found: &mut Vec<FileDifference<'a>>) -> bool {
    if old.id == new.id {
        return true;
    }
    compare_files(&old.files, &new.files, found);
    for (one, other) in paired(&old.folders, &new.folders, |folder| &folder.path) {
        let fits = match (one, other) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other) || compare(one, other, most, found),
            (Some(folder), None) | (None, Some(folder)) => {
                let fits = found.len() + folder.count <= most;
                if fits {
                    let all = folder.entries();
                    let (old, new) = if one.is_some() { (all, &[][..]) } else { (&[][..], all) };
                    compare_files(old, new, found);
                }
                fits
            }
            (None, None) => true,
        };
        if !fits {
            return false;
        }
    }
    found.len() <= most
}

/// The same of two lists of files that are ordered by path.
fn compare_files<'a>(old: &'a [TreeEntry], new: &'a [TreeEntry], found: &mut Vec<FileDifference<'a>>) {
    for (one, other) in paired(old, new, |entry| &entry.path) {
        match (one, other) {
            (Some(one), Some(other)) if one == other => {}
            (_, Some(entry)) => found.push(FileDifference { path: &entry.path, after: Some(entry) }),
            (Some(entry), None) => found.push(FileDifference { path: &entry.path, after: None }),
            (None, None) => {}
        }
    }
}

/// Two ordered lists side by side; equal entries in one pair.
fn paired<'a, T>(
    mut old: &'a [T],
    mut new: &'a [T],
    path: impl Fn(&T) -> &RepoPath,
) -> impl Iterator<Item = (Option<&'a T>, Option<&'a T>)> {
    std::iter::from_fn(move || {
        let order = match (old.first(), new.first()) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(one), Some(other)) => path(one).cmp(path(other)),
        };
        let mut pair = (None, None);
        if order.is_le()
            && let Some((first, rest)) = old.split_first()
        {
            (pair.0, old) = (Some(first), rest);
        }
        if order.is_ge()
            && let Some((first, rest)) = new.split_first()
        {
            (pair.1, new) = (Some(first), rest);
        }
        Some(pair)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{BlobId, EntryKind, Unreadable};

    /// `a/x=1` is a file of content 1; ids of folders are made of what is in them.
    fn snapshot(files: &[&str]) -> Arc<Folder> {
        let files: Vec<(&str, u64)> = files
            .iter()
            .map(|file| file.split_once('=').map(|(p, v)| (p, v.parse().unwrap())).unwrap())
            .collect();
        folder("", &files)
    }

    fn folder(path: &str, files: &[(&str, u64)]) -> Arc<Folder> {
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let inside: Vec<(&str, u64)> =
            files.iter().filter(|(file, _)| file.starts_with(&prefix)).copied().collect();
        let mut names: Vec<&str> = Vec::new();
        let mut own = Vec::new();
        for (file, content) in &inside {
            match file[prefix.len()..].split_once('/') {
                Some((name, _)) if !names.contains(&name) => names.push(name),
                Some(_) => {}
                None => own.push(TreeEntry {
                    path: RepoPath::parse(file).unwrap(),
                    kind: EntryKind::File,
                    blob: BlobId::parse(&format!("{content:040x}")).unwrap(),
                }),
            }
        }
        let folders = names.iter().map(|name| folder(&format!("{prefix}{name}"), files)).collect();
        let sum = inside.iter().fold(7_u64, |sum, (file, content)| {
            file.bytes().fold(sum.wrapping_mul(31).wrapping_add(*content), |sum, byte| {
                sum.wrapping_mul(131).wrapping_add(u64::from(byte))
            })
        });
        let id = TreeId::parse(&format!("{sum:040x}")).unwrap();
        Arc::new(Folder::new(RepoPath::parse(path).unwrap(), id, own, folders))
    }

    fn paths(entries: &[TreeEntry]) -> Vec<&str> {
        entries.iter().map(|entry| entry.path.as_str()).collect()
    }

    #[test]
    fn files_are_ordered_by_path_wherever_folders_stand() {
        let root = snapshot(&["a/x=1", "a.b=2", "a/y/z=3", "a-b/c=4", "b=5"]);
        assert_eq!(paths(root.entries()), ["a-b/c", "a.b", "a/x", "a/y/z", "b"]);
        assert_eq!(root.len(), 5);
        let at = |path: &str| RepoPath::parse(path).unwrap();
        assert_eq!(root.entry(&at("a/y/z")).map(|entry| entry.path.as_str()), Some("a/y/z"));
        assert_eq!(root.entry(&at("a.b")).map(|entry| entry.path.as_str()), Some("a.b"));
        assert!(root.entry(&at("a/y")).is_none() && root.entry(&at("a/y/z/0")).is_none());
        assert_eq!(paths(root.folder(&at("a")).unwrap().entries()), ["a/x", "a/y/z"]);
        assert!(root.folder(&at("a/x")).is_none() && root.folder(&at("")).is_some());
    }

    #[test]
    fn changed_files_are_listed() {
        let old = snapshot(&["a/x=1", "a/y=1", "b/c/d=1", "e=1", "same/f=1"]);
        let new = snapshot(&["a/x=2", "a/z/y=1", "b/c/d=1", "e=1", "g/h=1", "same/f=1"]);
        let changed = |most| changed_files(&old, &new, most);
        let told = changed(10).unwrap();
        assert_eq!(told.iter().map(RepoPath::as_str).collect::<Vec<_>>(), ["a/x", "a/y", "a/z/y", "g/h"]);
        assert_eq!(changed(3), None);
        assert_eq!(changed_files(&old, &old, 0), Some(Vec::new()));
    }

    /// A snapshot of these folders that says so, or of their files alone.
    struct Snapshot {
        root: Arc<Folder>,
        as_folders: bool,
    }

    impl Tree for Snapshot {
        fn entries(&self) -> &[TreeEntry] {
            self.root.entries()
        }

        fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
            Err(Unreadable { path: entry.path.clone(), reason: "no content is read".to_owned() })
        }

        fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
            self.root.folder(folder).map(|folder| folder.id().clone())
        }

        fn root(&self) -> Option<&Arc<Folder>> {
            self.as_folders.then_some(&self.root)
        }
    }

    #[test]
    fn snapshots_differ_alike_by_folders_and_by_files() {
        let old = ["a/x=1", "a.b=2", "b/c/d=1", "e=1", "gone/f=1", "gone/g/h=1", "same/f=1"];
        let new = ["a/x=2", "a.b=3", "b/c/d=1", "came/i=1", "e/j=1", "same/f=1"];
        for as_folders in [true, false] {
            let of = |files: &[&str]| Snapshot { root: snapshot(files), as_folders };
            let (old, new) = (of(&old), of(&new));
            let told: Vec<(&str, bool)> = differences(&old, &new)
                .iter()
                .map(|difference| (difference.path.as_str(), difference.after.is_some()))
                .collect();
            let expected = [
                ("a.b", true),
                ("a/x", true),
                ("came/i", true),
                ("e", false),
                ("e/j", true),
                ("gone/f", false),
                ("gone/g/h", false),
            ];
            assert_eq!(told, expected, "{as_folders}");
            assert_eq!(differences(&new, &new), []);
        }
    }
}
