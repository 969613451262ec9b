//! A snapshot as it would be with some files changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::tree::{BlobId, EntryKind, RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use crate::upgrade::FileChange;

/// A [`Tree`] over another one in which some files are changed, added or removed.
///
/// Changed files have ids of their own (Git's SHA-256 blob ids); folders that hold one have no id.
pub struct Edited<'a> {
    base: &'a dyn Tree,
    entries: Vec<TreeEntry>,
    contents: BTreeMap<RepoPath, Option<Arc<[u8]>>>,
}

impl<'a> Edited<'a> {
    /// `base` with the changes done; of several for one file the last counts.
    pub fn new(base: &'a dyn Tree, changes: &[FileChange]) -> Self {
        let mut contents = BTreeMap::new();
        for change in changes {
            let after = change.after.as_deref().map(|text| Arc::<[u8]>::from(text.as_bytes()));
            contents.insert(change.path.clone(), after);
        }
        let mut entries: Vec<TreeEntry> =
            base.entries().iter().filter(|entry| !contents.contains_key(&entry.path)).cloned().collect();
        for (path, content) in &contents {
            if let Some(blob) = content.as_deref().and_then(blob_id) {
                let kind = base.entry(path).map_or(EntryKind::File, |entry| entry.kind);
                entries.push(TreeEntry { path: path.clone(), kind, blob });
            }
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Self { base, entries, contents }
    }
}

fn blob_id(content: &[u8]) -> Option<BlobId> {
    let mut hash = Sha256::new();
    hash.update(format!("blob {}\0", content.len()));
    hash.update(content);
    let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    BlobId::parse(&hex).ok()
}

impl Tree for Edited<'_> {
    fn entries(&self) -> &[TreeEntry] {
        &self.entries
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
    use crate::render::testing::Files;

    fn change(path: &str, after: Option<&str>) -> FileChange {
        FileChange { path: RepoPath::parse(path).unwrap(), before: None, after: after.map(ToOwned::to_owned) }
    }

    #[test]
    fn changed_files_replace_added_ones_join_and_removed_ones_are_gone() {
        let base = Files::new(&[("a/x.yaml", "x: 1\n"), ("a/y.yaml", "y: 1\n"), ("b/z.yaml", "z: 1\n")]);
        let edited = Edited::new(
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
    }

    #[test]
    fn the_id_of_changed_content_is_gits_own() {
        // git hash-object --stdin </dev/null, in a repository with the object format sha256.
        let base = Files::new(&[]);
        let edited = Edited::new(&base, &[change("empty", Some(""))]);
        assert_eq!(
            edited.entries()[0].blob.as_str(),
            "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
        );
    }
}
