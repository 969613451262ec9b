//! Lossless YAML: strict reading with Kubernetes' scalar rules, and edits that touch nothing else.
//!
//! A [`YamlFile`] keeps its text and, for every node, the bytes it came from. An edit is resolved to
//! spans, spliced into the text, read again, and compared with what was intended; if the two differ
//! by anything, the edit is refused ([`EditRefused`]) and the text stays as it was.
//!
//! Deliberately absent: pretty-printing of what was not touched, and guesses.
//!
//! A room may import the rooms of this package that its line names; `tests/cli/house` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`limits`] | how much a text may hold | nothing |
//! | [`node`] | the tree of a document | nothing |
//! | [`position`] | lines and columns | nothing |
//! | [`error`] | why a text is not read | `position` |
//! | [`scalar`] | what Kubernetes reads in a scalar | `node` |
//! | [`meaning`] | whether two nodes mean the same | `node` |
//! | [`readable`] | what objects are read from | `node` |
//! | [`manifest`] | the objects of a document | `node` |
//! | [`quoting`] | scalars on one line, in quotes where they need them | `node`, `scalar` |
//! | [`writer`] | values in block style | `node`, `quoting` |
//! | [`read`] | the general reader | `error`, `limits`, `node`, `position`, `scalar` |
//! | [`quick`] | the quick reader of everyday manifests | `limits`, `node`, `scalar` |
//! | [`file`] | a file: its text and its documents | `error`, `node`, `position`, `quick`, `read`, `scalar` |
//! | [`template`] | texts that are YAML once their expressions have values | `error`, `file`, `node`, `position`, `read` |
//! | [`inside`] | places in a string, as places of its file | `file` |
//! | [`comments`] | which comments there are, and which belong to what | `file`, `node` |
//! | [`source`] | the text under edit, and splices into it | `comments` |
//! | [`document_edit`] | what may be asked of documents | `node` |
//! | [`change`] | a batch as one tree of changes, and what it intends | `document_edit`, `meaning`, `node` |
//! | [`aliases`] | what shares its text with others, under edit | `change`, `document_edit`, `meaning`, `node` |
//! | [`batch`] | a batch of edits, sorted and checked | `change`, `comments`, `document_edit`, `file`, `node`, `source` |
//! | [`gate`] | what was made, read again and compared | `batch`, `change`, `file`, `meaning`, `node`, `read`, `source` |
//! | [`slot`] | where a value hangs | nothing |
//! | [`layout`] | how a document is indented | `node`, `read`, `slot`, `source`, `writer` |
//! | [`literal`] | block scalars, line by line | `node`, `quoting`, `slot`, `source`, `writer` |
//! | [`touch`] | a small change in a string of several lines | `file`, `node`, `source` |
//! | [`flow`] | collections in brackets | `change`, `node`, `quoting`, `source`, `writer` |
//! | [`splicer`] | from changes to splices | `change`, `flow`, `layout`, `literal`, `node`, `quoting`, `read`, `slot`, `source`, `touch`, `writer` |
//! | [`edit`] | edits behind the gate | `aliases`, `batch`, `change`, `document_edit`, `file`, `gate`, `node`, `position`, `slot`, `source`, `splicer` |
//! | [`carry`] | values that go elsewhere as text | `file`, `layout`, `node`, `quoting`, `source`, `writer` |

#![warn(missing_docs)]

mod aliases;
mod batch;
mod carry;
mod change;
pub mod comments;
mod document_edit;
mod edit;
mod error;
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
mod position;
mod quick;
mod quoting;
mod read;
mod readable;
pub mod scalar;
mod slot;
mod source;
mod splicer;
mod template;
mod touch;
mod writer;

pub use carry::{Carriage, Carried, as_arguments, emptied};
pub use comments::own_text;
pub use document_edit::{DocumentEdit, Edit, WrittenOut};
pub use edit::{EditRefused, edit, edit_telling};
pub use error::YamlError;
pub use file::{YamlFile, texts_alone};
pub use meaning::same_meaning;
pub use node::{Document, DuplicateKey, Entry, Node, NodeKind, Scalar, ScalarStyle, Span};
pub use position::Position;
pub use read::ReadKey;
pub use readable::Readable;
pub use template::with_words;
pub use writer::{flow_text, write};

pub use serde_json::Value;
