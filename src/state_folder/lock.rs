//! One process at a time in a state folder, and who was there before.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// A state folder that this process has, and no other.
///
/// *Guarantee*: the operating system gives the lock back when the process ends, however it ends, and not before: so
/// whoever had it before is dead.
#[derive(Debug)]
pub struct LockedFolder {
    folder: PathBuf,
    _lock: File,
}

impl LockedFolder {
    /// Takes a state folder; `None` while another process has it.
    ///
    /// # Errors
    /// The folder cannot be written to, or its file system knows no locks.
    pub fn take(state: &Path) -> io::Result<Option<Self>> {
        let folder = state.join("reconciler");
        super::make_folder(&folder)?;
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(folder.join("lock"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Self { folder, _lock: lock })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Notes what this process calls itself, and gives what the one before it called itself.
    ///
    /// # Errors
    /// The note cannot be read or written.
    pub fn succeed(&self, identity: &str) -> io::Result<Option<String>> {
        let path = self.folder.join("identity");
        let earlier = super::read(&path)?.filter(|earlier| !earlier.is_empty());
        super::write(&path, identity)?;
        Ok(earlier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_process_at_a_time_which_knows_the_one_before() {
        let state = tempfile::tempdir().unwrap();
        let first = LockedFolder::take(state.path()).unwrap().unwrap();
        assert_eq!(first.succeed("one").unwrap(), None);
        assert!(LockedFolder::take(state.path()).unwrap().is_none());
        drop(first);
        let second = LockedFolder::take(state.path()).unwrap().unwrap();
        assert_eq!(second.succeed("two").unwrap(), Some("one".to_owned()));
    }
}
