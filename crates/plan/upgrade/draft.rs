//! The files of an upgrade in the making: edits per document, new documents, and in the end texts.

use std::collections::{BTreeMap, BTreeSet};

use crate::merge::cluster_objects::{Base, BaseObject};
use capstan_kustomize::render::kustomization_field;
use capstan_model::file_change::FileChange;
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::object::{FieldPath, Step};
use capstan_model::tree::RepoPath;
use capstan_yaml::{
    DocumentEdit, Edit, EditRefused, Node, Position, WrittenOut, edit, edit_telling, manifest,
};

/// Edits that were decided on, by file.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// Edits inside of objects, by their index in the base; paths start at the object.
    edits: BTreeMap<usize, Vec<Edit>>,
    /// Edits of patches that the base's kustomizations name, by file.
    patches: BTreeMap<usize, Vec<DocumentEdit>>,
    /// Objects that go.
    removed: BTreeSet<usize>,
    /// Objects that stay in the API version that they have.
    left: BTreeSet<usize>,
    /// Documents that come into files of the base.
    appended: BTreeMap<usize, Vec<String>>,
    /// Documents of files that do not exist yet, by path below the base.
    new_files: BTreeMap<String, Vec<String>>,
}

impl Draft {
    /// Edits one of the base's objects.
    pub(super) fn edit_object(&mut self, object: usize, edits: impl IntoIterator<Item = Edit>) {
        self.edits.entry(object).or_default().extend(edits);
    }

    /// Edits a document that is not an object of the base: a patch of its kustomization.
    pub(super) fn edit_document(&mut self, file: usize, document: usize, edit: Edit) {
        self.patches.entry(file).or_default().push(DocumentEdit::Edit { document, edit });
    }

    /// Leaves an object as it is after all.
    pub(super) fn take_edits(&mut self, object: usize) {
        self.edits.remove(&object);
    }

    /// Whether an object is edited.
    pub(super) fn has_edits(&self, object: usize) -> bool {
        self.edits.contains_key(&object)
    }

    /// The edits of an object so far.
    pub(super) fn edits_of(&self, object: usize) -> &[Edit] {
        self.edits.get(&object).map(Vec::as_slice).unwrap_or_default()
    }

    /// The same, to change what they bring.
    pub(super) fn edits_mut(&mut self, object: usize) -> &mut [Edit] {
        self.edits.get_mut(&object).map(Vec::as_mut_slice).unwrap_or_default()
    }

    /// Whether an edit puts something else in the place of a field, or takes it away.
    pub(super) fn replaces(&self, object: usize, field: &FieldPath) -> bool {
        self.edits_of(object).iter().any(|edit| match edit {
            Edit::Set { path, .. } | Edit::Remove { path } => field.starts_with(path),
            Edit::Insert { .. } | Edit::InsertItem { .. } | Edit::Within { .. } => false,
        })
    }

    /// An object with its edits so far; `None` where they cannot be done.
    pub(super) fn object_after(&self, base: &Base, object: usize) -> Option<Node> {
        let BaseObject { file, document, path, .. } = &base.objects[object];
        let edits = self.edits_of(object).iter();
        let edits = edits.map(|edit| DocumentEdit::Edit { document: *document, edit: below(path, edit) });
        let after = edit(&base.files[*file].yaml, &edits.collect::<Vec<_>>()).ok()?;
        after.documents().get(*document)?.root.at(path).cloned()
    }

    /// Whether an object goes.
    pub(super) fn removes(&self, object: usize) -> bool {
        self.removed.contains(&object)
    }

    /// Takes one of the base's objects out.
    pub(super) fn remove_object(&mut self, object: usize) {
        self.removed.insert(object);
    }

    /// Leaves one of the base's objects in after all.
    pub(super) fn keep_object(&mut self, object: usize) {
        self.removed.remove(&object);
    }

    /// Leaves an object in the API version that it has: what an upgrade leaves behind keeps its bytes.
    pub(super) fn leave_version(&mut self, object: usize) {
        self.left.insert(object);
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
        let whole = self.documents_that_go(base);
        let gone: Vec<usize> =
            (0..base.files.len()).filter(|file| self.empties(base, *file, &whole)).collect();
        self.edit_kustomizations(base, &gone);
        let mut edits: BTreeMap<usize, Vec<DocumentEdit>> = std::mem::take(&mut self.patches);
        for (object, list) in &self.edits {
            let BaseObject { file, document, path, .. } = &base.objects[*object];
            if !self.removed.contains(object) {
                let edit = |edit: &Edit| DocumentEdit::Edit { document: *document, edit: below(path, edit) };
                edits.entry(*file).or_default().extend(list.iter().map(edit));
            }
        }
        for object in &self.removed {
            let BaseObject { file, document, path, .. } = &base.objects[*object];
            if !whole.contains(&(*file, *document)) {
                let edit = Edit::Remove { path: path.clone() };
                edits.entry(*file).or_default().push(DocumentEdit::Edit { document: *document, edit });
            }
        }
        for (file, document) in whole {
            edits.entry(file).or_default().push(DocumentEdit::RemoveDocument { document });
        }
        for file in self.appended.keys() {
            edits.entry(*file).or_default();
        }
        for file in (0..base.files.len()).filter(|file| base.files[*file].before.is_some()) {
            edits.entry(file).or_default();
        }
        let (mut files, mut findings) = (Vec::new(), Vec::new());
        for file in self.appended.keys().filter(|file| !base.counts(**file)) {
            findings.push(edit_refused(&base.files[*file].path, &not_a_resource()));
        }
        for (file, edits) in edits {
            let source = &base.files[file];
            let before = base.text_before(file).text().to_owned();
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
            let to_edit = base.to_edit(file, &self.left);
            let edited = edit_telling(&to_edit, &edits)
                .and_then(|(edited, written)| Ok((edit(&edited, &appended)?, written)));
            match edited {
                Ok((edited, _)) if edited.text() == before => {}
                Ok((edited, written)) => {
                    let place =
                        |one: &WrittenOut| Place::at(source.path.clone(), to_edit.position(one.offset));
                    findings.extend(written.iter().map(|one| written_out(one, place(one))));
                    files.push(FileChange {
                        path: source.path.clone(),
                        before: Some(before),
                        after: Some(edited.text().to_owned()),
                    });
                }
                Err(refused) => findings.push(edit_refused(&source.path, &refused)),
            }
        }
        for (below, texts) in self.new_files {
            let Ok(path) = base_folder.join(&below) else { continue };
            files.push(FileChange { path, before: None, after: Some(texts.join("---\n")) });
        }
        (files, findings)
    }

    /// The documents all of whose objects go: (file, document).
    fn documents_that_go(&self, base: &Base) -> BTreeSet<(usize, usize)> {
        let mut going: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for object in &self.removed {
            let BaseObject { file, document, .. } = base.objects[*object];
            *going.entry((file, document)).or_default() += 1;
        }
        let all = |(file, document): (usize, usize), count: usize| {
            manifest::objects(&base.files[file].yaml.documents()[document].root).len() == count
        };
        going.into_iter().filter(|(place, count)| all(*place, *count)).map(|(place, _)| place).collect()
    }

    /// Whether every object of a file goes and none comes.
    fn empties(&self, base: &Base, file: usize, going: &BTreeSet<(usize, usize)>) -> bool {
        let documents = base.files[file].yaml.documents();
        let stays = |(at, document): (usize, &capstan_yaml::Document)| {
            !going.contains(&(file, at)) && !document.root.is_null()
        };
        going.iter().any(|(removed, _)| *removed == file)
            && !self.appended.contains_key(&file)
            && !documents.iter().enumerate().any(stays)
    }

    /// Where the base has kustomizations, their `resources` follow the files: each new file goes into
    /// the nearest one above it.
    fn edit_kustomizations(&mut self, base: &Base, gone: &[usize]) {
        let depth = |folder: &str| folder.matches('/').count() + usize::from(!folder.is_empty());
        let nearest = |below: &str| {
            let above = |object: &usize| is_in(below, folder_of(base, *object));
            base.kustomizations.clone().filter(above).max_by_key(|object| depth(folder_of(base, *object)))
        };
        for object in base.kustomizations.clone() {
            let folder = folder_of(base, object);
            let within = |below: &'_ str| {
                below.strip_prefix(folder).map(|rest| rest.trim_start_matches('/').to_owned())
            };
            let gone = gone.iter().filter_map(|file| within(&base.files[*file].below)).collect();
            let new = self.new_files.keys().filter(|below| nearest(below) == Some(object));
            let new = new.filter_map(|below| within(below)).collect();
            let edits = resource_edits(base.node(object), gone, new);
            if !edits.is_empty() {
                self.edits.entry(object).or_default().extend(edits);
            }
        }
    }
}

/// The folder of a kustomization below the base; empty for the base's own.
fn folder_of(base: &Base, object: usize) -> &str {
    base.file_of(object).below.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn is_in(below: &str, folder: &str) -> bool {
    folder.is_empty() || below.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// The edits of one kustomization's `resources`, with paths as it would write them.
fn resource_edits(root: &Node, gone: Vec<String>, new: Vec<String>) -> Vec<Edit> {
    let known = kustomization_field(root, "resources");
    let resources = FieldPath::root().key(known.map_or("resources", |entry| entry.key.as_str()));
    let list = known.and_then(|entry| entry.value.as_sequence());
    let items = list.unwrap_or_default();
    let is = |item: &Node, path: &str| {
        item.as_str().is_some_and(|text| text.strip_prefix("./").unwrap_or(text) == path)
    };
    let place = |path: &String| items.iter().position(|item| is(item, path));
    let mut edits: Vec<Edit> = gone
        .iter()
        .filter_map(place)
        .map(|at| Edit::Remove { path: resources.join(Step::Index(at)) })
        .collect();
    let new: Vec<Node> = new.iter().filter(|path| place(path).is_none()).map(Node::string).collect();
    if list.is_some() {
        let index = items.len();
        edits.extend(new.into_iter().map(|node| Edit::InsertItem { list: resources.clone(), index, node }));
    } else if !new.is_empty() {
        let (parent, node) = (FieldPath::root(), Node::sequence(new));
        edits.push(match known {
            Some(_) => Edit::Set { path: resources, node },
            None => Edit::Insert { parent, key: "resources".to_owned(), node, after: None },
        });
    }
    edits
}

/// An edit of an object, as one of the document that contains the object.
fn below(place: &FieldPath, edit: &Edit) -> Edit {
    if place.is_root() {
        return edit.clone();
    }
    let under = |path: &FieldPath| place.steps().iter().chain(path.steps()).cloned().collect();
    let mut edit = edit.clone();
    match &mut edit {
        Edit::Set { path, .. }
        | Edit::Insert { parent: path, .. }
        | Edit::InsertItem { list: path, .. }
        | Edit::Remove { path }
        | Edit::Within { path, .. } => *path = under(path),
    }
    edit
}

/// What a file that the kustomization does not name takes in is never applied.
fn not_a_resource() -> EditRefused {
    EditRefused {
        document: 0,
        path: FieldPath::root(),
        position: Position { line: 1, column: 1 },
        reason: "the release adds an object to it, but the base's kustomization does not name it, so the object would never be applied".to_owned(),
    }
}

fn written_out(place: &WrittenOut, at: Place) -> Finding {
    let message = format!(
        "`{}` had its value from an alias, and other uses of its anchor change: Capstan writes the value itself here",
        place.path
    );
    Finding::new(rules::ALIAS_WRITTEN_OUT, message).place(at).path(&place.path)
}

pub(super) fn edit_refused(path: &RepoPath, refused: &EditRefused) -> Finding {
    Finding::new(
        rules::EDIT_REFUSED,
        format!(
            "Capstan does not edit this file: {}. Make the change by hand, or write this place in plain YAML.",
            refused.reason
        ),
    )
    .place(Place::at(path.clone(), refused.position))
    .path(&refused.path)
}
