//! The first release, made from the base of a cluster that is as it should be (`capstan init --release`).
//!
//! The cluster's objects are copied as they are written, and its own name becomes `${CLUSTER_NAME}` where it is one: in
//! names, references and namespaces, whole or as a part before or behind `-` or `.`, and in labels and selectors as a
//! whole. It stays as it is in texts that a machine or other software reads (files, commands, data, values).
//!
//! Secrets and content that `sops` encrypted are not copied, because all clusters read a release. A file that is
//! not a manifest is copied only if a kustomization of the base names it: other files may not belong to the
//! cluster. A base whose kustomization takes something from outside is refused, because the release's folder would
//! not find it.
//!
//! Deliberately absent: the proof that nothing changes for the cluster (the caller plans the release before it
//! writes it), and reading folders.

mod names;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use capstan_kustomize::render::{is_kustomization, kustomization_field};
use capstan_model::file_change::FileChange;
use capstan_model::finding::{FileError, Place, rules};
use capstan_model::ids::ClusterId;
use capstan_model::kinds::{KindRole, role, role_of};
use capstan_model::object::FieldPath;
use capstan_model::tree::{RepoPath, Tree, TreeEntry};
use capstan_yaml::manifest::{group_and_kind, identity, objects};
use capstan_yaml::{DocumentEdit, Edit, Node, NodeKind, YamlFile, edit};

use crate::cluster::{Cluster, ParsedBaseFile};

/// The variable for the cluster's name.
pub const CLUSTER_NAME: &str = "CLUSTER_NAME";

/// A release's files, and what they were made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstRelease {
    /// Its files, all of them new.
    pub files: Vec<FileChange>,
    /// The cluster's own name.
    pub name: String,
    /// What was not copied, in words.
    pub left: Vec<String>,
}

/// Makes a release of a cluster's base, in the release's folder `folder`.
///
/// # Errors
/// What cannot be copied without a change of meaning: where it is, and what to do.
pub fn first_release(
    tree: &dyn Tree,
    cluster: &Cluster,
    folder: &RepoPath,
) -> Result<FirstRelease, FileError> {
    if let Some(scalar) = &cluster.release_scalar {
        return Err(refuse(
            scalar.place.clone(),
            "this cluster names a release of Giant Swarm, so its releases are those: name the repository that holds them in `releases.repository`",
        ));
    }
    let (kustomizations, manifests): (Vec<&ParsedBaseFile>, Vec<&ParsedBaseFile>) =
        cluster.base.iter().partition(|manifest| is_kustomization(&manifest.entry.path));
    let mut gone: BTreeSet<RepoPath> = BTreeSet::new();
    // If the objects are outside of the base, only this error matters.
    for manifest in &kustomizations {
        kustomization(manifest, &cluster.folder.base, &gone)?;
    }
    let name = own_name(cluster)?;
    let mut made = FirstRelease { files: Vec::new(), name, left: Vec::new() };
    for manifest in manifests {
        match made.copied(manifest)? {
            Some(text) => made.add(cluster, folder, &manifest.entry.path, text),
            None => drop(gone.insert(manifest.entry.path.clone())),
        }
    }
    for manifest in &kustomizations {
        let text = kustomization(manifest, &cluster.folder.base, &gone)?;
        made.add(cluster, folder, &manifest.entry.path, text);
    }
    let named: BTreeSet<RepoPath> = kustomizations.iter().flat_map(|manifest| named_by(manifest)).collect();
    let manifests: BTreeSet<&RepoPath> = cluster.base.iter().map(|manifest| &manifest.entry.path).collect();
    for entry in cluster.folder.base_files.iter().filter(|entry| !manifests.contains(&entry.path)) {
        match beside(tree, entry, &named) {
            Ok(text) => made.add(cluster, folder, &entry.path, text),
            Err(why) => made.left.push(format!("{}: {why}", entry.path)),
        }
    }
    if made.files.is_empty() {
        return Err(refuse(
            Place::whole(cluster.folder.base.clone()),
            "there is nothing here that a release could hold",
        ));
    }
    Ok(made)
}

impl FirstRelease {
    fn add(&mut self, cluster: &Cluster, folder: &RepoPath, path: &RepoPath, text: String) {
        let below = path.below(&cluster.folder.base).unwrap_or_else(|| path.name());
        if let Ok(path) = folder.join("base").and_then(|base| base.join(below)) {
            self.files.push(FileChange { path, before: None, after: Some(text) });
        }
    }

    /// A manifest with variables; `None` where nothing of it is copied.
    fn copied(&mut self, manifest: &ParsedBaseFile) -> Result<Option<String>, FileError> {
        let (path, file) = (&manifest.entry.path, &manifest.file);
        let mut edits = Vec::new();
        let mut kept = 0;
        for (document, content) in file.documents().iter().enumerate() {
            let root = &content.root;
            if is_secret(root) {
                self.left.push(format!(
                    "{}: a Secret, or encrypted",
                    Place::at(path.clone(), file.position(root.span.start))
                ));
                edits.push(DocumentEdit::RemoveDocument { document });
                continue;
            }
            kept += usize::from(!root.is_null());
            for (at, object) in objects(root) {
                if is_secret(object) {
                    self.left.push(format!(
                        "{}: a Secret",
                        Place::at(path.clone(), file.position(object.span.start))
                    ));
                    edits.push(DocumentEdit::Edit { document, edit: Edit::Remove { path: at } });
                    continue;
                }
                let renamed = names::renamed(object, &at, &self.name).into_iter();
                edits.extend(renamed.map(|edit| DocumentEdit::Edit { document, edit }));
            }
        }
        if kept == 0 {
            return Ok(None);
        }
        edited(path, file, &edits).map(Some)
    }
}

fn is_secret(object: &Node) -> bool {
    let is = group_and_kind(object).is_some_and(|(group, kind)| role(group, kind) == Some(KindRole::Secret));
    is || object.get("sops").is_some()
}

/// The text of a file that is not a manifest, or why it is not copied.
fn beside(tree: &dyn Tree, entry: &TreeEntry, named: &BTreeSet<RepoPath>) -> Result<String, String> {
    if !named.contains(&entry.path) {
        return Err("no kustomization of the base names it".to_owned());
    }
    let bytes = tree.read(entry).map_err(|unreadable| unreadable.reason)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| "it is not text in UTF-8".to_owned())?;
    if is_encrypted(text) { Err("encrypted".to_owned()) } else { Ok(text.to_owned()) }
}

/// Whether `sops` wrote its metadata into a file: of variables, of sections, or of JSON, which is also what it makes of
/// bytes (<https://github.com/getsops/sops#encrypting-binary-files>).
fn is_encrypted(text: &str) -> bool {
    text.contains("sops_version=")
        || text.contains("[sops]")
        || text.contains("\"sops\":")
        || text.lines().any(|line| line.starts_with("sops:"))
}

/// The paths that a kustomization may name, in any field: a generator may also write `name=path`.
fn named_by(manifest: &ParsedBaseFile) -> BTreeSet<RepoPath> {
    let folder = manifest.entry.path.parent().unwrap_or_default();
    let mut named = BTreeSet::new();
    let mut open: Vec<&Node> = manifest.file.documents().iter().map(|document| &document.root).collect();
    while let Some(node) = open.pop() {
        match &node.kind {
            NodeKind::Mapping(entries) => open.extend(entries.iter().map(|entry| &entry.value)),
            NodeKind::Sequence(items) => open.extend(items),
            NodeKind::Scalar(scalar) => {
                let path = scalar.text.split_once('=').map(|(_, path)| path);
                let texts = [Some(scalar.text.as_str()), path];
                named.extend(texts.into_iter().flatten().filter_map(|text| folder.join(text).ok()));
            }
        }
    }
    named
}

/// A kustomization as it is, without what is not copied.
fn kustomization(
    manifest: &ParsedBaseFile,
    base: &RepoPath,
    gone: &BTreeSet<RepoPath>,
) -> Result<String, FileError> {
    const TAKES: [&str; 7] = [
        "resources",
        "bases",
        "components",
        "patches",
        "patchesStrategicMerge",
        "patchesJson6902",
        "configurations",
    ];
    let (path, file) = (&manifest.entry.path, &manifest.file);
    let folder = path.parent().unwrap_or_default();
    let mut edits = Vec::new();
    for (document, content) in file.documents().iter().enumerate() {
        let root = &content.root;
        if let Some(entry) = kustomization_field(root, "secretGenerator") {
            let place = Place::at(path.clone(), file.position(entry.key_span.start));
            return Err(refuse(
                place,
                "this kustomization generates Secrets, and a release is read by all clusters: move that to the cluster's overlay first",
            ));
        }
        for field in TAKES {
            let Some(entry) = kustomization_field(root, field) else { continue };
            for (at, item) in entry.value.as_sequence().unwrap_or_default().iter().enumerate() {
                let Some(text) = item.as_str().or_else(|| item.text_at("path")) else { continue };
                let target = folder.join(text).ok().filter(|_| !text.contains("://"));
                match target {
                    Some(target) if gone.contains(&target) => {
                        let path = FieldPath::root().key(&entry.key).index(at);
                        edits.push(DocumentEdit::Edit { document, edit: Edit::Remove { path } });
                    }
                    // A text of several lines is inline content, not a path.
                    _ if text.contains('\n') => {}
                    Some(target) if target.is_in(base) => {}
                    _ => {
                        let place = Place::at(path.clone(), file.position(item.span.start));
                        let message = format!(
                            "this kustomization takes `{text}` from outside of the base, which the release's folder would not \
                             find there: render the cluster (`capstan render`) into a base of its own first"
                        );
                        return Err(refuse(place, message));
                    }
                }
            }
        }
    }
    edited(path, file, &edits)
}

fn edited(path: &RepoPath, file: &YamlFile, edits: &[DocumentEdit]) -> Result<String, FileError> {
    if edits.is_empty() {
        return Ok(file.text().to_owned());
    }
    let edited = edit(file, edits);
    edited.map(|file| file.text().to_owned()).map_err(|refused| {
        refuse(
            Place::whole(path.clone()),
            format!("this file cannot be copied with the cluster's name replaced: {refused}"),
        )
    })
}

/// The name of the folder's one `Cluster`, or that by which its machines call it.
fn own_name(cluster: &Cluster) -> Result<String, FileError> {
    let mut names: BTreeSet<String> = BTreeSet::new();
    let mut called: BTreeSet<String> = BTreeSet::new();
    for (_, object) in cluster
        .base
        .iter()
        .flat_map(|manifest| manifest.file.documents())
        .flat_map(|document| objects(&document.root))
    {
        let Some(id) = identity(object) else { continue };
        match role_of(&id) {
            Some(KindRole::Cluster) => drop(names.insert(id.name)),
            Some(KindRole::Workers(_)) => {
                let spec = object.get("spec");
                called.extend(spec.and_then(|spec| spec.text_at("clusterName")).map(str::to_owned));
            }
            _ => {}
        }
    }
    let names = if names.is_empty() { called } else { names };
    let mut all = names.into_iter();
    match (all.next(), all.next()) {
        (Some(name), None) if !name.contains(['$', '{']) => Ok(name),
        (Some(name), None) => Err(refuse(
            Place::whole(cluster.folder.base.clone()),
            format!(
                "its name is `{name}`, a variable already: what Flux fills in there cannot become a release's own"
            ),
        )),
        (Some(one), Some(other)) => Err(refuse(
            Place::whole(cluster.folder.base.clone()),
            format!("this folder holds several clusters (`{one}`, `{other}`), and a release is made of one"),
        )),
        (None, _) => Err(no_name(&cluster.id)),
    }
}

fn no_name(cluster: &ClusterId) -> FileError {
    refuse(
        Place::whole(cluster.folder().clone()),
        "neither a `Cluster` nor machines with `spec.clusterName` tell here what the cluster is called",
    )
}

fn refuse(place: Place, message: impl Into<String>) -> FileError {
    FileError::new(rules::INVALID_LAYOUT, place, message)
}
