//! A snapshot as it would be with some files changed.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use sha2::{Digest, Sha256};

use capstan_model::digest::hex;
use capstan_model::file_change::FileChange;
use capstan_model::tree::{BlobId, EntryKind, RepoPath, Tree, TreeEntry, TreeId, Unreadable, below};

/// A [`Tree`] over another one in which some files are changed, added or removed.
///
/// Changed files have ids of their own (Git's SHA-256 blob ids); folders that hold one have no id.
///
/// Only the folder with all changes is listed again; a list of the whole tree is made on demand, so that a
/// change of one cluster costs nothing in proportion to the fleet.
///
/// `B` holds the other tree: a reference, or an [`Arc`] where the result has to outlive its maker.
pub struct EditedTree<B> {
    base: B,
    /// The deepest folder that holds every change.
    folder: RepoPath,
    /// The entries of that folder, with the changes done.
    inside: Vec<TreeEntry>,
    whole: OnceLock<Vec<TreeEntry>>,
    contents: BTreeMap<RepoPath, Option<Arc<[u8]>>>,
}

impl<B: Deref<Target: Tree>> EditedTree<B> {
    /// `base` with the changes done; of several for one file the last counts.
    pub fn new(base: B, changes: &[FileChange]) -> Self {
        let mut contents = BTreeMap::new();
        for change in changes {
            let after = change.after.as_deref().map(|text| Arc::<[u8]>::from(text.as_bytes()));
            contents.insert(change.path.clone(), after);
        }
        let folder = common_folder(contents.keys());
        let unchanged = base.entries_in(&folder).iter().filter(|entry| !contents.contains_key(&entry.path));
        let mut inside: Vec<TreeEntry> = unchanged.cloned().collect();
        for (path, content) in &contents {
            if let Some(blob) = content.as_deref().and_then(blob_id) {
                let kind = base.entry(path).map_or(EntryKind::File, |entry| entry.kind);
                inside.push(TreeEntry { path: path.clone(), kind, blob });
            }
        }
        inside.sort_by(|a, b| a.path.cmp(&b.path));
        Self { base, folder, inside, whole: OnceLock::new(), contents }
    }
}

impl<B> EditedTree<B> {
    /// Whether a path's entry is among those that are listed again.
    fn is_inside(&self, path: &RepoPath) -> bool {
        self.folder.is_root() || path.is_in(&self.folder)
    }
}

/// The deepest folder that holds all of these paths; the root where there are none.
fn common_folder<'p>(mut paths: impl Iterator<Item = &'p RepoPath>) -> RepoPath {
    let Some(mut folder) = paths.next().and_then(RepoPath::parent) else { return RepoPath::root() };
    for path in paths {
        while !folder.is_root() && !path.is_in(&folder) {
            folder = folder.parent().unwrap_or_default();
        }
    }
    folder
}

fn blob_id(content: &[u8]) -> Option<BlobId> {
    let mut hash = Sha256::new();
    hash.update(format!("blob {}\0", content.len()));
    hash.update(content);
    BlobId::parse(&hex(&hash.finalize())).ok()
}

impl<B: Deref<Target: Tree> + Send + Sync> Tree for EditedTree<B> {
    fn entries(&self) -> &[TreeEntry] {
        if self.folder.is_root() {
            return &self.inside;
        }
        self.whole.get_or_init(|| {
            let outside = self.base.entries().iter().filter(|entry| !self.is_inside(&entry.path));
            let mut whole: Vec<TreeEntry> = outside.chain(&self.inside).cloned().collect();
            whole.sort_by(|a, b| a.path.cmp(&b.path));
            whole
        })
    }

    fn entry(&self, path: &RepoPath) -> Option<&TreeEntry> {
        if !self.is_inside(path) {
            return self.base.entry(path);
        }
        let at = self.inside.binary_search_by(|entry| entry.path.cmp(path)).ok()?;
        self.inside.get(at)
    }

    fn entries_in(&self, folder: &RepoPath) -> &[TreeEntry] {
        if *folder == self.folder || folder.is_in(&self.folder) {
            return below(&self.inside, folder);
        }
        if self.folder.is_in(folder) || folder.is_root() {
            return below(self.entries(), folder);
        }
        self.base.entries_in(folder)
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        match self.contents.get(&entry.path) {
            Some(Some(content)) => Ok(Arc::clone(content)),
            Some(None) => Err(Unreadable { path: entry.path.clone(), reason: "it is removed".to_owned() }),
            None => self.base.read(entry),
        }
    }

    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        let touched = |path: &RepoPath| path.is_in(folder) || folder.is_root();
        if self.contents.keys().any(touched) {
            return None;
        }
        self.base.folder_id(folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_test_support::Files;

    fn change(path: &str, after: Option<&str>) -> FileChange {
        FileChange { path: RepoPath::parse(path).unwrap(), before: None, after: after.map(ToOwned::to_owned) }
    }

    #[test]
    fn changed_files_replace_added_ones_join_and_removed_ones_are_gone() {
        let base = Files::new(&[("a/x.yaml", "x: 1\n"), ("a/y.yaml", "y: 1\n"), ("b/z.yaml", "z: 1\n")]);
        let edited = EditedTree::new(
            &base,
            &[
                change("a/x.yaml", Some("x: 2\n")),
                change("a/y.yaml", None),
                change("a/sub/new.yaml", Some("n: 1\n")),
            ],
        );
        let found: Vec<(String, String)> = edited
            .entries()
            .iter()
            .map(|entry| {
                let text = String::from_utf8(edited.read(entry).unwrap().to_vec()).unwrap();
                (entry.path.to_string(), text)
            })
            .collect();
        let expected = [("a/sub/new.yaml", "n: 1\n"), ("a/x.yaml", "x: 2\n"), ("b/z.yaml", "z: 1\n")];
        assert_eq!(found, expected.map(|(path, text)| (path.to_owned(), text.to_owned())));
        assert_eq!(edited.folder_id(&RepoPath::parse("a").unwrap()), None);
        let listed = |folder: &str| -> Vec<String> {
            let entries = edited.entries_in(&RepoPath::parse(folder).unwrap());
            entries.iter().map(|entry| entry.path.to_string()).collect()
        };
        assert_eq!(listed("a"), ["a/sub/new.yaml", "a/x.yaml"]);
        assert_eq!(listed("a/sub"), ["a/sub/new.yaml"]);
        assert_eq!(listed("b"), ["b/z.yaml"]);
        assert_eq!(listed(""), ["a/sub/new.yaml", "a/x.yaml", "b/z.yaml"]);
        let known = |path: &str| edited.entry(&RepoPath::parse(path).unwrap()).is_some();
        assert!(known("a/sub/new.yaml") && known("b/z.yaml") && !known("a/y.yaml"));
    }

    #[test]
    fn the_id_of_changed_content_is_gits_own() {
        // git hash-object --stdin </dev/null, in a repository with the object format sha256.
        let base = Files::new(&[]);
        let edited = EditedTree::new(&base, &[change("empty", Some(""))]);
        assert_eq!(
            edited.entries()[0].blob.as_str(),
            "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
        );
    }
}
