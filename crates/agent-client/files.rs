//! Files that only their owner reads, and that are whole or not there.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::AgentError;

pub(super) fn disk(path: &Path) -> impl Fn(io::Error) -> AgentError + '_ {
    move |error| AgentError::Disk { path: path.display().to_string(), reason: error.to_string() }
}

pub(super) fn make_private_folder(folder: &Path) -> Result<(), AgentError> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(disk(folder))
}

/// A file's content; `None` where there is no such file.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, AgentError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(disk(path)(error)),
    }
}

/// Writes a file that survives the power: beside its place first, and then moved there.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), AgentError> {
    let beside = path.with_extension("new");
    let written = || -> io::Result<()> {
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        match path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    };
    written().map_err(disk(path))
}

/// Removes a file that may be gone already.
pub(super) fn remove(path: &Path) -> Result<(), AgentError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(disk(path)(error)),
        _ => Ok(()),
    }
}
