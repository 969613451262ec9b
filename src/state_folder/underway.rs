//! What the process that has the state folder is at.

use std::path::{Path, PathBuf};

use crate::app::reconcile::ports::UnderwayNotes;

/// The note of that, in the state folder.
#[derive(Debug)]
pub struct UnderwayFile {
    path: PathBuf,
}

impl UnderwayFile {
    /// The one of a state folder, which the process has [taken](super::LockedFolder) before it notes anything.
    pub fn of(state: &Path) -> Self {
        Self { path: state.join("reconciler/underway.json") }
    }
}

impl UnderwayNotes for UnderwayFile {
    fn read(&self) -> Result<Option<String>, String> {
        super::read(&self.path).map_err(|error| format!("{}: {error}", self.path.display()))
    }

    fn write(&self, note: &str) -> Result<(), String> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        // Whoever deletes the folder under a running process loses what was kept there, and nothing else.
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
        let file = UnderwayFile::of(state.path());
        assert_eq!(file.read(), Ok(None));
        file.write("one").unwrap();
        file.write("two").unwrap();
        assert_eq!(UnderwayFile::of(state.path()).read(), Ok(Some("two".to_owned())));
    }
}
