//! `file-not-listed`, found by `validate`.

use super::rule::{About, PolicyRule};
use crate::layout::TargetFolder;
use capstan_kustomize::render::{KUSTOMIZATION_NAMES, ParsedFiles, is_kustomization};
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::tree::{RepoPath, Tree, TreeEntry, is_manifest};
use capstan_yaml::{Document, YamlFile};

pub(super) struct FileNotListed;

static ABOUT: About =
    About::new(rules::FILE_NOT_LISTED, include_str!("../../../docs/rules/file-not-listed.md"));

impl PolicyRule for FileNotListed {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}

/// Manifests of a cluster that its render did not read, though the kustomization beside or above them
/// was read; `read` is what the render read.
pub(super) fn unlisted(tree: &dyn Tree, folder: &TargetFolder, read: &ParsedFiles) -> Vec<Finding> {
    let manifests = || {
        let files = folder.base_files.iter().chain(&folder.overlay_files);
        files.filter(|entry| is_manifest(&entry.path) && !is_kustomization(&entry.path))
    };
    if manifests().all(|entry| read.has(&entry.blob)) {
        return Vec::new();
    }
    let listed = |entry: &TreeEntry| read.has(&entry.blob);
    let mut found = Vec::new();
    for entry in manifests().filter(|entry| !listed(entry)) {
        // A component that nobody includes is left out as a whole, on purpose.
        let Some(kustomization) = kustomization_of(tree, &entry.path).filter(|one| listed(one)) else {
            continue;
        };
        let Ok(bytes) = tree.read(kustomization) else { continue };
        // Generators read files as they are.
        if std::str::from_utf8(&bytes).is_ok_and(|text| text.contains(entry.path.name())) {
            continue;
        }
        let Ok(bytes) = tree.read(entry) else { continue };
        let (position, advice) = match YamlFile::read_bytes(&bytes) {
            Ok(file) => {
                let Some(object) = file.documents().iter().find(|one| is_object(one)) else { continue };
                (file.position(object.root.span.start), "list it under `resources`, or remove it".to_owned())
            }
            Err(error) if is_manifest_text(&bytes) => {
                let why = error.message;
                let advice = format!("it cannot be read either ({why}): correct and list it, or remove it");
                (error.position, advice)
            }
            Err(_) => continue,
        };
        let message = format!(
            "{} does not list this file, so its objects are never applied: {advice}",
            kustomization.path
        );
        let place = Place::at(entry.path.clone(), position);
        found.push(Finding::new(rules::FILE_NOT_LISTED, message).place(place));
    }
    found
}

/// The nearest kustomization beside a file or above it.
fn kustomization_of<'t>(tree: &'t dyn Tree, path: &RepoPath) -> Option<&'t TreeEntry> {
    let folders = std::iter::successors(path.parent(), RepoPath::parent);
    folders
        .flat_map(|folder| KUSTOMIZATION_NAMES.map(|name| folder.join(name).ok()))
        .flatten()
        .find_map(|path| tree.entry(&path))
}

/// Whether a file that is not YAML is meant as a manifest: a line of it gives an `apiVersion`.
fn is_manifest_text(bytes: &[u8]) -> bool {
    String::from_utf8_lossy(bytes).lines().any(|line| line.starts_with("apiVersion:"))
}

/// Whether a document is an object that would be applied.
fn is_object(document: &Document) -> bool {
    let root = &document.root;
    let text = |key: &str| root.get(key).and_then(|node| node.as_str());
    let own = |group: &str| text("apiVersion").is_some_and(|version| version.starts_with(group));
    let local = root
        .get("metadata")
        .and_then(|metadata| metadata.get("annotations"))
        .is_some_and(|annotations| annotations.get("config.kubernetes.io/local-config").is_some());
    text("kind").is_some()
        && text("apiVersion").is_some()
        && root.get("metadata").and_then(|metadata| metadata.get("name")).is_some()
        && !own("kustomize.config.k8s.io/")
        && !own("capstan.dev/")
        && !local
}
