//! Snapshots as they are named between processes.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_model::tree::{OutsidePath, StoredTree, Tree};
use capstan_plan::release::ReleaseContent;
use serde::{Deserialize, Serialize};

use super::StoredTrees;
use crate::generator::{Content, WrittenTree};

/// A snapshot: where it is, or all of it where only the bot has it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TreeRef(NamedTree);

#[derive(Debug, Clone, Serialize, Deserialize)]
enum NamedTree {
    Stored(StoredTree),
    Written(WrittenTree),
}

/// An old release's content.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WrittenRelease {
    folder: TreeRef,
    reads: BTreeMap<OutsidePath, Content>,
}

impl TreeRef {
    /// Names a snapshot.
    pub fn of(tree: &dyn Tree) -> Self {
        Self(match tree.stored() {
            Some(stored) => NamedTree::Stored(stored),
            None => NamedTree::Written(WrittenTree::everything(tree)),
        })
    }

    /// Its place in a mirror, if it has one.
    pub const fn stored(&self) -> Option<&StoredTree> {
        match &self.0 {
            NamedTree::Stored(stored) => Some(stored),
            NamedTree::Written(_) => None,
        }
    }

    pub(super) fn open(self, stored: &mut dyn StoredTrees) -> Result<Arc<dyn Tree>, String> {
        match self.0 {
            NamedTree::Stored(named) => stored.open(&named),
            NamedTree::Written(tree) => Ok(Arc::new(tree)),
        }
    }
}

impl From<&ReleaseContent> for WrittenRelease {
    fn from(content: &ReleaseContent) -> Self {
        let reads = content.reads.iter();
        Self {
            folder: TreeRef::of(content.folder.as_ref()),
            reads: reads.map(|(path, bytes)| (path.clone(), Content(Ok(Arc::clone(bytes))))).collect(),
        }
    }
}

impl WrittenRelease {
    pub(super) fn open(self, stored: &mut dyn StoredTrees) -> Result<ReleaseContent, String> {
        let reads = self.reads.into_iter().filter_map(|(path, Content(bytes))| Some((path, bytes.ok()?)));
        Ok(ReleaseContent { folder: self.folder.open(stored)?, reads: reads.collect() })
    }
}
