//! The tree ids that Git would give to the folders of a work tree.

use std::collections::{BTreeMap, HashMap};

use capstan_model::tree::{RepoPath, TreeId};
use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};
use gix::objs::tree::{Entry, EntryMode};
use gix::objs::{Kind, Tree, WriteTo};

use super::objects::tree_id;

/// One file as Git would store it.
pub(super) struct StoredFile {
    /// Its path as Git spells it: bytes, `/` between parts.
    pub(super) path: BString,
    pub(super) mode: EntryMode,
    /// Its blob, or a submodule's commit.
    pub(super) id: ObjectId,
}

#[derive(Default)]
struct FolderEntry {
    files: Vec<Entry>,
    folders: BTreeMap<BString, FolderEntry>,
}

/// The tree id of a folder, of which these are the files, and of every folder below it, as
/// `git add -A && git write-tree` would make them.
pub(super) fn folder_ids(
    files: &[StoredFile],
    top: &RepoPath,
    hash: gix::hash::Kind,
) -> Result<HashMap<RepoPath, TreeId>, gix::Error> {
    let mut root = FolderEntry::default();
    for file in files {
        let mut folder = &mut root;
        let skipped = if top.is_root() { 0 } else { top.as_str().len() + 1 };
        let mut rest = file.path.get(skipped..).unwrap_or_default().as_bstr();
        while let Some(slash) = rest.find_byte(b'/') {
            folder = folder.folders.entry(rest[..slash].into()).or_default();
            rest = rest[slash + 1..].as_bstr();
        }
        folder.files.push(Entry { mode: file.mode, filename: rest.into(), oid: file.id });
    }
    let mut ids = HashMap::new();
    hash_folder(root, &mut top.as_str().as_bytes().to_vec(), hash, &mut ids)?;
    Ok(ids)
}

fn hash_folder(
    folder: FolderEntry,
    path: &mut Vec<u8>,
    hash: gix::hash::Kind,
    ids: &mut HashMap<RepoPath, TreeId>,
) -> Result<ObjectId, gix::Error> {
    let mut entries = folder.files;
    for (name, below) in folder.folders {
        let length = path.len();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(&name);
        let oid = hash_folder(below, path, hash, ids)?;
        path.truncate(length);
        entries.push(Entry { mode: gix::objs::tree::EntryKind::Tree.into(), filename: name, oid });
    }
    // Git orders a folder as if its name ended in a slash; `Entry` knows that.
    entries.sort();
    let mut bytes = Vec::new();
    Tree { entries }.write_to(&mut bytes).map_err(gix::Error::from_error)?;
    let id = gix::objs::compute_hash(hash, Kind::Tree, &bytes)?;
    if let Some((path, id)) =
        std::str::from_utf8(path).ok().and_then(|path| RepoPath::parse(path).ok()).zip(tree_id(&id))
    {
        ids.insert(path, id);
    }
    Ok(id)
}
