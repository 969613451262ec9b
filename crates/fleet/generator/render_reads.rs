//! What renders read outside of their clusters' folders: finds the clusters whose source differs between two snapshots,
//! wherever the difference is.
//!
//! A cluster is made of its folder and of what its render reads elsewhere: components, bases, patches and values that
//! it shares with others. The render of the earlier snapshot records what it read and found there. If a later snapshot
//! has the same content at those places, and the same folder, its render is the same. So one render a cluster is enough
//! for any number of later snapshots, and a snapshot that nobody has reviewed is never rendered.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use capstan_kustomize::render::{self, Folders, RenderError, RenderedFolder};
use capstan_model::ids::ClusterId;
use capstan_model::tree::{RepoPath, Tree, TreeId};

use super::bounded::Bounded;
use super::plan_cache::PlanCacheLimits;
use super::read_set::{ReadSet, RecordingTree};
use super::threads::on_all_cores;

/// What renders read outside of their clusters' folders.
pub struct RenderReads(Mutex<Bounded<Key, Arc<Reads>>>);

impl Default for RenderReads {
    fn default() -> Self {
        Self::new(PlanCacheLimits::default().read_bytes)
    }
}

/// A cluster by its folder and its content, so that those of several repositories do not meet.
type Key = (RepoPath, Option<TreeId>);

struct Reads {
    folders: Folders,
    read_set: ReadSet,
}

/// Gets calls around each render.
pub trait WatchRenders: Sync {
    fn begun(&self, cluster: &ClusterId);
    /// It is done.
    fn ended(&self, cluster: &ClusterId);
    /// Whether its render is not to be tried: it is known by its folder alone.
    fn skips(&self, cluster: &ClusterId) -> bool;
    /// Whether one render is begun after the other is done.
    fn one_by_one(&self) -> bool;
}

/// Ignores all calls.
pub struct NoWatch;

impl WatchRenders for NoWatch {
    fn begun(&self, _: &ClusterId) {}

    fn ended(&self, _: &ClusterId) {}

    fn skips(&self, _: &ClusterId) -> bool {
        false
    }

    fn one_by_one(&self) -> bool {
        false
    }
}

impl Reads {
    /// About how much memory it takes, with its key.
    fn bytes(&self) -> usize {
        const ITSELF: usize = 600;
        let Folders { cluster, base, overlay } = &self.folders;
        let paths = [cluster, cluster, base, overlay].map(|path| path.as_str().len());
        ITSELF + paths.iter().sum::<usize>() + self.read_set.bytes()
    }
}

impl RenderReads {
    /// A limit in bytes over all repositories: a cluster takes about a kilobyte, one whose render reads thousands of
    /// places far more.
    pub fn new(bytes: usize) -> Self {
        Self(Mutex::new(Bounded::new(bytes)))
    }

    fn known(&self) -> MutexGuard<'_, Bounded<Key, Arc<Reads>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Values that are not asked for from now on may make room.
    pub fn begin_round(&self) {
        self.known().begin_round();
    }

    /// Those of these clusters whose folder or whose render's other inputs differ between the snapshots.
    pub fn touched(
        &self,
        before: &dyn Tree,
        after: &dyn Tree,
        clusters: &[(ClusterId, Folders)],
        watch: &dyn WatchRenders,
    ) -> Vec<ClusterId> {
        self.begin_round();
        let differs = |(cluster, folders): &(ClusterId, Folders)| {
            let folder = before.folder_id(&folders.cluster);
            folder != after.folder_id(&folders.cluster)
                || folder.is_some()
                    && !watch.skips(cluster)
                    && !self.reads(before, cluster, folders, watch).read_set.holds_in(after)
        };
        let differ = if watch.one_by_one() {
            clusters.iter().map(differs).collect()
        } else {
            on_all_cores(clusters, differs)
        };
        let touched = clusters.iter().zip(differ).filter(|(_, differs)| *differs);
        touched.map(|((cluster, _), _)| cluster.clone()).collect()
    }

    /// Whether the render of a cluster is known: one that was kept read the same as it would read in this snapshot.
    pub fn is_known(&self, tree: &dyn Tree, folders: &Folders) -> bool {
        self.find(tree, folders).is_some()
    }

    /// Whether a cluster's render is known, and the same in both snapshots.
    pub fn is_same(&self, before: &dyn Tree, after: &dyn Tree, folders: &Folders) -> bool {
        before.folder_id(&folders.cluster) == after.folder_id(&folders.cluster)
            && self.find(before, folders).is_some_and(|reads| reads.read_set.holds_in(after))
    }

    /// Renders a cluster and keeps what that read, also where it came to nothing, but not where a file could not be
    /// had: it may be there the next time.
    ///
    /// # Errors
    /// As [`render::render`].
    pub fn render(&self, tree: &dyn Tree, folders: &Folders) -> Result<RenderedFolder, RenderError> {
        let recording = RecordingTree::beside(tree, &folders.cluster);
        let rendered = render::render(&recording, folders);
        if let Some(read_set) = recording.into_read_set() {
            self.keep(tree, folders, read_set);
        }
        rendered
    }

    /// What is known of a cluster's render, where it holds in this snapshot.
    fn find(&self, tree: &dyn Tree, folders: &Folders) -> Option<Arc<Reads>> {
        let known = self.known().get(&key(tree, folders))?;
        (known.folders == *folders && known.read_set.holds_in(tree)).then_some(known)
    }

    fn keep(&self, tree: &dyn Tree, folders: &Folders, read_set: ReadSet) -> Arc<Reads> {
        let reads = Arc::new(Reads { folders: folders.clone(), read_set });
        self.known().keep(key(tree, folders), Arc::clone(&reads), reads.bytes(), 0);
        reads
    }

    fn reads(
        &self,
        tree: &dyn Tree,
        cluster: &ClusterId,
        folders: &Folders,
        watch: &dyn WatchRenders,
    ) -> Arc<Reads> {
        if let Some(known) = self.find(tree, folders) {
            return known;
        }
        let recording = RecordingTree::beside(tree, &folders.cluster);
        watch.begun(cluster);
        // A render that fails has read something, too.
        let _rendered_or_not = render::render(&recording, folders);
        watch.ended(cluster);
        self.keep(tree, folders, recording.into_partial_read_set())
    }
}

fn key(tree: &dyn Tree, folders: &Folders) -> Key {
    (folders.cluster.clone(), tree.folder_id(&folders.cluster))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use capstan_test_support::Files;

    use super::*;

    #[derive(Default)]
    struct Counting(AtomicUsize);

    impl WatchRenders for Counting {
        fn begun(&self, _: &ClusterId) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        fn ended(&self, _: &ClusterId) {}
        fn skips(&self, _: &ClusterId) -> bool {
            false
        }
        /// Which of them is kept depends on which is done first.
        fn one_by_one(&self) -> bool {
            true
        }
    }

    /// Two clusters that read fifty files each beside their folders.
    #[test]
    fn what_does_not_fit_is_rendered_again_and_the_rest_is_not() {
        let path = |text: &str| RepoPath::parse(text).unwrap();
        let resources: Vec<String> = (0..50).map(|number| format!("../../shared/{number}.yaml")).collect();
        let kustomization = format!("resources: [{}]\n", resources.join(", "));
        let shared = (0..50).map(|number| {
            let text = format!("kind: ConfigMap\napiVersion: v1\nmetadata: {{name: c-{number}}}\n");
            (format!("shared/{number}.yaml"), text.into_bytes())
        });
        let of = |cluster: &str| {
            (format!("{cluster}/base/kustomization.yaml"), kustomization.clone().into_bytes())
        };
        let tree = Files::from_bytes(shared.chain([of("a"), of("b")]));
        let clusters = ["a", "b"].map(|name| {
            let folders = Folders {
                cluster: path(name),
                base: path(&format!("{name}/base")),
                overlay: path(&format!("{name}/overlay")),
            };
            (ClusterId::new(path(name)), folders)
        });
        let mut one = 0;
        for (bytes, begun) in [(1 << 20, 2), (0, 4)] {
            let (reads, watch) = (RenderReads::new(bytes), Counting::default());
            for _ in 0..2 {
                assert_eq!(reads.touched(&tree, &tree, &clusters, &watch), []);
            }
            assert_eq!(watch.0.into_inner(), begun, "{bytes} bytes");
            let known = reads.known().get(&key(&tree, &clusters[0].1));
            one = one.max(known.map_or(0, |known| known.bytes()));
        }
        assert!(one > 7_500, "what a render looked at counts: {one}");
        let (reads, watch) = (RenderReads::new(one + one / 2), Counting::default());
        for _ in 0..2 {
            reads.touched(&tree, &tree, &clusters, &watch);
        }
        assert_eq!(watch.0.into_inner(), 3, "one of them fits");
    }
}
