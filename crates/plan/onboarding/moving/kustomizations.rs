//! Kustomizations that name files which move: each cluster's folder gets one of its own, and they name that folder.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{MoveFacts, Moving};
use super::proof::kustomization_of;
use crate::onboarding::survey::KustomizationTargets;
use capstan_kustomize::render::{INCLUDE_FIELDS, kustomization_field, kustomized};
use capstan_model::file_change::FileChange;
use capstan_model::finding::Place;
use capstan_model::object::FieldPath;
use capstan_model::tree::{RepoPath, Tree};
use capstan_yaml::manifest::{identity, objects};
use capstan_yaml::{DocumentEdit, Edit, Node, NodeKind, YamlFile, edit, write};

/// Lists of what is configured in files, or in texts, of its own. These may name files.
const PLUGINS: [&str; 3] = ["generators", "transformers", "validators"];

/// What each cluster's own kustomization lists, in order.
type ClusterFiles = BTreeMap<RepoPath, Vec<String>>;

/// Lets the kustomizations of a repository follow the files that move.
pub(super) fn follow(facts: &MoveFacts<'_>, moving: &mut Moving) {
    let mut built = ClusterFiles::new();
    let (mut touched, mut fresh) = (BTreeSet::new(), BTreeSet::new());
    if moving.moves.is_empty() {
        return;
    }
    for (folder, named) in &facts.survey.kustomizations {
        refuse_other_uses(facts, moving, folder);
        if named.targets.iter().any(|target| moving.moves.contains_key(target)) {
            touched.insert(folder.clone());
            rewrite(facts, moving, (folder, named), &mut built);
        }
    }
    for (home, files) in built {
        if let Some(there) = kustomization_of(facts.tree, &home) {
            let message = "this folder becomes a cluster's and has a kustomization already: name the cluster's files in it, or remove it";
            moving.refuse(Place::whole(there), message);
        } else if let Ok(path) = home.join("kustomization.yaml") {
            let resources = Node::sequence(files.into_iter().map(Node::string));
            let text = write(&Node::mapping([
                ("apiVersion", Node::string("kustomize.config.k8s.io/v1beta1")),
                ("kind", Node::string("Kustomization")),
                ("resources", resources),
            ]));
            moving.changes.push(FileChange { path, before: None, after: Some(text) });
            fresh.insert(home);
        }
    }
    // What builds one of them builds something else now, if it is not the same.
    loop {
        let takes = |(_, named): &(&RepoPath, &KustomizationTargets)| {
            named.targets.iter().any(|one| touched.contains(one) || fresh.contains(one))
        };
        let all = facts.survey.kustomizations.iter().filter(takes).map(|(folder, _)| folder.clone());
        let before = touched.len();
        touched.extend(all.collect::<Vec<_>>());
        if touched.len() == before {
            break;
        }
    }
    moving.rendered.extend(touched);
}

/// What a kustomization reads in other fields than its lists (a generator, values of a chart) would not be found.
fn refuse_other_uses(facts: &MoveFacts<'_>, moving: &mut Moving, folder: &RepoPath) {
    let Some(path) = kustomization_of(facts.tree, folder) else { return };
    let bytes = facts.tree.entry(&path).and_then(|entry| facts.tree.read(entry).ok()).unwrap_or_default();
    let Ok(file) = YamlFile::read_bytes(&bytes) else { return };
    let is_list = |key: &str| INCLUDE_FIELDS.iter().any(|list| list.eq_ignore_ascii_case(key));
    let entries = file.documents().iter().flat_map(|document| document.root.as_mapping().unwrap_or_default());
    let is_plugin = |key: &str| PLUGINS.iter().any(|list| list.eq_ignore_ascii_case(key));
    let entries = entries.filter(|entry| !is_list(&entry.key));
    let mut open: Vec<(&Node, bool)> = entries.map(|entry| (&entry.value, is_plugin(&entry.key))).collect();
    while let Some((node, is_plugin)) = open.pop() {
        match &node.kind {
            NodeKind::Mapping(entries) => open.extend(entries.iter().map(|entry| (&entry.value, is_plugin))),
            NodeKind::Sequence(items) => open.extend(items.iter().map(|item| (item, is_plugin))),
            NodeKind::Scalar(scalar) => {
                let read =
                    if is_plugin { text_of_plugin(facts.tree, folder, &scalar.text) } else { String::new() };
                if let Some(target) = moving.moves.keys().find(|target| read.contains(target.name())).cloned()
                {
                    let message = format!(
                        "this kustomization uses a text that mentions {}, and {target} would move: move the clusters by hand",
                        target.name()
                    );
                    moving.refuse(Place::at(path.clone(), file.position(node.span.start)), message);
                }
                // A generator says `name=path` too.
                let named = scalar.text.split_once('=').map_or(scalar.text.as_str(), |(_, path)| path);
                if let Some(target) =
                    folder.join(named).ok().filter(|target| moving.moves.contains_key(target))
                {
                    let place = Place::at(path.clone(), file.position(node.span.start));
                    let message = format!(
                        "this kustomization also reads {target}, which would move: give it a copy of its own that is not a manifest of a cluster, or move the clusters by hand"
                    );
                    moving.refuse(place, message);
                }
            }
        }
    }
}

/// An item of `PLUGINS`: a text of several lines, or the files at a path.
fn text_of_plugin(tree: &dyn Tree, folder: &RepoPath, text: &str) -> String {
    if text.contains('\n') {
        return text.to_owned();
    }
    let Ok(path) = folder.join(text) else { return String::new() };
    let inside = tree.entries_in(&path).iter();
    let files = tree.entry(&path).into_iter().chain(inside).filter_map(|entry| tree.read(entry).ok());
    files.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
}

/// Whether an item of a list has a comment, in its line or directly above it.
fn has_comment(file: &YamlFile, item: &Node) -> bool {
    let (before, after) = (file.text().get(..item.span.start), file.text().get(item.span.end..));
    let rest = after.and_then(|text| text.lines().next()).unwrap_or_default();
    let line_above = before.unwrap_or_default().lines().rev().nth(1).unwrap_or_default();
    rest.contains('#') || line_above.trim_start().starts_with('#')
}

/// Makes one kustomization name the clusters' folders instead of the files that move there.
fn rewrite(
    facts: &MoveFacts<'_>,
    moving: &mut Moving,
    (folder, named): (&RepoPath, &KustomizationTargets),
    built: &mut ClusterFiles,
) {
    let Some(path) = kustomization_of(facts.tree, folder) else { return };
    let bytes = facts.tree.entry(&path).and_then(|entry| facts.tree.read(entry).ok()).unwrap_or_default();
    let Ok(file) = YamlFile::read_bytes(&bytes) else { return };
    if named.changes
        && let Err(why) = passes_through(facts.tree, moving, folder, named)
    {
        let at = changing(&file);
        let place = Place::at(path, file.position(at.map_or(0, |(at, _)| at)));
        let field = at.map(|(_, field)| format!(" (`{field}`)")).unwrap_or_default();
        let message = format!(
            "this kustomization also changes what it builds{field}: {why}. A cluster's own folder would lack that: render each cluster (`kustomize build`) into a folder of its own by hand"
        );
        moving.refuse(place, message);
        return;
    }
    let mut edits = Vec::new();
    let mut listed: BTreeSet<RepoPath> = BTreeSet::new();
    for (document, content) in file.documents().iter().enumerate() {
        for field in INCLUDE_FIELDS {
            let Some(entry) = kustomization_field(&content.root, field) else { continue };
            let list = FieldPath::root().key(&entry.key);
            for (at, item) in entry.value.as_sequence().unwrap_or_default().iter().enumerate() {
                let Some(target) = item.as_str().and_then(|text| folder.join(text).ok()) else { continue };
                let Some(now) = places(moving, &target) else { continue };
                let (homes, left): (Vec<_>, Vec<_>) = now.into_iter().partition(|(home, _)| home.is_some());
                let mut fresh = Vec::new();
                for (home, path) in homes.into_iter().filter_map(|(home, path)| Some((home?, path))) {
                    let file = path.below(&home).unwrap_or_default().to_owned();
                    let files = built.entry(home.clone()).or_default();
                    if !files.contains(&file) {
                        files.push(file);
                    }
                    if listed.insert(home.clone()) {
                        fresh.push(Node::string(way(folder, &home)));
                    }
                }
                if fresh.is_empty() && left.is_empty() && has_comment(&file, item) {
                    let place = Place::at(path.clone(), file.position(item.span.start));
                    let message = "this item would be removed, since another one already names the cluster's folder, and its comment with it: move or remove the comment, and run the command again";
                    moving.refuse(place, message);
                }
                edits.extend(
                    replaced(&list, at, fresh, left.is_empty())
                        .into_iter()
                        .map(|edit| DocumentEdit::Edit { document, edit }),
                );
            }
        }
    }
    match edit(&file, &edits) {
        Ok(after) => {
            let (before, after) = (Some(file.text().to_owned()), Some(after.text().to_owned()));
            moving.edited.push(path.clone());
            moving.changes.push(FileChange { path, before, after });
        }
        Err(refused) => {
            let message =
                format!("this kustomization cannot be edited to name the clusters' folders: {refused}");
            moving.refuse(Place::whole(path), message);
        }
    }
}

/// Whether a kustomization leaves the objects that move unchanged; else what it changes. Its changes to other
/// objects do not matter.
fn passes_through(
    tree: &dyn Tree,
    moving: &Moving,
    folder: &RepoPath,
    named: &KustomizationTargets,
) -> Result<(), String> {
    let rendered = kustomized(tree, folder).map_err(|error| error.to_string())?.unwrap_or_default();
    for (from, targets) in moving.moves.iter().filter(|(from, _)| named.targets.contains(*from)) {
        let moved =
            moving.changes.iter().filter(|change| change.path != *from && targets.contains(&change.path));
        for text in moved.filter_map(|change| change.after.as_deref()) {
            let Ok(file) = YamlFile::read(text) else { continue };
            for (_, node) in file.documents().iter().flat_map(|document| objects(&document.root)) {
                let Some(id) = identity(node) else { continue };
                if !rendered.iter().any(|object| object.id == id && object.value == node.value()) {
                    return Err(format!(
                        "{} {} of {from} would not be as it is written there",
                        id.kind, id.name
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Where the documents of a file that a kustomization names are after the move, each with its cluster's folder; `None`
/// where nothing changes for it.
fn places(moving: &Moving, target: &RepoPath) -> Option<Vec<(Option<RepoPath>, RepoPath)>> {
    let home = |path: &RepoPath| moving.clusters.iter().find(|home| path.is_in(home)).cloned();
    let now: Vec<_> = match moving.moves.get(target) {
        Some(targets) => targets.iter().map(|path| (home(path), path.clone())).collect(),
        None => vec![(home(target), target.clone())],
    };
    now.iter().any(|(home, _)| home.is_some()).then_some(now)
}

/// The edits that put new items where one is, beside it or instead of it.
fn replaced(list: &FieldPath, at: usize, fresh: Vec<Node>, is_gone: bool) -> Vec<Edit> {
    let mut fresh = fresh.into_iter();
    let first = match is_gone.then(|| fresh.next()) {
        Some(Some(node)) => Some(Edit::Set { path: list.index(at), node }),
        Some(None) => Some(Edit::Remove { path: list.index(at) }),
        None => None,
    };
    let others = fresh.map(|node| Edit::InsertItem { list: list.clone(), index: at + 1, node });
    first.into_iter().chain(others).collect()
}

/// The first field of a kustomization that changes what it builds, and where it is.
fn changing(file: &YamlFile) -> Option<(usize, &str)> {
    const SAYS: [&str; 4] = ["apiVersion", "kind", "metadata", "sortOptions"];
    let entries = file.documents().iter().flat_map(|document| document.root.as_mapping().unwrap_or_default());
    let is_list = |key: &str| INCLUDE_FIELDS.iter().chain(&SAYS).any(|list| list.eq_ignore_ascii_case(key));
    entries
        .into_iter()
        .find(|entry| !is_list(&entry.key) || entry.key.eq_ignore_ascii_case("components"))
        .map(|entry| (entry.key_span.start, entry.key.as_str()))
}

/// The way from one folder to another, as a kustomization writes it.
fn way(from: &RepoPath, to: &RepoPath) -> String {
    let shared = from.parts().zip(to.parts()).take_while(|(one, other)| one == other).count();
    let up = from.parts().skip(shared).map(|_| "..");
    up.chain(to.parts().skip(shared)).collect::<Vec<_>>().join("/")
}
