//! Snapshots of mirrors that another process fetched.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use capstan_model::tree::{Folder, StoredTree, Tree};
use capstan_model::wording::with_causes;

use super::commit_tree::{CommitTree, ListError};
use super::objects::open_isolated;
use super::objects::{Objects, object_id};
use capstan_fleet::planner::process::StoredTrees;

/// So many mirrors stay open.
const OPEN: usize = 64;

/// Mirrors that are open, and what was listed of each last.
#[derive(Default)]
pub struct OpenedTrees {
    mirrors: HashMap<PathBuf, OpenedStore>,
}

struct OpenedStore {
    objects: Arc<Objects>,
    listed: Option<Arc<Folder>>,
}

impl OpenedStore {
    fn at(git_dir: &Path) -> Result<Self, String> {
        let repository = open_isolated(git_dir).map_err(|error| with_causes(&error))?;
        Ok(Self { objects: Objects::new(repository), listed: None })
    }

    /// `Ok(None)` where it is not there.
    fn list(&mut self, stored: &StoredTree) -> Result<Option<Arc<dyn Tree>>, ListError> {
        let id = object_id(stored.tree.as_str())
            .ok_or_else(|| ListError::Broken(format!("{} is not a tree", stored.tree)))?;
        let Some(tree) = CommitTree::list(Arc::clone(&self.objects), id, self.listed.as_ref())? else {
            return Ok(None);
        };
        self.listed = Some(Arc::clone(tree.folder()));
        Ok(Some(Arc::new(tree)))
    }
}

impl StoredTrees for OpenedTrees {
    fn open(&mut self, stored: &StoredTree) -> Result<Arc<dyn Tree>, String> {
        let known = self.mirrors.get_mut(&stored.git_dir).filter(|known| !known.objects.is_damaged());
        match known.map(|known| known.list(stored)) {
            Some(Ok(Some(tree))) => return Ok(tree),
            Some(Err(error @ ListError::TooLarge(_))) => return Err(error.to_string()),
            // A later fetch may be in a pack that it does not know, or has no room for (gix' table of packs
            // does not grow), or in a mirror that replaced the opened one.
            Some(Ok(None) | Err(ListError::Broken(_))) | None => {}
        }
        if self.mirrors.len() >= OPEN {
            self.mirrors.clear();
        }
        let mut anew = OpenedStore::at(&stored.git_dir)?;
        let tree = anew.list(stored).map_err(|error| error.to_string())?;
        self.mirrors.insert(stored.git_dir.clone(), anew);
        tree.ok_or_else(|| format!("the mirror {} does not hold {}", stored.git_dir.display(), stored.tree))
    }

    fn take_damage(&mut self) -> bool {
        let before = self.mirrors.len();
        self.mirrors.retain(|_, mirror| !mirror.objects.is_damaged());
        self.mirrors.len() < before
    }
}
