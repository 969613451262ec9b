//! A snapshot of files that were made here, and that no repository has.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{BlobId, EntryKind, RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use crate::digest::sha256;

/// Files by their paths. The id of a folder depends on its content, and not on its path.
#[derive(Debug, Default)]
pub struct MadeTree {
    entries: Vec<TreeEntry>,
    contents: BTreeMap<RepoPath, Result<Arc<[u8]>, String>>,
    folders: BTreeMap<RepoPath, TreeId>,
}

impl MadeTree {
    /// Of these files, each with its content or why it has none.
    pub fn of(contents: BTreeMap<RepoPath, Result<Arc<[u8]>, String>>) -> Self {
        let mut tree = Self { contents, ..Self::default() };
        let mut said: BTreeMap<RepoPath, String> = BTreeMap::new();
        for (path, content) in &tree.contents {
            let print = match content {
                Ok(bytes) => sha256(bytes),
                Err(reason) => sha256(format!("unreadable: {reason}")),
            };
            let mut folder = path.parent();
            while let Some(above) = folder {
                let below = path.below(&above).unwrap_or_default();
                said.entry(above.clone()).or_default().push_str(&format!("{below}\0{print}\0"));
                folder = above.parent();
            }
            // Digits of a digest are an id.
            let Ok(blob) = BlobId::parse(&print) else { continue };
            tree.entries.push(TreeEntry { path: path.clone(), kind: EntryKind::File, blob });
        }
        tree.folders = said
            .into_iter()
            .filter_map(|(path, said)| Some((path, TreeId::parse(&sha256(said)).ok()?)))
            .collect();
        tree
    }

    /// How many bytes they are.
    pub fn bytes(&self) -> usize {
        self.contents.values().flatten().map(|bytes| bytes.len()).sum()
    }
}

impl Tree for MadeTree {
    fn entries(&self) -> &[TreeEntry] {
        &self.entries
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        let unreadable = |reason: &str| Unreadable { path: entry.path.clone(), reason: reason.to_owned() };
        match self.contents.get(&entry.path) {
            Some(Ok(bytes)) => Ok(Arc::clone(bytes)),
            Some(Err(reason)) => Err(unreadable(reason)),
            None => Err(unreadable("there is no such file")),
        }
    }

    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        self.folders.get(folder).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, Result<&str, &str>)]) -> MadeTree {
        let file = |(path, content): &(&str, Result<&str, &str>)| {
            let content = content.map(|text| text.as_bytes().into()).map_err(str::to_owned);
            (RepoPath::parse(path).unwrap(), content)
        };
        MadeTree::of(files.iter().map(file).collect())
    }

    #[test]
    fn a_folder_is_identified_by_its_content_alone() {
        let at = |path: &str| RepoPath::parse(path).unwrap();
        let one = tree(&[("a/x/base/f", Ok("1")), ("a/y/base/f", Ok("1")), ("a/z/base/f", Ok("2"))]);
        assert_eq!(one.folder_id(&at("a/x")), one.folder_id(&at("a/y")));
        assert_ne!(one.folder_id(&at("a/x")), one.folder_id(&at("a/z")));
        assert_eq!(one.folder_id(&at("a/w")), None);
        let two = tree(&[("a/x/base/f", Ok("1")), ("b", Err("it is broken"))]);
        assert_eq!(one.folder_id(&at("a/x")), two.folder_id(&at("a/x")));
        assert_ne!(one.folder_id(&RepoPath::root()), two.folder_id(&RepoPath::root()));
        let broken = two.entry(&at("b")).unwrap();
        assert_eq!(two.read(broken).unwrap_err().to_string(), "b: it is broken");
        assert_eq!(two.bytes(), 1);
    }
}
