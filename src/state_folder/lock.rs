//! One process at a time in a state folder, and who was there before.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// How many processes are known that died before they led. With more, a Lease runs out by itself.
const REMEMBERED: usize = 100;

/// A state folder that this process has, and no other.
///
/// *Guarantee*: the operating system gives the lock back when the process ends, however it ends, and not before: so
/// the process that had it before is dead.
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

    /// Notes what this process calls itself, and gives what those before it called themselves, as far back as one of
    /// them may hold a Lease still: one that dies before it leads leaves the Lease to be held by an earlier one.
    ///
    /// # Errors
    /// The note cannot be read or written.
    pub fn succeed(&self, identity: &str) -> io::Result<Vec<String>> {
        let noted = super::read(&self.identities())?.unwrap_or_default();
        let earlier: Vec<String> = noted.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
        let last = earlier.len().saturating_sub(REMEMBERED);
        let all = earlier.iter().skip(last).map(String::as_str).chain([identity]);
        super::write(&self.identities(), &all.collect::<Vec<_>>().join("\n"))?;
        Ok(earlier)
    }

    /// This process holds the Lease: those before it do not.
    ///
    /// # Errors
    /// The note cannot be written.
    pub fn lead(&self, identity: &str) -> io::Result<()> {
        super::write(&self.identities(), identity)
    }

    fn identities(&self) -> PathBuf {
        self.folder.join("identity")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_process_at_a_time_which_knows_the_one_before() {
        let state = tempfile::tempdir().unwrap();
        let first = LockedFolder::take(state.path()).unwrap().unwrap();
        assert_eq!(first.succeed("one").unwrap(), [""; 0]);
        first.lead("one").unwrap();
        assert!(LockedFolder::take(state.path()).unwrap().is_none());
        drop(first);
        // It dies before it leads: the Lease is the first one's.
        let second = LockedFolder::take(state.path()).unwrap().unwrap();
        assert_eq!(second.succeed("two").unwrap(), ["one"]);
        drop(second);
        let third = LockedFolder::take(state.path()).unwrap().unwrap();
        assert_eq!(third.succeed("three").unwrap(), ["one", "two"]);
        third.lead("three").unwrap();
        drop(third);
        let fourth = LockedFolder::take(state.path()).unwrap().unwrap();
        assert_eq!(fourth.succeed("four").unwrap(), ["three"]);
    }

    #[test]
    fn the_number_of_remembered_processes_that_never_led_is_limited() {
        let state = tempfile::tempdir().unwrap();
        let folder = LockedFolder::take(state.path()).unwrap().unwrap();
        for number in 0..=REMEMBERED + 1 {
            folder.succeed(&number.to_string()).unwrap();
        }
        let known = folder.succeed("last").unwrap();
        assert_eq!((known.len(), known[0].as_str()), (REMEMBERED + 1, "1"));
    }
}
