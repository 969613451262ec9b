//! Where the definitions of custom resources are in a repository.

use std::collections::HashSet;

use super::found::Layout;
use capstan_kustomize::schema::{SchemaFile, Schemas, seems_to_define};
use capstan_model::tree::{RepoPath, Tree, TreeEntry, is_manifest};

/// Every definition in a snapshot: in [`FOLDER`](capstan_kustomize::schema::FOLDER), and anywhere outside of clusters and releases, which
/// hold objects of kinds and not the kinds; inside those a path with `crd` in it counts.
///
/// Files are read but parsed only where they hold a definition by their look, each content once.
pub fn schemas_of(tree: &dyn Tree, layout: &Layout) -> Schemas {
    Schemas::read(definitions(tree, layout))
}

/// The files that [`schemas_of`] reads, ordered by path.
pub fn definitions(tree: &dyn Tree, layout: &Layout) -> Vec<SchemaFile> {
    let folders: HashSet<&str> = taken(layout).map(RepoPath::as_str).collect();
    let mut seen = HashSet::new();
    let mut files = Vec::new();
    for entry in tree.entries() {
        let own = SchemaFile::is_own(&entry.path);
        let counts = own || !is_inside(&entry.path, &folders) || mentions_crd(entry.path.as_str());
        let may_define =
            counts && entry.is_file() && is_manifest(&entry.path) && !layout.is_record(&entry.path);
        if may_define && seen.insert((own, &entry.blob)) {
            files.extend(read(tree, entry, own));
        }
    }
    files
}

/// Whether a file that came, went or changed may be one of [`definitions`]; `known` are those from before.
pub fn may_define(tree: &dyn Tree, layout: &Layout, known: &[SchemaFile], path: &RepoPath) -> bool {
    let own = SchemaFile::is_own(path);
    let counts = own || !layout.holds(path) || mentions_crd(path.as_str());
    if !counts || !is_manifest(path) || layout.is_record(path) {
        return false;
    }
    let found = || tree.entry(path).and_then(|entry| read(tree, entry, own)).is_some();
    // Of several files with the same content only one is in `known`, so the content of this file counts, too.
    own || known.iter().any(|file| file.path == *path) || found()
}

fn read(tree: &dyn Tree, entry: &TreeEntry, own: bool) -> Option<SchemaFile> {
    let bytes = match tree.read(entry) {
        Ok(bytes) => bytes,
        // Elsewhere a file that cannot be read may be anything.
        Err(error) => {
            return own.then(|| SchemaFile { path: entry.path.clone(), bytes: Err(error.reason) });
        }
    };
    if !own && !std::str::from_utf8(&bytes).is_ok_and(seems_to_define) {
        return None;
    }
    Some(SchemaFile { path: entry.path.clone(), bytes: Ok(bytes) })
}

/// The folders of clusters and releases.
fn taken(layout: &Layout) -> impl Iterator<Item = &RepoPath> {
    let clusters = layout.targets.iter().flat_map(|cluster| [&cluster.base, &cluster.overlay]);
    clusters.chain(layout.releases.iter().map(|release| &release.folder))
}

fn is_inside(path: &RepoPath, folders: &HashSet<&str>) -> bool {
    let mut rest = path.as_str();
    while let Some((folder, _)) = rest.rsplit_once('/') {
        if folders.contains(folder) {
            return true;
        }
        rest = folder;
    }
    false
}

fn mentions_crd(path: &str) -> bool {
    path.as_bytes().windows(3).any(|part| part.eq_ignore_ascii_case(b"crd"))
        || path.to_ascii_lowercase().contains("customresourcedefinition")
}
