//! The reconciler's state folder: one process has it at a time, and leaves its name there for the next one, in a file
//! that is whole or not there, and survives the power. Beside it lie notes for the one that follows its death: what it
//! is at, and what proposals ask of clouds.
//!
//! Deliberately absent: trees and reports, which lie there too and belong to `capstan_git` and
//! `capstan_agent_client`.

mod lock;
mod notes;

pub use lock::LockedFolder;
pub use notes::NoteFile;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Beside its place first, and then moved there: survives the death of the process, and not that of the machine.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let beside = path.with_extension("new");
    write_beside(&beside, text)?;
    fs::rename(&beside, path)
}

fn write_beside(beside: &Path, text: &str) -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(beside)?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

/// The same, and survives the power.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let beside = path.with_extension("new");
    write_beside(&beside, text)?.sync_all()?;
    fs::rename(&beside, path)?;
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}
