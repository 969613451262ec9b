//! What the process that has the state folder leaves for the next one: what it is at, and what proposals ask of clouds.

use std::path::{Path, PathBuf};

use capstan_reconciler::reconcile::ports::{FleetKey, Notes};

/// A note in the state folder.
#[derive(Debug)]
pub struct NoteFile {
    path: PathBuf,
}

impl NoteFile {
    /// What the process is at, in a state folder, which it has [taken](super::LockedFolder) before it notes anything.
    pub fn underway(state: &Path) -> Self {
        Self { path: state.join("reconciler/underway.json") }
    }

    /// What was made last of a Fleet's live inventory, in the same.
    pub fn inventory(state: &Path, fleet: &FleetKey) -> Self {
        Self { path: state.join(format!("reconciler/inventory/{}_{}.json", fleet.namespace, fleet.name)) }
    }

    /// What open proposals ask of clouds, in the same.
    pub fn clouds(state: &Path) -> Self {
        Self { path: state.join("reconciler/clouds.json") }
    }
}

impl Notes for NoteFile {
    fn read(&self) -> Result<Option<String>, String> {
        super::read(&self.path).map_err(|error| format!("{}: {error}", self.path.display()))
    }

    fn write(&self, note: &str) -> Result<(), String> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        // Deleting the folder under a running process loses what was kept there, and nothing else.
        super::make_folder(folder)
            .and_then(|()| super::replace(&self.path, note))
            .map_err(|error| format!("{}: {error}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_last_is_read_by_the_next_one() {
        let state = tempfile::tempdir().unwrap();
        let file = NoteFile::underway(state.path());
        assert_eq!(file.read(), Ok(None));
        file.write("one").unwrap();
        file.write("two").unwrap();
        assert_eq!(NoteFile::underway(state.path()).read(), Ok(Some("two".to_owned())));
        assert_eq!(NoteFile::clouds(state.path()).read(), Ok(None), "another note");
    }
}
