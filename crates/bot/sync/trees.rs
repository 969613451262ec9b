//! Finds old releases by their tree.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_model::ids::ContentId;
use capstan_model::tree::{BlobId, EntryKind, RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use capstan_plan::release::ReleaseContent;

use super::SyncError;
use capstan_ports::{CodeHostError, Contents, Mirror, Repository};

/// Files of an old release that are read one by one through the Git Data API.
const MOST_FILES: usize = 1_000;

/// A release by the ids of its content: from the mirror, otherwise from GitHub; from the first of these repositories
/// that has it.
pub(super) async fn old_release(
    (contents, mirror): (Option<&dyn Contents>, &dyn Mirror),
    homes: &[&Repository],
    id: &ContentId,
) -> Result<Option<ReleaseContent>, SyncError> {
    for &home in homes {
        if let Some(content) = old_release_in((contents, mirror), home, id).await? {
            return Ok(Some(content));
        }
    }
    Ok(None)
}

async fn old_release_in(
    (contents, mirror): (Option<&dyn Contents>, &dyn Mirror),
    home: &Repository,
    id: &ContentId,
) -> Result<Option<ReleaseContent>, SyncError> {
    let Some(folder) = old_folder((contents, mirror), home, &id.tree).await? else { return Ok(None) };
    let mut release = ReleaseContent::from(folder);
    for (path, blob) in &id.reads {
        let content = match mirror.file(home, blob).await? {
            Some(content) => content,
            None => {
                let Some(contents) = contents else { return Ok(None) };
                match visible(contents.blob(home, blob).await)? {
                    Some(content) => content.into(),
                    None => return Ok(None),
                }
            }
        };
        let Some(more) = release.with(path.clone(), content) else { return Ok(None) };
        release = more;
    }
    Ok(Some(release))
}

async fn old_folder(
    (contents, mirror): (Option<&dyn Contents>, &dyn Mirror),
    home: &Repository,
    id: &TreeId,
) -> Result<Option<Arc<dyn Tree>>, SyncError> {
    if let Some(tree) = mirror.folder(home, id).await? {
        return Ok(Some(tree));
    }
    let Some(contents) = contents else { return Ok(None) };
    let found = contents.tree(home, id).await?;
    // A record may name any tree, even the whole repository's, which is not a release.
    let Some(files) = found.filter(|files| files.len() <= MOST_FILES) else { return Ok(None) };
    let mut tree = Fetched { id: id.clone(), entries: Vec::new(), contents: BTreeMap::new() };
    let mut bytes = 0;
    for (path, blob) in files {
        let content = contents.blob(home, &blob).await?;
        bytes += content.len();
        if bytes > ReleaseContent::MOST_BYTES {
            return Ok(None);
        }
        tree.contents.insert(blob.clone(), content.into());
        tree.entries.push(TreeEntry { path, kind: EntryKind::File, blob });
    }
    tree.entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Some(Arc::new(tree)))
}

/// What this installation may not see does not exist for it.
pub(super) fn visible<T>(answer: Result<T, CodeHostError>) -> Result<Option<T>, CodeHostError> {
    match answer {
        Ok(content) => Ok(Some(content)),
        Err(CodeHostError::NotFound { .. } | CodeHostError::Forbidden { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A folder, read through the Git Data API.
struct Fetched {
    id: TreeId,
    entries: Vec<TreeEntry>,
    contents: BTreeMap<BlobId, Arc<[u8]>>,
}

impl Tree for Fetched {
    fn entries(&self) -> &[TreeEntry] {
        &self.entries
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        self.contents.get(&entry.blob).cloned().ok_or_else(|| Unreadable {
            path: entry.path.clone(),
            reason: format!("its content {} was not fetched", entry.blob),
        })
    }

    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        folder.is_root().then(|| self.id.clone())
    }
}
