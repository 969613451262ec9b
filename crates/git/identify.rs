//! The ids of a work tree's files: those of the index where nothing has changed since, else of their bytes.

use std::fs;
use std::io::Read;
use std::path::Path;

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice, ByteVec};
use gix::index::entry::{Flags, Mode, Stat, stat};
use gix::index::fs::Metadata;
use gix::objs::tree::EntryKind as GitKind;

use super::CheckoutError;
use super::folder_ids::StoredFile;

/// A file found on disk, or in the index alone.
pub(super) struct WorkTreeFile {
    pub(super) stored: StoredFile,
    pub(super) seen: Option<Stat>,
}

/// What the index knows of a file.
pub(super) struct Tracked {
    pub(super) mode: Mode,
    pub(super) id: ObjectId,
    pub(super) stat: Stat,
    pub(super) flags: Flags,
}

/// The index's time stamp has a type of a crate that gix does not pass on: kept as a stat's time.
type FileTime = stat::Time;

/// What it takes to tell a file's id.
#[derive(Clone, Copy)]
pub(super) struct Identify<'a> {
    pub(super) root: &'a Path,
    pub(super) hash: gix::hash::Kind,
    pub(super) index_time: FileTime,
    pub(super) stat_options: stat::Options,
    pub(super) capabilities: gix::fs::Capabilities,
}

impl Identify<'_> {
    /// One file; `None` where it went in the meantime.
    pub(super) fn one(
        self,
        path: &BString,
        known: Option<&Tracked>,
    ) -> Result<Option<WorkTreeFile>, CheckoutError> {
        let on_disk = self.root.join(path.to_path_lossy());
        let io = |error: std::io::Error| CheckoutError::io(&on_disk, error);
        let metadata = match Metadata::from_path_no_follow(&on_disk) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            metadata => metadata.map_err(io)?,
        };
        let mode = self.mode(&metadata, known);
        let seen = Stat::from_fs(&metadata).ok();
        let unchanged = known.filter(|known| {
            known.mode.to_tree_entry_mode().is_some_and(|tracked| tracked.kind() == mode)
                && seen.is_some_and(|seen| known.stat.matches(&seen, self.stat_options))
                && known.stat.mtime.secs < self.index_time.secs
        });
        let id = match unchanged {
            Some(known) => known.id,
            None if metadata.is_symlink() => {
                let target = fs::read_link(&on_disk).map_err(io)?;
                let target = Vec::from_path_buf(target).unwrap_or_default();
                self.hash(&mut target.as_slice(), target.len() as u64, &on_disk)?
            }
            None => match fs::File::open(&on_disk) {
                Ok(mut file) => self.hash(&mut file, metadata.len(), &on_disk)?,
                // Listed nevertheless: reading it returns why it cannot be read.
                Err(_) => self.hash.null(),
            },
        };
        Ok(Some(WorkTreeFile { stored: StoredFile { path: path.clone(), mode: mode.into(), id }, seen }))
    }

    /// The mode that `git add` would store. Where the file system has no modes, the index's counts.
    fn mode(self, metadata: &Metadata, known: Option<&Tracked>) -> GitKind {
        let tracked = known.map(|known| known.mode);
        if metadata.is_symlink() || (!self.capabilities.symlink && tracked == Some(Mode::SYMLINK)) {
            return GitKind::Link;
        }
        let executable = if self.capabilities.executable_bit {
            metadata.is_executable()
        } else {
            tracked == Some(Mode::FILE_EXECUTABLE)
        };
        if executable { GitKind::BlobExecutable } else { GitKind::Blob }
    }

    fn hash(self, content: &mut dyn Read, length: u64, path: &Path) -> Result<ObjectId, CheckoutError> {
        gix::objs::compute_stream_hash(
            self.hash,
            gix::objs::Kind::Blob,
            content,
            length,
            &mut gix::progress::Discard,
            &gix::interrupt::IS_INTERRUPTED,
        )
        .map_err(|error| CheckoutError::unreadable(path, &error))
    }
}
