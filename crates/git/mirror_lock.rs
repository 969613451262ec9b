//! Who may change a mirror: one process at a time, which first clears away what one that died left behind.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use capstan_ports::MirrorError;

pub(super) fn disk(path: &Path, reason: impl std::fmt::Display) -> MirrorError {
    MirrorError::Disk { path: path.display().to_string(), reason: reason.to_string() }
}

/// A folder that nobody else looks into.
pub(super) fn make_private(folder: &Path) -> Result<(), MirrorError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| disk(folder, error))
}

/// Locks a mirror against other processes; released when dropped, and when the process dies.
pub(super) fn lock(path: &Path, patience: Duration) -> Result<File, MirrorError> {
    // The state folder may have been deleted since it was opened.
    path.parent().map_or(Ok(()), make_private)?;
    let file = File::create(path).map_err(|error| disk(path, error))?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if begun.elapsed() < patience => {
                std::thread::sleep(Duration::from_millis(50))
            }
            Err(TryLockError::WouldBlock) => {
                return Err(disk(path, "another process has been fetching into this mirror for too long"));
            }
            Err(TryLockError::Error(error)) => return Err(disk(path, error)),
        }
    }
}

/// Removes what a killed fetch left behind. Only called by the one who holds the lock.
pub(super) fn clear_leftovers(mirror: &Path) {
    for file in ["shallow.lock", "packed-refs.lock", "HEAD.lock"] {
        let _none = fs::remove_file(mirror.join(file));
    }
    let in_folder = |folder: &str| fs::read_dir(mirror.join(folder)).into_iter().flatten().flatten();
    for entry in in_folder("refs/capstan") {
        if entry.path().extension().is_some_and(|kind| kind == "lock") {
            let _none = fs::remove_file(entry.path());
        }
    }
    for entry in in_folder("objects/pack") {
        let path = entry.path();
        let whole = match path.extension().and_then(|kind| kind.to_str()) {
            Some("pack") => path.with_extension("idx").exists(),
            Some("idx") => path.with_extension("pack").exists(),
            _ => false,
        };
        if !whole {
            let _none = fs::remove_file(path);
        }
    }
}
