//! ClusterClasses that lie elsewhere than the Clusters that name them: looked up once for all clusters of a
//! snapshot, and carried over to the next one where nothing that they were told from has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use capstan_model::ids::ClusterId;
use capstan_model::tree::Tree;
use capstan_plan::classes::{ClassIndex, ClassRef, Found, Root, look_up};
use capstan_plan::layout::Layout;

use super::Fleet;
use super::following::Next;
use super::read_set::{ReadSet, RecordingTree};

/// A class, and what is applied with it.
type Asked = (ClassRef, BTreeSet<Root>);

/// The classes that somebody asked for.
#[derive(Debug, Default)]
pub(super) struct Lookups {
    index: OnceLock<Arc<ClassIndex>>,
    known: Mutex<BTreeMap<Asked, Known>>,
}

/// What was found, and the files and folders that were looked at for it.
#[derive(Debug, Clone)]
struct Known {
    found: Arc<Found>,
    looked: Arc<ReadSet>,
}

/// An answer.
pub(super) struct Answer {
    pub(super) found: (ClassRef, Arc<Found>),
    /// Whether it may be another one next time, because a file could not be had.
    pub(super) failed: bool,
}

impl Lookups {
    pub(super) fn index(&self, tree: &dyn Tree, layout: &Layout) -> &ClassIndex {
        self.index.get_or_init(|| Arc::new(ClassIndex::read(tree, layout)))
    }

    /// What a class is for a cluster that names it and lacks it.
    pub(super) fn find(
        &self,
        tree: &dyn Tree,
        layout: &Layout,
        class: ClassRef,
        cluster: &ClusterId,
    ) -> Answer {
        let roots = self.index(tree, layout).roots(&class, Some(cluster));
        let asked = (class, roots);
        let known = lock(&self.known).get(&asked).cloned();
        if let Some(Known { found, .. }) = known {
            return Answer { found: (asked.0, found), failed: false };
        }
        let reads = RecordingTree::outside(tree);
        let found = Arc::new(look_up(&reads, layout, &asked.0, &asked.1));
        let looked = reads.into_read_set();
        let failed = looked.is_none();
        if let Some(looked) = looked {
            let known = Known { found: Arc::clone(&found), looked: Arc::new(looked) };
            lock(&self.known).insert(asked.clone(), known);
        }
        Answer { found: (asked.0, found), failed }
    }

    /// What of this holds for the next snapshot too.
    pub(super) fn follow(&self, next: &Next<'_>) -> Self {
        let mut known = lock(&self.known).clone();
        known.retain(|_, known| known.looked.holds_in(next.tree));
        let followed = Self { index: OnceLock::new(), known: Mutex::new(known) };
        if let Some(index) = self.index.get()
            && !next.changed.iter().any(|path| index.may_change(next.tree, next.layout, path))
        {
            let _ = followed.index.set(Arc::clone(index));
        }
        followed
    }

    /// Whether all that was found here holds in what [followed](Self::follow).
    pub(super) fn all_hold_in(&self, followed: &Self) -> bool {
        let all = lock(&self.known).len();
        let index = self.index.get().is_none() || followed.index.get().is_some();
        index && lock(&followed.known).len() >= all
    }
}

impl Fleet {
    /// What a class is that a cluster names and lacks.
    pub(super) fn class_elsewhere(&self, class: ClassRef, cluster: &ClusterId) -> Answer {
        self.wide.elsewhere.find(self.tree.as_ref(), &self.layout, class, cluster)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
