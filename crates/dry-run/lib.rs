//! GitHub and Git as they would be: `capstan serve --dry-run` reads through, and writes nothing.
//!
//! [`DryRun`] is between the use cases and the adapters. A read returns what exists, with what was "written"
//! in this process laid over it; a write is logged in one line, remembered, and answered as GitHub would
//! answer. So a run reaches its end, and the next one finds what this one did and does not repeat it.
//!
//! *Guarantees.* No write reaches GitHub: each method of the port that writes ends here, and a new one does
//! not compile without an implementation; capabilities that are passed through only read. Invented ids never
//! leave the process: a read that names one is answered from memory. The log contains no text of people and
//! no secret: only kind, place and size.
//!
//! *Limits.* What was written is forgotten where a person changes the same thing meanwhile, for then GitHub's own state
//! counts. Nobody else answers what was not written: no webhook follows, no review, no merge.

mod checks;
mod commits;
mod conversation;
mod host;
mod issues;
mod merging;
mod mirror;
mod overlay;
mod pulls;
mod sidebar;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use capstan_model::digest::{digest, sha256};
use capstan_model::file_change::FileChange;
use capstan_model::tree::{CommitId, Tree, TreeId};

use self::overlay::{Overlay, Overlays};
use capstan_ports::{Clock, CodeHost, CodeHostError, Mirror, Repository};

type HostResult<T> = Result<T, CodeHostError>;

/// Makes a snapshot as it is after changes; `None` where an id cannot be computed.
pub type Changed = fn(Arc<dyn Tree>, &TreeId, &[FileChange]) -> Option<Arc<dyn Tree>>;

/// Host and mirror that write nothing.
pub struct DryRun {
    host: Arc<dyn CodeHost>,
    mirror: Arc<dyn Mirror>,
    clock: Arc<dyn Clock>,
    changed: Changed,
    written: Mutex<Overlays>,
}

impl DryRun {
    /// Over the real ones, of which it only reads.
    pub fn over(
        host: Arc<dyn CodeHost>,
        mirror: Arc<dyn Mirror>,
        clock: Arc<dyn Clock>,
        changed: Changed,
    ) -> Arc<Self> {
        Arc::new(Self { host, mirror, clock, changed, written: Mutex::default() })
    }

    fn overlays(&self) -> MutexGuard<'_, Overlays> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was written to a repository.
    fn read<T>(&self, repository: &Repository, read: impl FnOnce(&Overlay) -> T) -> T {
        read(self.overlays().of(repository.id))
    }

    fn note<T>(&self, repository: &Repository, note: impl FnOnce(&mut Overlay) -> T) -> T {
        note(self.overlays().of(repository.id))
    }
}

/// Tells of a write that is not made: which, where, how large.
fn tell(repository: &Repository, write: &'static str, on: &str, bytes: usize) {
    tracing::info!(repository = %repository.name, write, on, bytes, "dry run: not written");
}

/// An id of what was not written: forty hex digits of its content, as Git's are.
fn commit_id(parts: &[&str]) -> Result<CommitId, CodeHostError> {
    CommitId::parse(&made_up(parts)).map_err(|_| no_id("a commit"))
}

fn tree_id(parts: &[&str]) -> Result<TreeId, CodeHostError> {
    TreeId::parse(&made_up(parts)).map_err(|_| no_id("a tree"))
}

fn made_up(parts: &[&str]) -> String {
    sha256(format!("dry run {}", digest(parts))).chars().take(40).collect()
}

fn no_id(what: &str) -> CodeHostError {
    CodeHostError::Unexpected {
        doing: format!("making up the id of {what} for a dry run"),
        status: 0,
        reason: "it is none".to_owned(),
    }
}
