//! What was fetched, in a folder: so many bytes, for each repository its own.
//!
//! `<folder>/<repository>/<key>/` holds `components.yaml`, `metadata.yaml`, and `kept.json` with their digests; the key is a
//! digest of what was wanted. What room is made for goes; `kept.json` stays, so that a version that moved is known when it is
//! fetched again. A folder that is written is written beside and renamed, so that no reader finds half of it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use capstan_model::digest::sha256;
use capstan_providers::{COMPONENTS_BYTES, METADATA_BYTES, MissingComponents, Published};
use serde::{Deserialize, Serialize};

use capstan_ports::{ComponentCache, KeptComponents};

const COMPONENTS: &str = "components.yaml";
const METADATA: &str = "metadata.yaml";
const KEPT: &str = "kept.json";

/// What may be kept.
#[derive(Debug, Clone, Copy)]
pub struct CacheLimits {
    /// Bytes of all repositories.
    pub bytes: u64,
    /// Bytes of one: the others keep theirs, whatever somebody asks for in it.
    pub repository_bytes: u64,
    /// Of so many components of one repository it is remembered which there were.
    pub remembered: usize,
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self { bytes: 1 << 30, repository_bytes: 256 << 20, remembered: 1_000 }
    }
}

/// A folder of components.
pub struct FolderCache {
    folder: PathBuf,
    limits: CacheLimits,
    /// Held by who writes or makes room.
    writing: Mutex<()>,
}

#[derive(Serialize, Deserialize)]
struct CacheIndex {
    version: String,
    from: String,
    sha256: String,
    metadata_sha256: String,
}

/// An entry of a folder of components.
struct CacheEntry {
    path: PathBuf,
    used: SystemTime,
    /// Of the components and their metadata; 0 where they went.
    bytes: u64,
}

impl FolderCache {
    /// Keeps components below a folder, which is made where it is missing.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open(folder: PathBuf, limits: CacheLimits) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        Ok(Self { folder, limits, writing: Mutex::default() })
    }

    fn of_repository(&self, repository: u64) -> PathBuf {
        self.folder.join(repository.to_string())
    }

    fn entry(&self, repository: u64, wanted: &MissingComponents) -> PathBuf {
        // Their record is not part of their content.
        let parts = [
            wanted.kind.name(),
            &wanted.name,
            &wanted.version,
            wanted.origin.scheme().as_str(),
            &wanted.origin.to_string(),
        ];
        self.of_repository(repository).join(sha256(parts.join("\0")))
    }

    fn write(&self, entry: &Path, published: &Published) -> io::Result<()> {
        let parent = entry.parent().unwrap_or(&self.folder);
        fs::create_dir_all(parent)?;
        let beside = tempfile::Builder::new().prefix(".new-").tempdir_in(parent)?;
        let kept = CacheIndex {
            version: published.version.clone(),
            from: published.from.clone(),
            sha256: published.sha256(),
            metadata_sha256: sha256(&published.metadata),
        };
        fs::write(beside.path().join(COMPONENTS), &published.components)?;
        fs::write(beside.path().join(METADATA), &published.metadata)?;
        fs::write(beside.path().join(KEPT), serde_json::to_vec(&kept)?)?;
        if entry.exists() {
            fs::remove_dir_all(entry)?;
        }
        fs::rename(beside.keep(), entry)
    }

    /// Lets go of what was wanted longest ago, as far as there is too much of it.
    fn make_room(&self, repository: u64) -> io::Result<()> {
        let own = entries(&self.of_repository(repository))?;
        let left = let_go(own, self.limits.repository_bytes)?;
        for entry in left.iter().take(left.len().saturating_sub(self.limits.remembered)) {
            fs::remove_dir_all(&entry.path)?;
        }
        let mut all = Vec::new();
        for folder in fs::read_dir(&self.folder)? {
            all.extend(entries(&folder?.path())?);
        }
        all.sort_by_key(|entry| entry.used);
        let_go(all, self.limits.bytes)?;
        Ok(())
    }
}

/// The folders of components in one, those that were wanted longest ago first.
fn entries(folder: &Path) -> io::Result<Vec<CacheEntry>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Ok(used) = fs::metadata(path.join(KEPT)).and_then(|kept| kept.modified()) else {
            // Somebody was killed while it was written.
            if path.is_dir() {
                fs::remove_dir_all(&path)?;
            }
            continue;
        };
        let size = |name: &str| fs::metadata(path.join(name)).map_or(0, |file| file.len());
        all.push(CacheEntry { bytes: size(COMPONENTS) + size(METADATA), used, path });
    }
    all.sort_by_key(|entry| entry.used);
    Ok(all)
}

/// Removes files of components, first those of the first, until the others take no more than so many bytes; gives all
/// back.
fn let_go(all: Vec<CacheEntry>, most: u64) -> io::Result<Vec<CacheEntry>> {
    let mut bytes: u64 = all.iter().map(|entry| entry.bytes).sum();
    for entry in all.iter().filter(|entry| entry.bytes > 0) {
        if bytes <= most {
            break;
        }
        fs::remove_file(entry.path.join(COMPONENTS))?;
        fs::remove_file(entry.path.join(METADATA))?;
        bytes -= entry.bytes;
    }
    Ok(all)
}

/// A text of at most so many bytes that has this digest; `None` for any other.
fn read(path: &Path, most: usize, digest: &str) -> Option<String> {
    let length = fs::metadata(path).ok()?.len();
    if length > most as u64 {
        return None;
    }
    let text = fs::read_to_string(path).ok()?;
    (sha256(&text) == digest).then_some(text)
}

impl ComponentCache for FolderCache {
    fn find(&self, repository: u64, wanted: &MissingComponents) -> KeptComponents {
        let entry = self.entry(repository, wanted);
        let kept = fs::read(entry.join(KEPT)).ok();
        let Some(kept) = kept.and_then(|kept| serde_json::from_slice::<CacheIndex>(&kept).ok()) else {
            return KeptComponents::default();
        };
        let components = read(&entry.join(COMPONENTS), COMPONENTS_BYTES, &kept.sha256);
        let metadata = read(&entry.join(METADATA), METADATA_BYTES, &kept.metadata_sha256);
        let CacheIndex { version, from, sha256, .. } = kept;
        if components.is_none() && entry.join(COMPONENTS).exists() {
            tracing::warn!(folder = %entry.display(), "kept components are damaged: they are fetched again");
        }
        let published = components.zip(metadata);
        if published.is_some()
            && let Ok(file) = fs::File::options().append(true).open(entry.join(KEPT))
        {
            // The last used entry is removed last; where its time cannot be set, it is removed earlier.
            let _noted = file.set_modified(SystemTime::now());
        }
        let published =
            published.map(|(components, metadata)| Published { version, metadata, components, from });
        KeptComponents { published, sha256: Some(sha256) }
    }

    fn keep(&self, repository: u64, wanted: &MissingComponents, published: &Published) -> Result<(), String> {
        let _writing = self.writing.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let entry = self.entry(repository, wanted);
        let failed = |error: io::Error| format!("{} cannot be written: {error}", entry.display());
        self.write(&entry, published).map_err(failed)?;
        self.make_room(repository).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use capstan_providers::{ComponentOrigin, OciArtifact, ProviderKind};

    use super::*;

    fn wanted(version: &str) -> MissingComponents {
        MissingComponents {
            kind: ProviderKind::Infrastructure,
            name: "own".to_owned(),
            version: version.to_owned(),
            origin: ComponentOrigin::Oci(
                OciArtifact::parse("registry.example.com/own", Some(version)).unwrap(),
            ),
            recorded: None,
        }
    }

    fn published(version: &str, components: &str) -> Published {
        Published::read(version, b"m: 1\n".to_vec(), components.into(), "there").unwrap()
    }

    fn cache(folder: &Path, limits: CacheLimits) -> FolderCache {
        FolderCache::open(folder.join("components"), limits).unwrap()
    }

    #[test]
    fn what_was_kept_is_found_by_its_repository_alone_and_by_the_next_bot() {
        let folder = tempfile::tempdir().unwrap();
        let first = cache(folder.path(), CacheLimits::default());
        let components = published("v1.0.0", "a: 1\n");
        first.keep(7, &wanted("v1.0.0"), &components).unwrap();
        let next = cache(folder.path(), CacheLimits::default());
        let found = next.find(7, &MissingComponents { recorded: Some("ab".to_owned()), ..wanted("v1.0.0") });
        assert_eq!(found.published.as_ref(), Some(&components));
        // As `printf 'a: 1\n' | sha256sum` says it.
        let digest = "37b128c59f1f5097f73f82691cb519f1f568667faab5ced1b4ab979d36837eae";
        assert_eq!(found.sha256.as_deref(), Some(digest));
        assert!(next.find(8, &wanted("v1.0.0")).published.is_none(), "that is another repository");
        assert!(next.find(7, &wanted("v1.0.1")).sha256.is_none());
    }

    #[test]
    fn damaged_components_are_as_none_and_it_is_known_which_there_were() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path(), CacheLimits::default());
        let components = published("v1.0.0", "a: 1\n");
        cache.keep(7, &wanted("v1.0.0"), &components).unwrap();
        let file = cache.entry(7, &wanted("v1.0.0")).join(COMPONENTS);
        fs::write(&file, "a: 2\n").unwrap();
        let found = cache.find(7, &wanted("v1.0.0"));
        assert!(found.published.is_none());
        assert_eq!(found.sha256, Some(components.sha256()));
        cache.keep(7, &wanted("v1.0.0"), &components).unwrap();
        assert_eq!(cache.find(7, &wanted("v1.0.0")).published, Some(components));
    }

    #[test]
    fn the_oldest_of_a_repository_make_room_and_no_other_repository_loses_anything() {
        let folder = tempfile::tempdir().unwrap();
        let limits = CacheLimits { repository_bytes: 40, remembered: 2, ..CacheLimits::default() };
        let cache = cache(folder.path(), limits);
        let of = |version: &str| published(version, "a: 123456789\n");
        cache.keep(8, &wanted("v1.0.0"), &of("v1.0.0")).unwrap();
        for version in ["v1.0.0", "v1.0.1", "v1.0.2"] {
            cache.keep(7, &wanted(version), &of(version)).unwrap();
            // Some file systems store times in hundredths of a second.
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let found = |repository, version| {
            let found = cache.find(repository, &wanted(version));
            (found.published.is_some(), found.sha256.is_some())
        };
        assert_eq!(found(7, "v1.0.0"), (false, false), "it is not even remembered");
        assert_eq!(found(7, "v1.0.1"), (true, true));
        assert_eq!(found(7, "v1.0.2"), (true, true));
        assert_eq!(found(8, "v1.0.0"), (true, true));
    }

    #[test]
    fn what_a_killed_bot_left_goes() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path(), CacheLimits::default());
        let half = cache.of_repository(7).join(".new-abc");
        fs::create_dir_all(&half).unwrap();
        fs::write(half.join(COMPONENTS), "a: 1\n").unwrap();
        cache.keep(7, &wanted("v1.0.0"), &published("v1.0.0", "a: 1\n")).unwrap();
        assert!(!half.exists());
    }
}
