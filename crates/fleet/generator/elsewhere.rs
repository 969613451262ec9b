//! ClusterClasses that are elsewhere than the Clusters that name them. They are looked up once for all clusters of a
//! snapshot, and carried over to the next one if nothing that was read for them has changed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use capstan_kustomize::render::RenderedObject;
use capstan_model::ids::ClusterId;
use capstan_model::tree::Tree;
use capstan_plan::classes::{ClassIndex, ClassRef, FoundClass, Root, look_up};
use capstan_plan::layout::Layout;

use super::following::Next;
use super::read_set::{ReadSet, RecordingTree};

/// A class, and what is applied with it.
type Asked = (ClassRef, BTreeSet<Root>);

/// The classes that were looked up.
#[derive(Debug, Default)]
pub(super) struct Lookups {
    index: OnceLock<Arc<ClassIndex>>,
    known: Mutex<BTreeMap<Asked, Known>>,
    /// What was rendered last: a folder may hold hundreds of classes.
    rendered: Mutex<VecDeque<(Root, RenderedRoot)>>,
}

/// How many renders are kept.
const RENDERS: usize = 16;

/// What is applied with a root, and what was read for that; `None` where a file could not be had.
#[derive(Debug, Clone)]
struct RenderedRoot {
    objects: Arc<Result<Vec<RenderedObject>, String>>,
    read: Option<Arc<ReadSet>>,
}

/// What was found, and the files and folders that were read for it.
#[derive(Debug, Clone)]
struct Known {
    found: Arc<FoundClass>,
    looked: Arc<ReadSet>,
}

pub(super) struct Answer {
    pub(super) found: (ClassRef, Arc<FoundClass>),
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
        let mut read = Some(ReadSet::default());
        let found = Arc::new(look_up(&asked.0, &asked.1, |root| {
            let rendered = self.render(tree, layout, root);
            match (&mut read, rendered.read) {
                (Some(all), Some(of_root)) => all.extend(ReadSet::clone(&of_root)),
                _ => read = None,
            }
            rendered.objects
        }));
        let failed = read.is_none();
        if let Some(read) = read {
            let known = Known { found: Arc::clone(&found), looked: Arc::new(read) };
            lock(&self.known).insert(asked.clone(), known);
        }
        Answer { found: (asked.0, found), failed }
    }

    fn render(&self, tree: &dyn Tree, layout: &Layout, root: &Root) -> RenderedRoot {
        if let Some((_, known)) = lock(&self.rendered).iter().find(|(known, _)| known == root) {
            return known.clone();
        }
        let reads = RecordingTree::outside(tree);
        let objects = Arc::new(root.render(&reads, layout));
        let rendered = RenderedRoot { objects, read: reads.into_read_set().map(Arc::new) };
        if rendered.read.is_some() {
            let mut last = lock(&self.rendered);
            last.push_front((root.clone(), rendered.clone()));
            last.truncate(RENDERS);
        }
        rendered
    }

    /// What of this holds for the next snapshot too.
    pub(super) fn follow(&self, next: &Next<'_>) -> Self {
        let mut known = lock(&self.known).clone();
        known.retain(|_, known| known.looked.holds_in(next.tree));
        let followed = Self { known: Mutex::new(known), ..Self::default() };
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
