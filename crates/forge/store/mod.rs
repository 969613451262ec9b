//! One bare Git repository on disk: objects through gix, references as loose files, and the `git` program for
//! what only it does well (three-way merges, patches, walks and the wire protocol).
//!
//! Nothing here knows about pull requests or events.

mod bare;
mod commit;
mod error;
mod history;
mod process;
mod references;
mod trees;

pub(crate) use self::bare::Store;
pub(crate) use self::commit::{Commit, NewCommit, Signature, parse_id};
pub use self::error::StoreError;
pub(crate) use self::process::run;
pub(crate) use self::trees::{FileChange, StoredTreeEntry};
