//! Builds an archive: the claimed folders, the files that rendering them reads, and the settings.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Arc;

use capstan_kustomize::render::Folders;
use capstan_live::agent::archive::{ArchiveIndex, FILES, INDEX, IndexEntry, IndexKind};
use capstan_live::agent::limits::{ARCHIVE_BYTES, ARCHIVE_FILES, UNPACKED_BYTES};
use capstan_model::ids::ClusterId;
use capstan_model::target::Target;
use capstan_model::tree::{CommitId, RepoPath, Tree, TreeEntry};
use capstan_plan::settings::{REPOSITORY_FILE, RepositoryName, RepositorySettings, RuleIds};
use flate2::Compression;
use flate2::write::GzEncoder;

use capstan_fleet::planner::{MadeOf, Planner};

pub(super) struct ArchiveInputs {
    pub(super) repository: RepositoryName,
    pub(super) commit: CommitId,
    /// The content of the commit.
    pub(super) tree: Arc<dyn Tree>,
    /// The tree of the `.capstan.yaml` that is sent.
    pub(super) own_settings: Arc<dyn Tree>,
    /// The clusters that are sent, with their inputs.
    pub(super) clusters: Vec<(ClusterId, MadeOf)>,
}

/// Limits of an archive.
#[derive(Clone, Copy)]
struct ArchiveBounds {
    files: usize,
    /// Bytes of the index and all files.
    unpacked: u64,
    /// Bytes of the archive.
    packed: u64,
}

const BOUNDS: ArchiveBounds =
    ArchiveBounds { files: ARCHIVE_FILES, unpacked: UNPACKED_BYTES, packed: ARCHIVE_BYTES };

/// The archive's bytes, or why there is none. The same input gives the same bytes.
pub(super) fn build(wanted: &ArchiveInputs) -> Result<Vec<u8>, String> {
    build_within(wanted, BOUNDS)
}

fn build_within(wanted: &ArchiveInputs, most: ArchiveBounds) -> Result<Vec<u8>, String> {
    let mut clusters: Vec<ClusterId> = Vec::new();
    let mut entries: BTreeMap<RepoPath, TreeEntry> = BTreeMap::new();
    for (cluster, made_of) in &wanted.clusters {
        clusters.push(cluster.clone());
        entries.extend(made_of.iter().map(|(path, entry)| (path.clone(), entry.clone())));
        most.judge(entries.len())?;
    }
    let path = RepoPath::parse(REPOSITORY_FILE).map_err(|error| error.to_string())?;
    entries.remove(&path);
    let own_settings = wanted.own_settings.entry(&path).cloned();
    // The agent counts the settings too.
    most.judge(entries.len() + usize::from(own_settings.is_some()))?;
    pack(wanted, clusters, entries, own_settings, most)
}

impl ArchiveBounds {
    fn judge(self, files: usize) -> Result<(), String> {
        if files > self.files {
            return Err(format!("the claimed folders have more than {} files", self.files));
        }
        Ok(())
    }
}

/// The clusters of a commit that are sent, and the provider set that the tip's settings name, with their
/// inputs. Those settings also define which folders are clusters.
pub(super) fn claimed(
    planner: &dyn Planner,
    tree: &Arc<dyn Tree>,
    tip: &Arc<dyn Tree>,
    is_managed: impl Fn(&ClusterId) -> bool,
) -> Result<Vec<(ClusterId, MadeOf)>, String> {
    let settings = read_settings(tip.as_ref())?;
    let scopes = |tree: &Arc<dyn Tree>| {
        planner.scopes(Arc::clone(tree), &settings).map_err(|failed| failed.to_string())
    };
    let (here, at_the_tip) = (scopes(tree)?, scopes(tip)?);
    // A provider set that the settings do not name belongs to nobody, whatever pattern its folder matches.
    let own = |target: &Target| -> Option<ClusterId> {
        let is_meant = |id: &&ClusterId| target.cluster().is_some() || settings.names_providers(id);
        target.id().filter(is_meant).filter(|id| is_managed(id)).cloned()
    };
    let claimed = here.iter().filter_map(|scope| Some((own(&scope.target)?, scope.folders())));
    let (clusters, folders): (Vec<ClusterId>, Vec<Folders>) = claimed.unzip();
    let mut made_of = planner.made_of(Arc::clone(tree), &folders).map_err(|failed| failed.to_string())?;
    // Files in the folder of another cluster or provider set belong to its owner, whatever a head refers to.
    let others: BTreeSet<&RepoPath> = here
        .iter()
        .chain(&at_the_tip)
        .filter(|scope| own(&scope.target).is_none())
        .filter_map(|scope| scope.target.folder())
        .collect();
    let is_anothers = |path: &RepoPath| {
        let mut above = path.parent();
        while let Some(folder) = above {
            if others.contains(&folder) {
                return true;
            }
            above = folder.parent();
        }
        false
    };
    made_of.iter_mut().for_each(|made_of| made_of.retain(|path, _| !is_anothers(path)));
    Ok(clusters.into_iter().zip(made_of).collect())
}

fn read_settings(tip: &dyn Tree) -> Result<RepositorySettings, String> {
    let path = RepoPath::parse(REPOSITORY_FILE).map_err(|error| error.to_string())?;
    let Some(entry) = tip.entry(&path) else { return Ok(RepositorySettings::default()) };
    let bytes = tip.read(entry).map_err(|error| error.to_string())?;
    let text = std::str::from_utf8(&bytes).map_err(|error| format!("{path}: {error}"))?;
    RepositorySettings::read(&path, text, &RuleIds::of_catalogue()).map_err(|error| error.to_string())
}

fn pack(
    wanted: &ArchiveInputs,
    clusters: Vec<ClusterId>,
    entries: BTreeMap<RepoPath, TreeEntry>,
    settings: Option<TreeEntry>,
    most: ArchiveBounds,
) -> Result<Vec<u8>, String> {
    let mut contents: Vec<(IndexEntry, Option<Arc<[u8]>>)> = Vec::with_capacity(entries.len() + 1);
    let mut unpacked: u64 = 0;
    let mut add = |tree: &dyn Tree, entry: &TreeEntry| {
        let mut kind = IndexKind::from(entry.kind);
        let content = kind.travels().then(|| tree.read(entry));
        let content = match content {
            Some(Ok(bytes)) => Some(bytes),
            Some(Err(_)) => {
                kind = IndexKind::Unreadable;
                None
            }
            None => None,
        };
        unpacked = unpacked.saturating_add(content.as_ref().map_or(0, |bytes| bytes.len() as u64));
        let index = IndexEntry { path: entry.path.clone(), kind, blob: entry.blob.clone() };
        contents.push((index, content));
        unpacked <= most.unpacked
    };
    let mut fits = true;
    if let Some(entry) = &settings {
        fits &= add(wanted.own_settings.as_ref(), entry);
    }
    for entry in entries.values() {
        fits = fits && add(wanted.tree.as_ref(), entry);
    }
    let too_large = || format!("the claimed folders hold more than {} bytes", most.unpacked);
    if !fits {
        return Err(too_large());
    }
    contents.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
    let index = ArchiveIndex {
        repository: wanted.repository.clone(),
        commit: wanted.commit.clone(),
        clusters,
        entries: contents.iter().map(|(entry, _)| entry.clone()).collect(),
    };
    let index =
        serde_json::to_vec(&index).map_err(|error| format!("its index cannot be written: {error}"))?;
    // The agent counts the index too.
    if unpacked.saturating_add(index.len() as u64) > most.unpacked {
        return Err(too_large());
    }
    write(&index, &contents, most.packed)
        .map_err(|error| format!("the archive could not be written: {error}"))
}

fn write(index: &[u8], contents: &[(IndexEntry, Option<Arc<[u8]>>)], most: u64) -> std::io::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(BoundedArchive(GzEncoder::new(Vec::new(), Compression::fast()), most));
    let mut file = |name: &str, bytes: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Regular);
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        tar.append_data(&mut header, name, bytes)
    };
    file(INDEX, index)?;
    for (number, (_, content)) in contents.iter().enumerate() {
        if let Some(bytes) = content {
            // Only the index has paths: the names here have no meaning that anybody would follow.
            file(&format!("{FILES}{number}"), bytes)?;
        }
    }
    let BoundedArchive(gzip, _) = tar.into_inner()?;
    let bytes = gzip.finish()?;
    if bytes.len() as u64 > most {
        return Err(std::io::Error::other(format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

/// Stops when the packed bytes exceed the limit.
struct BoundedArchive(GzEncoder<Vec<u8>>, u64);

impl Write for BoundedArchive {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.get_ref().len() as u64 > self.1 {
            return Err(std::io::Error::other(format!("it has more than {} bytes", self.1)));
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use capstan_model::tree::MadeTree;

    use super::*;

    #[test]
    fn what_is_as_much_as_may_be_is_packed_and_more_is_refused() {
        let path = |path: &str| RepoPath::parse(path).unwrap();
        let file = |name: &str, text: &'static str| (path(name), Ok(text.as_bytes().into()));
        // 24 bytes in three files.
        let files = [
            file(".capstan.yaml", "mode: propose"),
            file("a/b.yaml", "a: 1\n\n"),
            file("a/c.yaml", "b: 2\n"),
        ];
        let tree: Arc<dyn Tree> = Arc::new(MadeTree::of(files.into()));
        let own = tree.entries().iter().filter(|entry| entry.path.below(&path("a")).is_some());
        let made_of = own.map(|entry| (entry.path.clone(), entry.clone())).collect();
        let wanted = ArchiveInputs {
            repository: RepositoryName::parse("acme/gitops").unwrap(),
            commit: CommitId::parse(&"a".repeat(40)).unwrap(),
            tree: Arc::clone(&tree),
            own_settings: tree,
            clusters: vec![(ClusterId::new(path("a")), made_of)],
        };
        let archive = build(&wanted).unwrap();
        let packed = archive.len() as u64;
        let mut opened = tar::Archive::new(flate2::read::GzDecoder::new(archive.as_slice()));
        let index = opened.entries().unwrap().next().unwrap().unwrap().size();
        let whole = ArchiveBounds { files: 3, unpacked: index + 24, packed };
        assert_eq!(build_within(&wanted, whole), build(&wanted));
        for (most, refused) in [
            (ArchiveBounds { files: 2, ..whole }, "the claimed folders have more than 2 files".to_owned()),
            (
                ArchiveBounds { unpacked: index + 23, ..whole },
                format!("the claimed folders hold more than {} bytes", index + 23),
            ),
            (
                ArchiveBounds { packed: packed - 1, ..whole },
                format!("the archive could not be written: it has more than {} bytes", packed - 1),
            ),
        ] {
            assert_eq!(build_within(&wanted, most), Err(refused));
        }
    }
}
