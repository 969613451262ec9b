//! The template that a rotation leaves behind, where patches went on to the new one.
//!
//! Machine templates are immutable: an old template that lost its patches would be another one under the
//! same name, which the API server refuses, and with it often the whole apply. So what the patches had
//! made of it is written into the base, where it stays until the next upgrade takes it out.

use super::model::{Change, ChangeReason};
use super::planned::PlannedUpgrade;
use super::redact::hide_in;
use capstan_kustomize::render::RenderedFolder;
use capstan_model::finding::Place;
use capstan_model::object::{FieldPath, ObjectId};
use capstan_yaml::{DocumentEdit, Edit, Node, Value, YamlFile, edit};

/// Whether the files that an upgrade intends were changed once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilesSettled {
    /// They are as they were.
    AsPlanned,
    /// They changed: what was rendered from them is out of date.
    Changed,
}

impl PlannedUpgrade {
    /// Keeps old templates what they are in the render, given the cluster rendered before and after. A template that is
    /// in no file that the upgrade edits, or that cannot be edited, stays as planned, and the rules say what becomes of
    /// it.
    pub fn settle_leftovers(&mut self, before: &RenderedFolder, after: &RenderedFolder) -> FilesSettled {
        let mut settled = FilesSettled::AsPlanned;
        for id in self.rotated.clone() {
            let spec = |rendered: &RenderedFolder| {
                rendered.object(&id).and_then(|object| object.value.get("spec")).cloned()
            };
            let (Some(was), Some(is)) = (spec(before), spec(after)) else { continue };
            if was != is && self.write_into_base(&id, &was).is_some() {
                settled = FilesSettled::Changed;
            }
        }
        settled
    }

    fn write_into_base(&mut self, id: &ObjectId, wanted: &Value) -> Option<()> {
        for file in &mut self.intended {
            let Some(text) = &file.after else { continue };
            let Ok(yaml) = YamlFile::read(text) else { continue };
            let is = |root: &Node| capstan_yaml::manifest::identity(root).as_ref() == Some(id);
            let Some(document) = yaml.documents().iter().position(|document| is(&document.root)) else {
                continue;
            };
            let root = &yaml.documents()[document].root;
            let mut edits = Vec::new();
            become_value(root.get("spec")?, wanted, &FieldPath::root().key("spec"), &mut edits);
            let applied: Vec<_> =
                edits.iter().map(|edit| DocumentEdit::Edit { document, edit: edit.clone() }).collect();
            let edited = edit(&yaml, &applied).ok()?;
            file.after = Some(edited.text().to_owned());
            let path = file.path.clone();
            self.upgrade.changes.extend(edits.into_iter().filter_map(|edit| {
                let (field, new) = match edit {
                    Edit::Set { path, node } => (path, Some(node.value())),
                    Edit::Insert { parent, key, node, .. } => (parent.key(&key), Some(node.value())),
                    Edit::Remove { path } => (path, None),
                    Edit::InsertItem { .. } | Edit::Within { .. } => return None,
                };
                let old = root.at(&field);
                Some(Change {
                    object: id.clone(),
                    place: Place::whole(path.clone()),
                    old: old.map(|old| hide_in(root, &field, old.value())),
                    new: new.map(|new| hide_in(root, &field, new)),
                    path: field,
                    from: None,
                    reason: ChangeReason::Rotation,
                })
            }));
            return Some(());
        }
        None
    }
}

/// The edits that make a field mean a value; what means it already keeps its bytes.
fn become_value(node: &Node, wanted: &Value, path: &FieldPath, edits: &mut Vec<Edit>) {
    let (Some(entries), Value::Object(map)) = (node.as_mapping(), wanted) else {
        if node.value() != *wanted {
            edits.push(Edit::Set { path: path.clone(), node: Node::from_value(wanted) });
        }
        return;
    };
    for entry in entries {
        match map.get(&entry.key) {
            Some(wanted) => become_value(&entry.value, wanted, &path.key(&entry.key), edits),
            None => edits.push(Edit::Remove { path: path.key(&entry.key) }),
        }
    }
    for (key, value) in map.iter().filter(|(key, _)| node.get(key).is_none()) {
        edits.push(Edit::Insert {
            parent: path.clone(),
            key: key.clone(),
            node: Node::from_value(value),
            after: None,
        });
    }
}
