//! What may be asked of a file's documents.

use super::node::Node;
use capstan_model::object::FieldPath;

/// One edit inside of a document. Paths and indexes are those before any edit of the batch.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// Replaces the value at `path`.
    Set {
        /// An existing value.
        path: FieldPath,
        /// The new value; the old quoting stays where it can.
        node: Node,
    },
    /// Adds a key to a mapping (or to what is null or absent as a value: `key:`).
    Insert {
        /// The mapping.
        parent: FieldPath,
        /// The new key.
        key: String,
        /// Its value.
        node: Node,
        /// The key after which it goes; at the end where `None` or unknown.
        after: Option<String>,
    },
    /// Adds an item to a sequence.
    InsertItem {
        /// The sequence.
        list: FieldPath,
        /// Before which item, counted before any edit of the batch; the number of items appends. Several
        /// at one index keep their order.
        index: usize,
        /// The item.
        node: Node,
    },
    /// Removes a key or an item.
    Remove {
        /// What goes.
        path: FieldPath,
    },
    /// Edits the YAML that a string holds.
    Within {
        /// The string.
        path: FieldPath,
        /// The document inside of the string.
        document: usize,
        /// What to do there; paths start in that document.
        edits: Vec<Edit>,
    },
}

/// A place that shared its text with others by an alias or a merge, and has a text of its own after an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenOut {
    /// The field.
    pub path: FieldPath,
    /// The alias's byte in the text before the edit.
    pub offset: usize,
}

/// An edit of a file's documents.
#[derive(Debug, Clone, PartialEq)]
pub enum DocumentEdit {
    /// Edits inside of a document.
    Edit {
        /// Which, from 0.
        document: usize,
        /// What.
        edit: Edit,
    },
    /// Takes a whole document out.
    RemoveDocument {
        /// Which, from 0.
        document: usize,
    },
    /// Adds a document at the end.
    Append {
        /// A whole document, valid YAML without markers.
        text: String,
    },
}
