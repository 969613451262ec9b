//! The content of a release that is in no folder of the snapshot at hand.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_model::ids::ReleaseId;
use capstan_model::tree::{BlobId, EntryKind, OutsidePath, RepoPath, Tree, TreeEntry, TreeId, Unreadable};

/// The content of a release that was found outside of any snapshot.
#[derive(Clone)]
pub struct ReleaseContent {
    /// Its folder; paths start there.
    pub folder: Arc<dyn Tree>,
    /// The files that it reads elsewhere, by their path from that folder.
    pub reads: BTreeMap<OutsidePath, Arc<[u8]>>,
}

impl ReleaseContent {
    /// The files elsewhere may be so large, all of them together, in bytes: a record is anybody's input, and may
    /// name many large files, or one of them many times.
    pub const MOST_BYTES: usize = 32 << 20;

    /// Adds a file that it reads elsewhere; `None` where all together would be too large.
    #[must_use]
    pub fn with(mut self, path: OutsidePath, bytes: Arc<[u8]>) -> Option<Self> {
        let known: usize = self.reads.values().map(|bytes| bytes.len()).sum();
        if known + bytes.len() > Self::MOST_BYTES {
            return None;
        }
        self.reads.insert(path, bytes);
        Some(self)
    }
}

impl From<Arc<dyn Tree>> for ReleaseContent {
    fn from(folder: Arc<dyn Tree>) -> Self {
        Self { folder, reads: BTreeMap::new() }
    }
}

/// A release's content as a repository of its own.
pub struct Standalone {
    content: ReleaseContent,
    folder: RepoPath,
    entries: Vec<TreeEntry>,
    outside: BTreeMap<RepoPath, Arc<[u8]>>,
}

impl Standalone {
    /// The content of the release `id`. A release that reads nothing elsewhere is at the root. Otherwise its folder is
    /// as deep as its paths climb, so that they lead to the files that are meant. Its id names the folders, as far as
    /// it has parts.
    pub fn new(id: &ReleaseId, content: ReleaseContent, blobs: &BTreeMap<OutsidePath, BlobId>) -> Self {
        let folder = standing_place(id, content.reads.keys());
        let inside = content.folder.entries().iter().filter_map(|entry| {
            Some(TreeEntry { path: folder.join(entry.path.as_str()).ok()?, ..entry.clone() })
        });
        let mut entries: Vec<TreeEntry> = inside.collect();
        let mut outside = BTreeMap::new();
        for (path, bytes) in &content.reads {
            let (Some(place), Some(blob)) = (path.from(&folder), blobs.get(path)) else { continue };
            entries.push(TreeEntry { path: place.clone(), kind: EntryKind::File, blob: blob.clone() });
            outside.insert(place, Arc::clone(bytes));
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Self { content, folder, entries, outside }
    }

    /// The path of the release's folder in it.
    pub const fn folder(&self) -> &RepoPath {
        &self.folder
    }
}

/// A folder from which all of these paths stay in the repository.
fn standing_place<'p>(id: &ReleaseId, reads: impl Iterator<Item = &'p OutsidePath>) -> RepoPath {
    let Some(depth) = reads.map(OutsidePath::depth).max() else { return RepoPath::root() };
    let own: Vec<&str> = id.as_str().split('/').filter(|part| !part.is_empty()).collect();
    let above = std::iter::repeat_n("releases", depth.saturating_sub(own.len()));
    let parts: Vec<&str> = above.chain(own).collect();
    RepoPath::parse(&parts.join("/")).unwrap_or_default()
}

impl Tree for Standalone {
    fn entries(&self) -> &[TreeEntry] {
        &self.entries
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        if let Some(bytes) = self.outside.get(&entry.path) {
            return Ok(Arc::clone(bytes));
        }
        let place = |error: Unreadable| Unreadable { path: entry.path.clone(), ..error };
        let below = entry.path.below(&self.folder).and_then(|below| RepoPath::parse(below).ok());
        let unknown = || Unreadable { path: entry.path.clone(), reason: "it is not there".to_owned() };
        let own = TreeEntry { path: below.ok_or_else(unknown)?, ..entry.clone() };
        self.content.folder.read(&own).map_err(place)
    }

    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        if self.folder.is_root() || *folder == self.folder {
            let below = if self.folder.is_root() { folder.clone() } else { RepoPath::root() };
            return self.content.folder.folder_id(&below);
        }
        let below = RepoPath::parse(folder.below(&self.folder)?).ok()?;
        self.content.folder.folder_id(&below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_model::ids::ContentId;
    use capstan_test_support::Files;

    fn outside(text: &str) -> OutsidePath {
        OutsidePath::parse(text).unwrap()
    }

    fn blob(digit: &str) -> BlobId {
        BlobId::parse(&digit.repeat(40)).unwrap()
    }

    #[test]
    fn what_is_read_elsewhere_is_part_of_the_id() {
        let tree = TreeId::parse(&"a".repeat(40)).unwrap();
        let entry = TreeEntry {
            path: RepoPath::parse("aws/parts/pool.yaml").unwrap(),
            kind: EntryKind::File,
            blob: blob("1"),
        };
        let folder = RepoPath::parse("aws/v21.0.0").unwrap();
        let one = ContentId::new(tree.clone(), &folder, std::slice::from_ref(&entry));
        assert_eq!(one.reads, BTreeMap::from([(outside("../parts/pool.yaml"), blob("1"))]));
        let other = ContentId::new(tree.clone(), &folder, &[TreeEntry { blob: blob("2"), ..entry }]);
        assert_ne!(one, other);
        assert_ne!(one.to_string(), other.to_string());
        assert_eq!(ContentId::from(tree).to_string(), "a".repeat(40));
    }

    #[test]
    fn what_is_read_elsewhere_is_bounded_altogether() {
        let content = ReleaseContent::from(Arc::new(Files::new(&[])) as Arc<dyn Tree>);
        let part: Arc<[u8]> = vec![b'#'; 12 << 20].into();
        let content = content.with(outside("../a.yaml"), Arc::clone(&part)).unwrap();
        let content = content.with(outside("../b.yaml"), Arc::clone(&part)).unwrap();
        assert!(content.with(outside("../c.yaml"), part).is_none(), "36 MiB are more than 32");
    }

    #[test]
    fn a_release_found_alone_reads_what_it_read() {
        let files = Files::new(&[("base/kustomization.yaml", "resources: [../../../parts/pool.yaml]\n")]);
        let path = outside("../../parts/pool.yaml");
        let content = ReleaseContent {
            folder: Arc::new(files),
            reads: BTreeMap::from([(path.clone(), Arc::from(b"kind: MachinePool\n".as_slice()))]),
        };
        let id = ReleaseId::from_path("v21.0.0");
        let tree = Standalone::new(&id, content, &BTreeMap::from([(path, blob("1"))]));
        let paths: Vec<&str> = tree.entries().iter().map(|entry| entry.path.as_str()).collect();
        // The id has one part and the path climbs two.
        assert_eq!(tree.folder().as_str(), "releases/v21.0.0");
        assert_eq!(paths, ["parts/pool.yaml", "releases/v21.0.0/base/kustomization.yaml"]);
        for (at, text) in [(0, "kind: MachinePool\n"), (1, "resources: [../../../parts/pool.yaml]\n")] {
            assert_eq!(tree.read(&tree.entries()[at]).unwrap().as_ref(), text.as_bytes());
        }
    }
}
