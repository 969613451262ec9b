//! [`QuarantineStore`] in a file.

use std::path::{Path, PathBuf};

use crate::app::reconcile::ports::QuarantineStore;

/// `<state>/reconciler/quarantine.json`.
#[derive(Debug)]
pub struct QuarantineFile {
    folder: PathBuf,
}

impl QuarantineFile {
    /// In that state folder.
    pub fn new(state: &Path) -> Self {
        Self { folder: state.join("reconciler") }
    }

    fn path(&self) -> PathBuf {
        self.folder.join("quarantine.json")
    }

    fn explain(&self, error: &std::io::Error) -> String {
        format!("{}: {error}", self.path().display())
    }
}

impl QuarantineStore for QuarantineFile {
    fn read(&self) -> Result<Option<String>, String> {
        super::read(&self.path()).map_err(|error| self.explain(&error))
    }

    fn write(&self, note: &str) -> Result<(), String> {
        super::make_folder(&self.folder)
            .and_then(|()| super::write(&self.path(), note))
            .map_err(|error| self.explain(&error))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_is_noted_is_there_for_the_next_process_and_its_owner_alone() {
        let state = tempfile::tempdir().unwrap();
        let file = QuarantineFile::new(state.path());
        assert_eq!(file.read(), Ok(None));
        file.write("one").unwrap();
        file.write("two").unwrap();
        assert_eq!(QuarantineFile::new(state.path()).read(), Ok(Some("two".to_owned())));
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file.path()), mode(&file.folder)), (0o600, 0o700));
    }
}
