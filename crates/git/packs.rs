//! The packs of a mirror: how many there are, and how small ones become one.
//!
//! Each fetch brings a pack, and an object is looked for in one after the other. So above some number the small ones are
//! put together, such that of those that are left each holds at least twice the bytes of all smaller ones together: what
//! `git repack --geometric=2` does, and what is copied again and again stays small. Objects are stored whole, not as
//! differences: a pack that a fetch brought carries what its differences stand on anyhow.
//!
//! *Guarantee*: the pack that holds everything is there, with its index, before one goes. Only called by the one who holds
//! the mirror's lock.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Seek as _, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use capstan_model::wording::with_causes;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use gix::ObjectId;
use gix::hash::Hasher;
use gix::odb::pack;

/// So many commits that were fetched last stay known by their references; older ones are fetched again when somebody asks.
const COMMITS: usize = 64;

/// The packs of a mirror, with their bytes.
pub(super) fn packs_of(mirror: &Path) -> Vec<(PathBuf, u64)> {
    let entries = fs::read_dir(mirror.join("objects/pack")).into_iter().flatten().flatten();
    let packs = entries.filter_map(|entry| {
        let path = entry.path();
        let is_pack = path.extension().is_some_and(|kind| kind == "pack");
        Some((path, entry.metadata().ok().filter(|_| is_pack)?.len()))
    });
    packs.collect()
}

/// The packs that are to become one, where there are more than `most`: the small ones. None, where each holds twice as
/// much as all smaller ones.
pub(super) fn small_ones(mut packs: Vec<(PathBuf, u64)>, most: usize) -> Vec<PathBuf> {
    if packs.len() <= most {
        return Vec::new();
    }
    packs.sort_by_key(|(_, bytes)| *bytes);
    let mut smaller = 0_u64;
    let mut small = 0;
    for (at, (_, bytes)) in packs.iter().enumerate() {
        if at > 0 && *bytes < smaller.saturating_mul(2) {
            small = at + 1;
        }
        smaller = smaller.saturating_add(*bytes);
    }
    packs.into_iter().take(small).map(|(path, _)| path).collect()
}

/// Makes one pack of these, and removes them. How many objects it has.
///
/// # Errors
/// One of them cannot be read, or nothing can be written: they are as they were.
pub(super) fn put_together(repository: &gix::Repository, packs: &[PathBuf]) -> Result<u32, String> {
    let folder = repository.objects.store_ref().path().join("pack");
    let mut ids = BTreeSet::new();
    for path in packs {
        let index = pack::index::File::at(path.with_extension("idx"), repository.object_hash())
            .map_err(|error| with_causes(&error))?;
        ids.extend(index.iter().map(|entry| entry.oid));
    }
    // A file that a killed process leaves here is not a pack, and is removed with other garbage.
    let whole = folder.join("together.tmp");
    let written = write_pack(repository, &whole, &ids).and_then(|mut file| {
        pack::Bundle::write_to_directory(
            &mut file,
            Some(&folder),
            &mut gix::progress::Discard,
            &AtomicBool::new(false),
            None::<gix::objs::find::Never>,
            repository.object_hash(),
            pack::bundle::write::Options::default(),
        )
        .map_err(|error| with_causes(&error))
    });
    let _gone = fs::remove_file(&whole);
    let written = written?;
    for path in packs.iter().filter(|path| written.data_path.as_ref() != Some(*path)) {
        // The index first: without it nobody looks for its pack.
        let _gone = fs::remove_file(path.with_extension("idx"));
        let _gone = fs::remove_file(path);
    }
    if let Some(keep) = written.keep_path {
        let _gone = fs::remove_file(keep);
    }
    Ok(written.index.num_objects)
}

/// A pack as Git describes it (<https://git-scm.com/docs/pack-format>), every object whole.
fn write_pack(
    repository: &gix::Repository,
    path: &Path,
    ids: &BTreeSet<ObjectId>,
) -> Result<BufReader<File>, String> {
    let disk = |error: io::Error| format!("{}: {error}", path.display());
    let file = File::options().read(true).write(true).create(true).truncate(true).open(path).map_err(disk)?;
    let hasher = gix::hash::hasher(repository.object_hash());
    let mut pack = Hashed { inner: BufWriter::new(file), hasher };
    let count = u32::try_from(ids.len()).map_err(|_| "there are too many objects for a pack".to_owned())?;
    pack.write_all(b"PACK\0\0\0\x02").and_then(|()| pack.write_all(&count.to_be_bytes())).map_err(disk)?;
    for id in ids {
        let object = repository.find_object(*id).map_err(|error| with_causes(&error))?;
        pack.write_all(&object_header(object.kind, object.data.len())).map_err(disk)?;
        let mut compressed = ZlibEncoder::new(&mut pack, Compression::fast());
        compressed.write_all(&object.data).and_then(|()| compressed.finish().map(drop)).map_err(disk)?;
    }
    let Hashed { mut inner, hasher } = pack;
    let digest = hasher.try_finalize().map_err(|error| with_causes(&error))?;
    inner.write_all(digest.as_slice()).map_err(disk)?;
    let mut file = inner.into_inner().map_err(|error| disk(error.into_error()))?;
    file.rewind().map_err(disk)?;
    Ok(BufReader::new(file))
}

/// What an object in a pack begins with: its kind and its length, seven bits a byte after the first four.
fn object_header(kind: gix::objs::Kind, length: usize) -> Vec<u8> {
    let number: u8 = match kind {
        gix::objs::Kind::Commit => 1,
        gix::objs::Kind::Tree => 2,
        gix::objs::Kind::Blob => 3,
        gix::objs::Kind::Tag => 4,
    };
    let low = |value: usize, mask: usize| u8::try_from(value & mask).unwrap_or_default();
    let mut header = vec![(number << 4) | low(length, 0x0f)];
    let mut rest = length >> 4;
    while rest > 0 {
        if let Some(last) = header.last_mut() {
            *last |= 0x80;
        }
        header.push(low(rest, 0x7f));
        rest >>= 7;
    }
    header
}

/// Writes on, and digests what goes by.
struct Hashed<W> {
    inner: W,
    hasher: Hasher,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.hasher.update(bytes.get(..count).unwrap_or_default());
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Deletes all but the newest references: each is sent to the remote with every fetch.
pub(super) fn forget_old_commits(references: &Path) {
    let entries = fs::read_dir(references).into_iter().flatten().flatten();
    let mut known: Vec<(SystemTime, PathBuf)> =
        entries.filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()))).collect();
    known.sort();
    let old = known.len().saturating_sub(COMMITS);
    for (_, path) in known.into_iter().take(old) {
        let _gone = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_packs_become_one_and_large_ones_stay() {
        for (bytes, most, expected) in [
            (&[1, 1, 1][..], 3, &[][..]),
            (&[1, 1, 1], 2, &[1, 1, 1]),
            // Of which each is twice as large as all smaller ones.
            (&[1, 2, 6, 18, 100], 2, &[]),
            (&[1_000, 10, 10, 10], 2, &[10, 10, 10]),
            // The one that is large enough for those below it, and not for one beside it.
            (&[1_000, 900, 10, 10], 2, &[10, 10, 900, 1_000]),
            (&[5_000, 900, 10, 10], 2, &[10, 10]),
        ] {
            let packs = bytes.iter().enumerate().map(|(at, bytes)| (PathBuf::from(format!("{at}")), *bytes));
            let packs: Vec<(PathBuf, u64)> = packs.collect();
            let size = |path: &PathBuf| packs.iter().find(|(known, _)| known == path).unwrap().1;
            let small: Vec<u64> = small_ones(packs.clone(), most).iter().map(size).collect();
            assert_eq!(small, expected, "{bytes:?}");
        }
    }

    /// As `git pack-objects` writes them.
    #[test]
    fn an_object_begins_with_kind_and_length() {
        use gix::objs::Kind;
        assert_eq!(object_header(Kind::Blob, 5), [0x35]);
        assert_eq!(object_header(Kind::Commit, 16), [0x90, 0x01]);
        assert_eq!(object_header(Kind::Tree, 0x0f + (0x7f << 4) + (1 << 11)), [0xaf, 0xff, 0x01]);
    }
}
