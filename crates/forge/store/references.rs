//! References, as loose files.
//!
//! They are never packed: the forge holds one lock while it changes them, so a rename is all the atomicity that is
//! needed, and reading one costs no process.

use gix::ObjectId;

use super::bare::Store;
use super::commit::parse_id;
use super::error::StoreError;

impl Store {
    /// Reads a reference by its full name (`refs/heads/main`).
    pub(crate) fn reference(&self, name: &str) -> Option<ObjectId> {
        let text = std::fs::read_to_string(self.path.join(usable_name(name).ok()?)).ok()?;
        parse_id(text.trim())
    }

    /// Creates or moves a reference.
    pub(crate) fn set_reference(&self, name: &str, id: ObjectId) -> Result<(), StoreError> {
        let path = self.path.join(usable_name(name)?);
        if path.is_dir() {
            return Err(StoreError::ReferenceName(name.to_owned()));
        }
        let io = |source| StoreError::Io { path: path.clone(), source };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|_| StoreError::ReferenceName(name.to_owned()))?;
        }
        let fresh = self.path.join("capstan-new-reference");
        std::fs::write(&fresh, format!("{id}\n")).map_err(io)?;
        std::fs::rename(&fresh, &path).map_err(io)
    }

    /// Deletes a reference and the folders that become empty.
    pub(crate) fn delete_reference(&self, name: &str) -> Result<(), StoreError> {
        let path = self.path.join(usable_name(name)?);
        std::fs::remove_file(&path).map_err(|source| StoreError::Io { path: path.clone(), source })?;
        let keep = [self.path.join("refs"), self.path.join("refs/heads"), self.path.join("refs/tags")];
        let mut folder = path.parent();
        while let Some(current) = folder {
            if keep.iter().any(|kept| kept == current) || std::fs::remove_dir(current).is_err() {
                break;
            }
            folder = current.parent();
        }
        Ok(())
    }

    /// All references whose full name starts with a prefix, in order.
    pub(crate) fn references(&self, prefix: &str) -> Vec<(String, ObjectId)> {
        let mut found = Vec::new();
        let mut folders = vec![self.path.join("refs")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                let name = path.strip_prefix(&self.path).unwrap_or(&path).to_string_lossy().into_owned();
                if path.is_dir() {
                    // A request for branches need not wait for those of all pull requests that there ever
                    // were.
                    if name.starts_with(prefix) || prefix.starts_with(&format!("{name}/")) {
                        folders.push(path);
                    }
                } else if name.starts_with(prefix)
                    && let Some(id) = self.reference(&name)
                {
                    found.push((name, id));
                }
            }
        }
        found.sort();
        found
    }
}

fn usable_name(name: &str) -> Result<&str, StoreError> {
    let refused = |c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c);
    let bad_part = |part: &str| {
        part.is_empty() || part.starts_with('.') || part.ends_with('.') || part.ends_with(".lock")
    };
    let bad = !name.starts_with("refs/")
        || name.contains("..")
        || name.contains("@{")
        || name.contains(refused)
        || name.split('/').any(bad_part)
        || name.split('/').count() < 3;
    if bad { Err(StoreError::ReferenceName(name.to_owned())) } else { Ok(name) }
}
