//! Trees: what they hold, edited, and compared.

use std::collections::BTreeMap;

use gix::ObjectId;
use gix::objs::Kind;

use super::bare::Store;
use super::error::StoreError;

/// Files of a comparison, as many as GitHub lists of a pull request: a tree that holds itself has millions.
const COMPARED: usize = 3_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredTreeEntry {
    /// Octal digits as Git writes them, six of them: `100644`, `040000`.
    pub(crate) mode: String,
    pub(crate) id: ObjectId,
}

impl StoredTreeEntry {
    pub(crate) fn is_tree(&self) -> bool {
        self.mode == "040000"
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self.mode.as_str() {
            "040000" => "tree",
            "160000" => "commit",
            _ => "blob",
        }
    }
}

/// A file that differs between two trees.
#[derive(Clone, Debug)]
pub(crate) struct FileChange {
    pub(crate) path: String,
    pub(crate) before: Option<StoredTreeEntry>,
    pub(crate) after: Option<StoredTreeEntry>,
}

impl Store {
    /// The entries of one tree, by name.
    pub(crate) fn tree(&self, id: ObjectId) -> Result<BTreeMap<String, StoredTreeEntry>, StoreError> {
        let malformed = || StoreError::Object { id: id.to_string(), expected: "tree" };
        let Some((Kind::Tree, data)) = self.read(id)? else { return Err(malformed()) };
        let mut entries = BTreeMap::new();
        let mut rest = data.as_slice();
        while !rest.is_empty() {
            let space = rest.iter().position(|byte| *byte == b' ').ok_or_else(malformed)?;
            let nul = rest.iter().position(|byte| *byte == 0).ok_or_else(malformed)?;
            let id = rest.get(nul + 1..nul + 21).ok_or_else(malformed)?;
            let mode = String::from_utf8_lossy(&rest[..space]);
            let name = String::from_utf8_lossy(&rest[space + 1..nul]).into_owned();
            let id = ObjectId::try_from(id).map_err(|_| malformed())?;
            entries.insert(name, StoredTreeEntry { mode: format!("{mode:0>6}"), id });
            rest = &rest[nul + 21..];
        }
        Ok(entries)
    }

    fn write_tree(&self, entries: &BTreeMap<String, StoredTreeEntry>) -> Result<ObjectId, StoreError> {
        // Git orders folders as if their names ended in a slash.
        let mut ordered: Vec<_> = entries.iter().collect();
        ordered.sort_by_key(|(name, entry)| {
            if entry.is_tree() { format!("{name}/").into_bytes() } else { name.as_bytes().to_vec() }
        });
        let mut data = Vec::new();
        for (name, entry) in ordered {
            data.extend_from_slice(entry.mode.trim_start_matches('0').as_bytes());
            data.push(b' ');
            data.extend_from_slice(name.as_bytes());
            data.push(0);
            data.extend_from_slice(entry.id.as_slice());
        }
        self.write(Kind::Tree, &data)
    }

    /// A tree with the given paths set (`Some`) or removed (`None`); folders that become empty go.
    pub(crate) fn edit_tree(
        &self,
        base: Option<ObjectId>,
        edits: &[(String, Option<StoredTreeEntry>)],
    ) -> Result<ObjectId, StoreError> {
        let mut entries = match base {
            Some(base) => self.tree(base)?,
            None => BTreeMap::new(),
        };
        let mut below: BTreeMap<&str, Vec<(String, Option<StoredTreeEntry>)>> = BTreeMap::new();
        for (path, entry) in edits {
            match path.split_once('/') {
                Some((folder, rest)) => {
                    below.entry(folder).or_default().push((rest.to_owned(), entry.clone()))
                }
                None => match entry {
                    Some(entry) => drop(entries.insert(path.clone(), entry.clone())),
                    None => drop(entries.remove(path)),
                },
            }
        }
        for (folder, edits) in below {
            let current = entries.get(folder).filter(|entry| entry.is_tree()).map(|entry| entry.id);
            let tree = self.edit_tree(current, &edits)?;
            if tree == ObjectId::empty_tree(gix::hash::Kind::Sha1) {
                entries.remove(folder);
            } else {
                entries.insert(folder.to_owned(), StoredTreeEntry { mode: "040000".to_owned(), id: tree });
            }
        }
        self.write_tree(&entries)
    }

    /// The entry at a path below a tree.
    pub(crate) fn entry(&self, tree: ObjectId, path: &str) -> Result<Option<StoredTreeEntry>, StoreError> {
        let mut entry = StoredTreeEntry { mode: "040000".to_owned(), id: tree };
        for name in path.split('/').filter(|name| !name.is_empty()) {
            if !entry.is_tree() {
                return Ok(None);
            }
            match self.tree(entry.id)?.remove(name) {
                Some(next) => entry = next,
                None => return Ok(None),
            }
        }
        Ok(Some(entry))
    }

    /// Every entry below a tree, folders included, in path order.
    pub(crate) fn flatten(&self, tree: ObjectId) -> Result<BTreeMap<String, StoredTreeEntry>, StoreError> {
        let mut found = BTreeMap::new();
        self.flatten_into(tree, "", &mut found)?;
        Ok(found)
    }

    fn flatten_into(
        &self,
        tree: ObjectId,
        prefix: &str,
        found: &mut BTreeMap<String, StoredTreeEntry>,
    ) -> Result<(), StoreError> {
        for (name, entry) in self.tree(tree)? {
            let path = format!("{prefix}{name}");
            if entry.is_tree() {
                self.flatten_into(entry.id, &format!("{path}/"), found)?;
            }
            found.insert(path, entry);
        }
        Ok(())
    }

    /// The first [`COMPARED`] files that differ between two trees; renames are a removal and an addition.
    pub(crate) fn diff(
        &self,
        before: Option<ObjectId>,
        after: Option<ObjectId>,
    ) -> Result<Vec<FileChange>, StoreError> {
        let mut changes = Vec::new();
        self.diff_into(before, after, "", &mut changes)?;
        changes.sort_by(|left, right| left.path.cmp(&right.path));
        Ok(changes)
    }

    /// Lines that a change adds and removes; none of what is binary, as Git counts.
    pub(crate) fn changed_lines(&self, change: &FileChange) -> Result<(usize, usize), StoreError> {
        let text = |entry: &Option<StoredTreeEntry>| match entry {
            Some(entry) if entry.kind() == "blob" => {
                Ok(self.read(entry.id)?.map_or_else(Vec::new, |(_, data)| data))
            }
            _ => Ok::<_, StoreError>(Vec::new()),
        };
        let (before, after) = (text(&change.before)?, text(&change.after)?);
        if before.contains(&0) || after.contains(&0) {
            return Ok((0, 0));
        }
        let (before, after) = (String::from_utf8_lossy(&before), String::from_utf8_lossy(&after));
        let diff = similar::TextDiff::from_lines(before.as_ref(), after.as_ref());
        let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
        Ok((count(similar::ChangeTag::Insert), count(similar::ChangeTag::Delete)))
    }

    fn diff_into(
        &self,
        before: Option<ObjectId>,
        after: Option<ObjectId>,
        prefix: &str,
        changes: &mut Vec<FileChange>,
    ) -> Result<(), StoreError> {
        if before == after {
            return Ok(());
        }
        let mut left = before.map(|id| self.tree(id)).transpose()?.unwrap_or_default();
        let right = after.map(|id| self.tree(id)).transpose()?.unwrap_or_default();
        let mut pairs: Vec<(String, Option<StoredTreeEntry>, Option<StoredTreeEntry>)> =
            right.into_iter().map(|(name, entry)| (name.clone(), left.remove(&name), Some(entry))).collect();
        pairs.extend(left.into_iter().map(|(name, entry)| (name, Some(entry), None)));
        for (name, before, after) in pairs {
            if changes.len() >= COMPARED {
                break;
            }
            if before == after {
                continue;
            }
            let path = format!("{prefix}{name}");
            let trees = (before.as_ref().filter(|e| e.is_tree()), after.as_ref().filter(|e| e.is_tree()));
            if trees.0.is_some() || trees.1.is_some() {
                let (left, right) = (trees.0.map(|e| e.id), trees.1.map(|e| e.id));
                self.diff_into(left, right, &format!("{path}/"), changes)?;
            }
            let (before, after) = (before.filter(|e| !e.is_tree()), after.filter(|e| !e.is_tree()));
            if before.is_some() || after.is_some() {
                changes.push(FileChange { path, before, after });
            }
        }
        Ok(())
    }
}
