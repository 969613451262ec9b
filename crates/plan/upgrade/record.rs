//! The record in a cluster's `capstan.yaml`: the release with its content, and tombstones.

use super::change_source::{ChangeSource, ReleaseRecord};
use super::draft::edit_refused;
use crate::merge::ClusterFacts;
use crate::settings::{FOLDER_FILE, RecordedRelease, Tombstone, heading};
use capstan_model::file_change::FileChange;
use capstan_model::finding::{FileError, Finding};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_yaml::{DocumentEdit, Edit, Node, edit, write};

/// What an upgrade adds to the tombstones, and takes away from them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TombstoneChanges<'g> {
    /// Tombstones of what goes.
    pub(super) added: &'g [Tombstone],
    /// What comes: its tombstone goes.
    pub(super) brought: &'g [ObjectId],
}

/// The record after the upgrade, or why it cannot be edited.
pub(super) fn record(
    cluster: &ClusterFacts,
    new: &dyn ChangeSource,
    changes: &TombstoneChanges<'_>,
) -> Result<Result<Option<FileChange>, Finding>, FileError> {
    let Some(file) = &cluster.record else { return Ok(Ok(created(cluster, new, changes.added))) };
    let yaml = file.read()?;
    let documents = yaml.documents();
    let Some(document) = documents.iter().position(|document| document.root.as_mapping().is_some()) else {
        // Nothing but comments: the record follows them.
        let Some(record) = record_node(new, changes.added) else { return Ok(Ok(None)) };
        let mut text = file.text().to_owned();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&write(&record));
        return Ok(Ok(Some(changed(file.path.clone(), file.text(), text))));
    };
    let root = &documents[document].root;
    let release = new.record();
    let mut edits = release.as_ref().map(|release| recorded(release).edits(root)).unwrap_or_default();
    edits.extend(tombstone_edits(root, changes));
    let edits: Vec<_> = edits.into_iter().map(|edit| DocumentEdit::Edit { document, edit }).collect();
    Ok(match edit(&yaml, &edits) {
        Ok(edited) if edited.text() == file.text() => Ok(None),
        Ok(edited) => Ok(Some(changed(file.path.clone(), file.text(), edited.text().to_owned()))),
        Err(refused) => Err(edit_refused(&file.path, &refused)),
    })
}

fn changed(path: capstan_model::tree::RepoPath, before: &str, after: String) -> FileChange {
    FileChange { path, before: Some(before.to_owned()), after: Some(after) }
}

fn created(cluster: &ClusterFacts, new: &dyn ChangeSource, tombstones: &[Tombstone]) -> Option<FileChange> {
    let record = record_node(new, tombstones)?;
    let folder = cluster.id.folder();
    let path = folder.join(FOLDER_FILE).ok()?;
    let text = format!("{}{}", write(&heading(folder.name())), write(&record));
    Some(FileChange { path, before: None, after: Some(text) })
}

/// The settings in a file that says nothing else; `None` where there is nothing to say.
fn record_node(new: &dyn ChangeSource, tombstones: &[Tombstone]) -> Option<Node> {
    let buried = || ("delete", Node::sequence(tombstones.iter().map(tombstone)));
    let buried = (!tombstones.is_empty()).then(buried);
    match new.record() {
        Some(release) => Some(recorded(&release).node(buried)),
        None => buried.map(|buried| Node::mapping([buried])),
    }
}

const fn recorded<'r>(release: &'r ReleaseRecord<'_>) -> RecordedRelease<'r> {
    RecordedRelease { release: &release.release, content: release.content }
}

fn tombstone_edits(root: &Node, changes: &TombstoneChanges<'_>) -> Vec<Edit> {
    let list = FieldPath::root().key("delete");
    let whole = |node: Node| match root.entry("delete") {
        Some(_) => Edit::Set { path: list.clone(), node },
        None => Edit::Insert { parent: FieldPath::root(), key: "delete".to_owned(), node, after: None },
    };
    let Some(items) = root.get("delete").filter(|node| !node.is_null()).map(Node::as_sequence) else {
        let none = changes.added.is_empty();
        return if none {
            Vec::new()
        } else {
            vec![whole(Node::sequence(changes.added.iter().map(tombstone)))]
        };
    };
    // `delete: cluster` says all there is to say.
    let Some(items) = items else { return Vec::new() };
    let removed: Vec<usize> = (0..items.len())
        .filter(|at| changes.brought.iter().any(|id| is_tombstone_of(&items[*at], id)))
        .collect();
    let known = |new: &&Tombstone| items.iter().any(|item| same(item, new));
    let new: Vec<Node> = changes.added.iter().filter(|new| !known(new)).map(tombstone).collect();
    if removed.len() == items.len() {
        return match (items.is_empty(), new.is_empty()) {
            (true, true) => Vec::new(),
            (false, true) => vec![Edit::Remove { path: list }],
            (_, false) => vec![whole(Node::sequence(new))],
        };
    }
    let removed = removed.into_iter().map(|at| Edit::Remove { path: list.index(at) });
    let added = new.into_iter().map(|node| Edit::InsertItem { list: list.clone(), index: items.len(), node });
    removed.chain(added).collect()
}

fn part(item: &Node, key: &str) -> Option<String> {
    item.get(key).and_then(Node::as_scalar).map(|scalar| scalar.text.clone())
}

/// Whether an existing tombstone is of that object: a field that it leaves out fits anything.
fn is_tombstone_of(item: &Node, id: &ObjectId) -> bool {
    let fits = |key: &str, value: Option<&str>| match (part(item, key), value) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    };
    part(item, "kind").as_deref() == Some(&id.kind)
        && part(item, "name").as_deref() == Some(&id.name)
        && fits("group", Some(&id.group))
        && fits("namespace", id.namespace.as_deref())
}

fn same(item: &Node, stone: &Tombstone) -> bool {
    let fits = |key: &str, value: &Option<String>| {
        let written = part(item, key);
        written.is_none() || value.is_none() || written == *value
    };
    part(item, "kind").as_deref() == Some(&stone.kind)
        && part(item, "name").as_deref() == Some(&stone.name)
        && fits("group", &stone.group)
        && fits("namespace", &stone.namespace)
}

/// `{kind, name}`, with group and namespace where they are needed.
fn tombstone(stone: &Tombstone) -> Node {
    let part = |key: &'static str, text: &Option<String>| {
        text.as_ref().map(|text| (key, Node::string(text.as_str())))
    };
    let required = |key: &'static str, text: &str| Some((key, Node::string(text)));
    let entries = [
        part("group", &stone.group),
        required("kind", &stone.kind),
        part("namespace", &stone.namespace),
        required("name", &stone.name),
    ];
    Node::mapping(entries.into_iter().flatten())
}
