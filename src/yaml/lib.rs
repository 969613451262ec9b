//! Lossless YAML: strict reading with Kubernetes' scalar rules, and edits that touch nothing else.
//!
//! A [`YamlFile`] keeps its text and, for every node, the bytes it came from. An edit is resolved to
//! spans, spliced into the text, read again, and compared with what was intended; if the two differ
//! by anything, the edit is refused ([`EditRefused`]) and the text stays as it was.
//!
//! Deliberately absent: pretty-printing of what was not touched, and guesses.

mod batch;
mod carry;
mod change;
mod comments;
mod edit;
mod file;
mod flow;
mod gate;
mod inside;
mod layout;
pub mod limits;
mod literal;
pub mod manifest;
mod meaning;
mod node;
mod quick;
mod read;
mod readable;
pub mod scalar;
mod source;
mod splicer;
mod template;
mod touch;
mod write;

pub use carry::{Carriage, Carried, as_arguments, emptied};
pub use comments::own_text;
pub use edit::{DocumentEdit, Edit, EditRefused, edit};
pub use file::texts_alone;
pub use file::{YamlError, YamlFile};
pub use meaning::same_meaning;
pub use node::{Document, DuplicateKey, Entry, Node, NodeKind, Position, Scalar, ScalarStyle, Span};

pub use readable::Readable;
pub use template::with_words;
pub use write::flow_text;
pub use write::write;

pub use serde_json::Value;
