//! The reconciler's use cases.
pub mod names;
pub mod ports { mod source; pub use source::{SourceError, SourceTree, TreeSource}; }
pub mod revision;
