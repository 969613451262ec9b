//! Where a Fleet's tree comes from: the bot's archive, a Git URL, or the objects of an inventory in the cluster.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use capstan_model::tree::{CommitId, Tree};

/// A tree that was fetched whole, with the commit that it is the content of.
#[derive(Clone)]
pub struct SourceTree {
    pub commit: CommitId,
    /// Its content; from a bot only the claimed folders and what their render reads.
    pub tree: Arc<dyn Tree>,
}

/// Why a source gives no tree. Never holds a key, a token or a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// It does not answer, or refuses what it was shown: worth another try later.
    #[error("{source_name} cannot be read: {reason}")]
    Away {
        /// The URL without credentials.
        source_name: String,
        /// Why.
        reason: String,
    },
    /// It answers, and has no such branch or commit.
    #[error("{source_name} has no {what}")]
    Missing {
        /// The URL without credentials.
        source_name: String,
        /// `branch main`, `commit 12ab…`.
        what: String,
    },
    /// The Fleet says something that cannot be followed: a wrong URL, a Secret that is not there.
    #[error("{0}")]
    Settings(String),
    /// A live inventory was read whole, and is not valid.
    #[error("the inventory cannot be read as a whole: {0}")]
    Inventory(String),
    /// The copy on disk cannot be read or written.
    #[error("the copy in the state directory: {0}")]
    Disk(String),
}

impl SourceError {
    /// A word of a closed set, for metrics and conditions.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Away { .. } => "SourceAway",
            Self::Missing { .. } => "SourceMissing",
            Self::Settings(_) => "SourceSettings",
            Self::Inventory(_) => "InventoryUnreadable",
            Self::Disk(_) => "StateDirectory",
        }
    }
}

/// Where a Fleet's tree comes from.
///
/// *Guarantee*: what [`Self::keep`] kept last stays on disk until something else is kept, and [`Self::kept`] gives it
/// after a restart without asking anybody.
#[async_trait]
pub trait TreeSource: Send + Sync {
    /// The tree that was kept last, from disk; `None` where there is none.
    async fn kept(&self) -> Result<Option<SourceTree>, SourceError>;
    /// The newest tree; costs one short request where nothing is new. It is not kept before somebody opened it.
    async fn fetch(&self) -> Result<SourceTree, SourceError>;
    /// Keeps the tree that was fetched last, where it is of that commit: it was opened.
    async fn keep(&self, commit: &CommitId) -> Result<(), SourceError>;
    /// The tree of another commit, for a preflight; what [`Self::kept`] gives stays.
    async fn at(&self, commit: &CommitId) -> Result<SourceTree, SourceError>;
    /// Returns as soon as something newer than `after` may be there, or after `patience`. A source that
    /// cannot tell waits for `patience`.
    async fn wait(&self, after: Option<&CommitId>, patience: Duration);
}
