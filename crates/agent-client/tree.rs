//! An archive as a snapshot, in memory.

use std::collections::{BTreeMap, HashMap};
use std::io::Read as _;
use std::sync::Arc;

use aws_lc_rs::digest::{Context, SHA256};
use capstan_live::agent::archive::{FILES, INDEX, Index};
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
        let unpacked = GzDecoder::new(bytes).take(UNPACKED_BYTES + (64 << 20));
        let mut archive = tar::Archive::new(unpacked);
        let broken = |error: std::io::Error| format!("it cannot be unpacked: {error}");
        let mut files = archive.entries().map_err(broken)?;
        let mut next = |expected: &str| -> Result<Vec<u8>, String> {
            let mut file = files.next().ok_or_else(|| format!("{expected} is missing"))?.map_err(broken)?;
            if !file.header().entry_type().is_file() || file.path_bytes().as_ref() != expected.as_bytes() {
                return Err(format!("there is something else where {expected} should be"));
            }
            let mut content = Vec::new();
            file.read_to_end(&mut content).map_err(broken)?;
            if content.len() as u64 != file.size() {
                return Err(format!("{expected} is cut off"));
            }
            Ok(content)
        };
        let index: Index = serde_json::from_slice(&next(INDEX)?)
            .map_err(|error| format!("its index cannot be read: {error}"))?;
        index.check(repository, commit).map_err(|error| format!("its index is wrong: {error}"))?;
        let mut contents = HashMap::new();
        for (number, entry) in index.entries.iter().enumerate() {
            if entry.kind.travels() {
                contents.insert(entry.path.clone(), next(&format!("{FILES}{number}"))?.into());
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

fn folder_ids(index: &Index) -> BTreeMap<RepoPath, TreeId> {
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
