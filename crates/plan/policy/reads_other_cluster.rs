//! `reads-other-cluster`, found by `validate`.

use super::rule::{About, PolicyRule};
use crate::layout::{Layout, TargetFolder};
use crate::settings::RepositorySettings;
use capstan_kustomize::render::is_kustomization;
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::ids::ClusterId;
use capstan_model::tree::{RepoPath, Tree, TreeEntry};
use capstan_yaml::{Node, NodeKind, YamlFile};

pub(super) struct ReadsOtherCluster;

static ABOUT: About =
    About::new(rules::READS_OTHER_CLUSTER, include_str!("../../../docs/rules/reads-other-cluster.md"));

impl PolicyRule for ReadsOtherCluster {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}

/// One verdict for each folder of another cluster of which the render of a folder found files.
pub(super) fn verdicts(
    tree: &dyn Tree,
    layout: &Layout,
    settings: &RepositorySettings,
    folder: &TargetFolder,
    found: &[TreeEntry],
) -> Vec<Finding> {
    let of_another = |entry: &&TreeEntry| !entry.path.is_in(folder.id.folder());
    let mut others: Vec<(&ClusterId, Vec<&RepoPath>)> = Vec::new();
    // Ordered by path, so that a folder's files follow one another.
    for entry in found.iter().filter(of_another) {
        let Some(other) = layout.target_around(&entry.path).map(|other| &other.id) else { continue };
        match others.last_mut().filter(|(last, _)| *last == other) {
            Some((_, files)) => files.push(&entry.path),
            None => others.push((other, vec![&entry.path])),
        }
    }
    let unwanted = others.into_iter().filter(|(other, _)| !may_read(settings, &folder.id, other));
    unwanted.filter_map(|(other, files)| verdict(tree, folder, other, &files, found)).collect()
}

/// Whether both are one owner's, and travel together.
fn may_read(settings: &RepositorySettings, reader: &ClusterId, other: &ClusterId) -> bool {
    let claim = |id: &ClusterId| settings.claimed_by(id).ok().flatten().map(|by| &by.name);
    settings.have_one_owner(reader, other) && claim(reader) == claim(other)
}

fn verdict(
    tree: &dyn Tree,
    folder: &TargetFolder,
    other: &ClusterId,
    files: &[&RepoPath],
    found: &[TreeEntry],
) -> Option<Finding> {
    let first = files.first()?;
    let others = match files.len() {
        1 => String::new(),
        all => format!(" and {} more", all - 1),
    };
    let message = format!(
        "{} reads {first}{others} of the cluster {other}: copy it, or move it to a folder that belongs to no cluster",
        folder.id
    );
    let own =
        found.iter().filter(|entry| entry.path.is_in(folder.id.folder()) && is_kustomization(&entry.path));
    // What a shared component reads is named there.
    let named = own.into_iter().find_map(|entry| named_in(tree, entry, other.folder()));
    let place = named.unwrap_or_else(|| Place::line_of((*first).clone(), 1).at_first_column());
    Some(Finding::new(rules::READS_OTHER_CLUSTER, message).place(place))
}

/// Where a kustomization names a folder, or something in it.
fn named_in(tree: &dyn Tree, kustomization: &TreeEntry, folder: &RepoPath) -> Option<Place> {
    let at = kustomization.path.parent()?;
    let file = YamlFile::read_bytes(&tree.read(kustomization).ok()?).ok()?;
    let leads_there = |text: &str| {
        // `files: [key=path]`
        let path = text.rsplit('=').next().and_then(|path| at.join(path).ok());
        path.is_some_and(|path| path == *folder || path.is_in(folder))
    };
    let node = file.documents().iter().find_map(|document| find(&document.root, &leads_there))?;
    Some(Place::at(kustomization.path.clone(), file.position(node.span.start)))
}

fn find<'n>(node: &'n Node, is_wanted: &impl Fn(&str) -> bool) -> Option<&'n Node> {
    match &node.kind {
        NodeKind::Scalar(_) => node.as_str().filter(|text| is_wanted(text)).map(|_| node),
        NodeKind::Mapping(fields) => fields.iter().find_map(|field| find(&field.value, is_wanted)),
        NodeKind::Sequence(items) => items.iter().find_map(|item| find(item, is_wanted)),
    }
}
