//! The files of an upgrade in the making: edits per document, new documents, and in the end texts.

use std::collections::{BTreeMap, BTreeSet};

use super::FileChange;
use crate::finding::{Finding, Severity};
use crate::merge::cluster_objects::Base;
use crate::object::{FieldPath, Step};
use crate::tree::RepoPath;
use crate::yaml::{DocumentEdit, Edit, EditRefused, Node, Position, edit};

/// Edits that were decided on, by file.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// Edits inside of documents: (file, document) -> edits.
    edits: BTreeMap<(usize, usize), Vec<Edit>>,
    /// Documents that go: (file, document).
    removed: BTreeSet<(usize, usize)>,
    /// Documents that come into files of the base.
    appended: BTreeMap<usize, Vec<String>>,
    /// Documents of files that do not exist yet, by path below the base.
    new_files: BTreeMap<String, Vec<String>>,
}

impl Draft {
    /// Edits one of the base's objects.
    pub(super) fn edit_object(&mut self, base: &Base, object: usize, edits: impl IntoIterator<Item = Edit>) {
        let object = &base.objects[object];
        self.edits.entry((object.file, object.document)).or_default().extend(edits);
    }

    /// Edits a document that is no object of the base: its kustomization, or a patch.
    pub(super) fn edit_document(
        &mut self,
        file: usize,
        document: usize,
        edits: impl IntoIterator<Item = Edit>,
    ) {
        self.edits.entry((file, document)).or_default().extend(edits);
    }

    /// Leaves an object as it is after all.
    pub(super) fn take_edits(&mut self, base: &Base, object: usize) {
        let object = &base.objects[object];
        self.edits.remove(&(object.file, object.document));
    }

    /// Whether an object is edited.
    pub(super) fn has_edits(&self, base: &Base, object: usize) -> bool {
        let object = &base.objects[object];
        self.edits.contains_key(&(object.file, object.document))
    }

    /// The edits of an object so far.
    pub(super) fn edits_of(&self, base: &Base, object: usize) -> &[Edit] {
        let object = &base.objects[object];
        self.edits.get(&(object.file, object.document)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether an object goes.
    pub(super) fn removes(&self, base: &Base, object: usize) -> bool {
        let object = &base.objects[object];
        self.removed.contains(&(object.file, object.document))
    }

    /// Takes one of the base's objects out.
    pub(super) fn remove_object(&mut self, base: &Base, object: usize) {
        let object = &base.objects[object];
        self.removed.insert((object.file, object.document));
    }

    /// Leaves an object in after all.
    pub(super) fn restore_object(&mut self, base: &Base, object: usize) {
        let object = &base.objects[object];
        self.removed.remove(&(object.file, object.document));
    }

    /// Adds a document to the file with that path below the base, existing or not.
    pub(super) fn add_document(&mut self, base: &Base, below: &str, text: String) {
        match base.files.iter().position(|file| file.below == below) {
            Some(file) => self.appended.entry(file).or_default().push(text),
            None => self.new_files.entry(below.to_owned()).or_default().push(text),
        }
    }

    /// The texts. A file that cannot be edited as intended is a finding, and nothing of the upgrade
    /// may be written then.
    pub(super) fn into_files(
        mut self,
        base: &Base,
        base_folder: &RepoPath,
    ) -> (Vec<FileChange>, Vec<Finding>) {
        let gone: Vec<usize> = (0..base.files.len()).filter(|file| self.empties(base, *file)).collect();
        self.edit_kustomization(base, &gone);
        let mut edits: BTreeMap<usize, Vec<DocumentEdit>> = BTreeMap::new();
        for ((file, document), list) in self.edits {
            if !self.removed.contains(&(file, document)) {
                let list = list.into_iter().map(|edit| DocumentEdit::Edit { document, edit });
                edits.entry(file).or_default().extend(list);
            }
        }
        for (file, document) in self.removed {
            edits.entry(file).or_default().push(DocumentEdit::RemoveDocument { document });
        }
        for file in self.appended.keys() {
            edits.entry(*file).or_default();
        }
        let (mut files, mut findings) = (Vec::new(), Vec::new());
        for file in self.appended.keys().filter(|file| !base.counts(**file)) {
            findings.push(edit_refused(&base.files[*file].path, &not_a_resource()));
        }
        for (file, edits) in edits {
            let source = &base.files[file];
            let before = source.yaml.text().to_owned();
            if gone.contains(&file) {
                files.push(FileChange { path: source.path.clone(), before: Some(before), after: None });
                continue;
            }
            // New documents come in a step of their own: an edit at the very end of the last document
            // and a document after it would meet at one byte.
            let appended: Vec<DocumentEdit> = self
                .appended
                .remove(&file)
                .into_iter()
                .flatten()
                .map(|text| DocumentEdit::Append { text })
                .collect();
            let edited = edit(&source.yaml, &edits).and_then(|edited| edit(&edited, &appended));
            match edited {
                Ok(edited) if edited.text() == before => {}
                Ok(edited) => files.push(FileChange {
                    path: source.path.clone(),
                    before: Some(before),
                    after: Some(edited.text().to_owned()),
                }),
                Err(refused) => findings.push(edit_refused(&source.path, &refused)),
            }
        }
        for (below, texts) in self.new_files {
            let Ok(path) = base_folder.join(&below) else { continue };
            files.push(FileChange { path, before: None, after: Some(texts.join("---\n")) });
        }
        (files, findings)
    }

    /// Whether every object of a file goes and none comes.
    fn empties(&self, base: &Base, file: usize) -> bool {
        let documents = base.files[file].yaml.documents();
        let stays = |(at, document): (usize, &crate::yaml::Document)| {
            !self.removed.contains(&(file, at)) && !document.root.is_null()
        };
        self.removed.iter().any(|(removed, _)| *removed == file)
            && !self.appended.contains_key(&file)
            && !documents.iter().enumerate().any(stays)
    }

    /// Where the base has a kustomization, its `resources` follow the files.
    fn edit_kustomization(&mut self, base: &Base, gone: &[usize]) {
        let Some(file) = base.kustomization else { return };
        let Some(root) = base.files[file].yaml.documents().first().map(|document| &document.root) else {
            return;
        };
        let resources = FieldPath::root().key("resources");
        let list = root.get("resources").and_then(Node::as_sequence);
        let items = list.unwrap_or_default();
        let is = |item: &Node, below: &str| {
            item.as_str().is_some_and(|text| text.strip_prefix("./").unwrap_or(text) == below)
        };
        let mut edits = Vec::new();
        for file in gone {
            let below = &base.files[*file].below;
            if let Some(at) = items.iter().position(|item| is(item, below)) {
                edits.push(Edit::Remove { path: resources.join(Step::Index(at)) });
            }
        }
        let new: Vec<&String> =
            self.new_files.keys().filter(|below| !items.iter().any(|item| is(item, below))).collect();
        if list.is_some() {
            edits.extend(new.iter().map(|below| Edit::InsertItem {
                list: resources.clone(),
                index: items.len(),
                node: Node::string(below.as_str()),
            }));
        } else if !new.is_empty() {
            edits.push(Edit::Insert {
                parent: FieldPath::root(),
                key: "resources".to_owned(),
                node: Node::sequence(new.iter().map(|below| Node::string(below.as_str()))),
                after: None,
            });
        }
        if !edits.is_empty() {
            self.edits.entry((file, 0)).or_default().extend(edits);
        }
    }
}

/// What a file that the kustomization does not name takes in is never applied.
fn not_a_resource() -> EditRefused {
    EditRefused {
        document: 0,
        path: FieldPath::root(),
        position: Position { line: 1, column: 1 },
        reason: "the release adds an object to it, but the base's kustomization does not name it, so that the object would never be applied".to_owned(),
    }
}

pub(super) fn edit_refused(path: &RepoPath, refused: &EditRefused) -> Finding {
    Finding {
        rule: "edit-refused",
        severity: Severity::Error,
        message: format!(
            "This file is not edited: {}. Make the change by hand, or rewrite this place plainly.",
            refused.reason
        ),
        file: Some(path.clone()),
        line: Some(refused.position.line),
        column: Some(refused.position.column),
        object: None,
        path: Some(refused.path.clone()),
    }
}
