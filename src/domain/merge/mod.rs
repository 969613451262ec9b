//! The three-way merge: of objects, fields, lists and templated scalars.
//!
//! Three inputs per object: the **O**ld release, the **C**luster's base, the **N**ew release. The room
//! decides what of N goes into C and why; it writes no file. One idea a file:
//!
//! | file | idea |
//! |---|---|
//! | [`source`] | a release's pieces and what they wrap |
//! | [`overlay`] | a release's overlay over its base |
//! | [`variables`] | templated scalars and what binds them |
//! | [`lists`] | how lists merge, by table |
//!
//! Deliberately absent: text. The cluster's bytes are touched by edits alone (`crate::yaml`).

pub(crate) mod lists;
pub(crate) mod overlay;
pub(crate) mod source;
pub(crate) mod variables;

pub use source::{Source, SourceFacts};
