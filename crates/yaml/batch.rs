//! A batch of edits of one file, sorted by document and checked for what is never edited.

use std::collections::{BTreeMap, BTreeSet};

use super::change::{EditRefusal, NodeChange};
use super::comments;
use super::document_edit::DocumentEdit;
use super::file::YamlFile;
use super::node::{Document, Node};
use super::source::{Splice, TerminatedText};
use capstan_model::object::FieldPath;

/// What happens to a file.
pub(super) struct Batch<'a> {
    pub(super) file: &'a YamlFile,
    /// Changes inside of documents.
    pub(super) changes: BTreeMap<usize, NodeChange>,
    /// What documents with changes will mean.
    pub(super) intended: BTreeMap<usize, Node>,
    /// Documents that go.
    pub(super) removed: BTreeSet<usize>,
    /// Documents that come, with their value.
    pub(super) appended: Vec<(String, Node)>,
}

impl<'a> Batch<'a> {
    /// Sorts the edits; refuses with the number of the document.
    pub(super) fn new(file: &'a YamlFile, edits: &[DocumentEdit]) -> Result<Self, (usize, EditRefusal)> {
        let mut batch = Self {
            file,
            changes: BTreeMap::new(),
            intended: BTreeMap::new(),
            removed: BTreeSet::new(),
            appended: Vec::new(),
        };
        for (index, document) in file.documents().iter().enumerate() {
            if let Some(sops) = document.root.entry("sops") {
                let reason = "the file was encrypted by sops, and an edit would break its seal";
                let path = FieldPath::root().key("sops");
                return Err((index, EditRefusal::new(reason, &path, sops.key_span.start)));
            }
        }
        for edit in edits {
            match edit {
                DocumentEdit::Edit { document, edit } => {
                    let root = batch.document(*document).map_err(|refusal| (*document, refusal))?;
                    let change = batch.changes.entry(*document).or_default();
                    change.add(root, edit).map_err(|refusal| (*document, refusal))?;
                }
                DocumentEdit::RemoveDocument { document } => {
                    batch.document(*document).map_err(|refusal| (*document, refusal))?;
                    batch.removed.insert(*document);
                }
                DocumentEdit::Append { text } => batch.append(text).map_err(|refusal| (0, refusal))?,
            }
        }
        batch.drop_blank();
        batch.mark_appended();
        if let Some(both) = batch.removed.iter().find(|index| batch.changes.contains_key(index)) {
            let reason = "the document is removed and edited at once";
            return Err((*both, EditRefusal::new(reason, &FieldPath::root(), 0)));
        }
        Ok(batch)
    }

    /// The root of a document that may be edited.
    fn document(&self, index: usize) -> Result<&'a Node, EditRefusal> {
        let root = FieldPath::root();
        let Some(document) = self.file.documents().get(index) else {
            return Err(EditRefusal::new(
                format!("there is no document {index}"),
                &root,
                self.file.text().len(),
            ));
        };
        if let Some(twice) = &document.duplicate_key {
            let reason = format!("the key `{}` occurs twice in one mapping of this document", twice.key);
            return Err(EditRefusal::new(reason, &root, twice.offset));
        }
        Ok(&document.root)
    }

    fn append(&mut self, text: &str) -> Result<(), EditRefusal> {
        let refuse = |reason: String| EditRefusal::new(reason, &FieldPath::root(), self.file.text().len());
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let read = YamlFile::read(&text)
            .map_err(|error| refuse(format!("the new document is not YAML: {error}")))?;
        let [document] = read.documents() else {
            return Err(refuse(format!("{} documents where one is added", read.documents().len())));
        };
        let root = document.root.clone();
        let end = if text.ends_with('\n') { "" } else { "\n" };
        self.appended.push((format!("{text}{end}"), root));
        Ok(())
    }

    /// Documents that hold nothing go with the one before them, and make room at the end for one that comes: else one
    /// marker would stand above another.
    fn drop_blank(&mut self) {
        let documents = self.file.documents();
        let makes_room = |index: usize| index + 1 == documents.len() && !self.appended.is_empty();
        let mut gone = self.removed.clone();
        for (index, document) in documents.iter().enumerate() {
            let follows = index.checked_sub(1).is_some_and(|before| gone.contains(&before));
            let is_kept = self.changes.contains_key(&index) || !self.is_blank(document);
            if !is_kept && (follows || makes_room(index)) {
                gone.insert(index);
            }
        }
        self.removed = gone;
    }

    fn is_blank(&self, document: &Document) -> bool {
        let text = self.file.text().get(document.marker.end..document.span.end).unwrap_or_default();
        !document.marker.is_empty() && text.trim().is_empty()
    }

    /// Separates a new document from the one before it.
    fn mark_appended(&mut self) {
        let mut is_first = self.file.documents().len() == self.removed.len();
        for (text, _) in &mut self.appended {
            if !std::mem::take(&mut is_first) && !has_marker(text) {
                text.insert_str(0, "---\n");
            }
        }
    }

    /// The bytes of a removed document, with its own comments: those directly above it, after a blank line.
    /// Text before the first one (comments, directives, byte order mark) stays.
    pub(super) fn span_of_removed(
        &self,
        source: &TerminatedText,
        index: usize,
    ) -> Option<std::ops::Range<usize>> {
        let document = self.file.documents().get(index)?;
        let start = if index > 0 || !document.marker.is_empty() {
            document.marker.start
        } else {
            source.line_start(document.root.span.start)
        };
        // What is said above a document that holds nothing is not said of it.
        let is_blank = self.is_blank(document);
        let start = if is_blank { start } else { comments::above_document(source.text(), start, 0) };
        let end = match self.file.documents().get(index + 1) {
            None => source.text().len(),
            Some(next) if next.marker.is_empty() => document.span.end,
            Some(next) => comments::above_document(source.text(), next.marker.start, document.marker.end),
        };
        Some(start..end)
    }

    /// The splices for documents that go or come.
    pub(super) fn splice_documents(&self, source: &TerminatedText) -> Vec<Splice> {
        let end = source.text().len();
        let removed = self.removed.iter().filter_map(|index| self.span_of_removed(source, *index));
        let removed = removed.map(|range| Splice { range, text: String::new() });
        let added = self.appended.iter().map(|(text, _)| Splice { range: end..end, text: text.clone() });
        removed.chain(added).collect()
    }
}

fn has_marker(text: &str) -> bool {
    YamlFile::read(text).is_ok_and(|file| file.documents().iter().all(|document| !document.marker.is_empty()))
}
