//! An archive as a snapshot, in memory.

use std::collections::{BTreeMap, HashMap};
use std::io::Read as _;
use std::sync::Arc;

use aws_lc_rs::digest::{Context, SHA256};
use capstan_live::agent::archive::{ArchiveIndex, FILES, INDEX};
use capstan_live::agent::limits::UNPACKED_BYTES;
use capstan_model::digest::hex;
use capstan_model::tree::{CommitId, RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use capstan_plan::settings::RepositoryName;
use flate2::read::GzDecoder;

/// The folders that an archive holds. A folder's id tells contents apart, but is not Git's: what does not
/// travel would be part of that.
pub(super) struct ArchiveTree {
    entries: Vec<TreeEntry>,
    contents: HashMap<RepoPath, Arc<[u8]>>,
    folders: BTreeMap<RepoPath, TreeId>,
}

impl ArchiveTree {
    /// Reads an archive whose signature was found good.
    pub(super) fn read(bytes: &[u8], repository: &RepositoryName, commit: &CommitId) -> Result<Self, String> {
        Self::read_within(UNPACKED_BYTES, bytes, repository, commit)
    }

    /// The same where the index and all files together have so many bytes at most.
    fn read_within(
        most: u64,
        bytes: &[u8],
        repository: &RepositoryName,
        commit: &CommitId,
    ) -> Result<Self, String> {
        let mut archive = tar::Archive::new(GzDecoder::new(bytes));
        let broken = |error: std::io::Error| format!("it cannot be unpacked: {error}");
        // Raw: what extends a header is read into memory, however long it says that it is.
        let mut files = archive.entries().map_err(broken)?.raw(true);
        let mut next = |expected: &str, left: &mut u64| -> Result<Vec<u8>, String> {
            let mut file = files.next().ok_or_else(|| format!("{expected} is missing"))?.map_err(broken)?;
            if !file.header().entry_type().is_file() || file.path_bytes().as_ref() != expected.as_bytes() {
                return Err(format!("there is something else where {expected} should be"));
            }
            let too_large = || format!("with {expected} it unpacks to more than {most} bytes");
            *left = left.checked_sub(file.size()).ok_or_else(too_large)?;
            let mut content = Vec::new();
            file.read_to_end(&mut content).map_err(broken)?;
            if content.len() as u64 != file.size() {
                return Err(format!("{expected} is cut off"));
            }
            Ok(content)
        };
        let mut left = most;
        let index: ArchiveIndex = serde_json::from_slice(&next(INDEX, &mut left)?)
            .map_err(|error| format!("its index cannot be read: {error}"))?;
        index.check(repository, commit).map_err(|error| format!("its index is wrong: {error}"))?;
        let mut contents = HashMap::new();
        for (number, entry) in index.entries.iter().enumerate() {
            if entry.kind.travels() {
                contents.insert(entry.path.clone(), next(&format!("{FILES}{number}"), &mut left)?.into());
            }
        }
        let entries: Vec<TreeEntry> = index
            .entries
            .iter()
            .map(|entry| TreeEntry {
                path: entry.path.clone(),
                kind: entry.kind.entry_kind(),
                blob: entry.blob.clone(),
            })
            .collect();
        Ok(Self { folders: folder_ids(&index), entries, contents })
    }
}

fn folder_ids(index: &ArchiveIndex) -> BTreeMap<RepoPath, TreeId> {
    let mut folders: BTreeMap<RepoPath, Context> = BTreeMap::new();
    for entry in &index.entries {
        let mut folder = entry.path.parent();
        while let Some(above) = folder {
            let below = entry.path.below(&above).unwrap_or_default();
            let hash = folders.entry(above.clone()).or_insert_with(|| Context::new(&SHA256));
            hash.update(format!("{below}\0{}\0{}\0", entry.kind.as_str(), entry.blob).as_bytes());
            folder = above.parent();
        }
    }
    folders
        .into_iter()
        .filter_map(|(folder, hash)| {
            let id = TreeId::parse(hex(hash.finish().as_ref()).get(..40)?).ok()?;
            Some((folder, id))
        })
        .collect()
}

impl Tree for ArchiveTree {
    fn entries(&self) -> &[TreeEntry] {
        &self.entries
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        self.contents.get(&entry.path).cloned().ok_or_else(|| Unreadable {
            path: entry.path.clone(),
            reason:
                "its content is not part of the archive: it is not a regular file, or too large for the bot"
                    .to_owned(),
        })
    }

    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        self.folders.get(folder).cloned()
    }
}

#[cfg(test)]
mod tests {
    use capstan_live::agent::archive::{IndexEntry, IndexKind};
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// An archive whose files have so many bytes.
    fn archive(repository: &RepositoryName, commit: &CommitId, sizes: &[usize]) -> Vec<u8> {
        let entry = |number: usize| IndexEntry {
            path: RepoPath::parse(&format!("f{number}")).unwrap(),
            kind: IndexKind::File,
            blob: capstan_model::tree::BlobId::parse(&"b".repeat(40)).unwrap(),
        };
        let index = ArchiveIndex {
            repository: repository.clone(),
            commit: commit.clone(),
            clusters: Vec::new(),
            entries: (0..sizes.len()).map(entry).collect(),
        };
        let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        let mut add = |name: &str, bytes: &[u8]| {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            tar.append_data(&mut header, name, bytes).unwrap();
        };
        add(INDEX, &serde_json::to_vec(&index).unwrap());
        for (number, size) in sizes.iter().enumerate() {
            add(&format!("{FILES}{number}"), &vec![0; *size]);
        }
        tar.into_inner().unwrap().finish().unwrap()
    }

    #[test]
    fn what_unpacks_to_as_much_as_may_be_is_read_and_a_byte_more_is_refused() {
        let repository = RepositoryName::parse("acme/gitops").unwrap();
        let commit = CommitId::parse(&"a".repeat(40)).unwrap();
        // Of an archive with these files.
        let index = |sizes: &[usize]| {
            let bytes = archive(&repository, &commit, sizes);
            let mut archive = tar::Archive::new(GzDecoder::new(bytes.as_slice()));
            archive.entries().unwrap().next().unwrap().unwrap().size()
        };
        let told = |most: u64, sizes: &[usize]| {
            let bytes = archive(&repository, &commit, sizes);
            ArchiveTree::read_within(most, &bytes, &repository, &commit).map(|tree| tree.entries.len())
        };
        let most = index(&[300, 700]) + 1_000;
        assert_eq!(told(most, &[300, 700]), Ok(2));
        let refused =
            |file: &str, most: u64| Err(format!("with {file} it unpacks to more than {most} bytes"));
        assert_eq!(told(most, &[300, 701]), refused("files/1", most));
        assert_eq!(told(10, &[]), refused("index.json", 10));
    }
}
