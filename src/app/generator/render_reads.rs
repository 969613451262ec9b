//! Which clusters are made of something else in one snapshot than in another, wherever that lies.
//!
//! A cluster is made of its folder and of what its render reads elsewhere: components, bases, patches and values that it
//! shares with others. What the render of the earlier snapshot looked at, and what it found there, tells: where a later
//! snapshot has the same at the same places, and the same folder, its render is the same. So one render a cluster is
//! enough for any number of later snapshots, and none of a snapshot that nobody has reviewed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use capstan_kustomize::render::{self, Folders};
use capstan_model::ids::ClusterId;
use capstan_model::tree::{Tree, TreeId};

use super::plan_each::on_all_cores;
use super::read_set::{ReadSet, RecordingTree};

/// So many clusters are remembered, of all repositories: about a kilobyte each.
const REMEMBERED: usize = 20_000;

/// What renders looked at outside of their clusters' folders.
#[derive(Default)]
pub struct RenderReads(Mutex<HashMap<Key, Arc<Reads>>>);

/// A cluster by its id and its content, so that those of several repositories do not meet.
type Key = (ClusterId, Option<TreeId>);

struct Reads {
    folders: Folders,
    looked_at: ReadSet,
}

/// Hears whose render is worked on.
pub trait WatchRenders: Sync {
    /// It is begun with.
    fn begun(&self, cluster: &ClusterId);
    /// It is done.
    fn ended(&self, cluster: &ClusterId);
    /// Whether its render is not to be tried: it is known by its folder alone.
    fn skips(&self, cluster: &ClusterId) -> bool;
    /// Whether one render is begun after the other is done.
    fn one_by_one(&self) -> bool;
}

/// Nobody listens.
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

impl RenderReads {
    /// Those of these clusters whose folder or whose render's other inputs differ between the snapshots.
    pub fn touched(
        &self,
        before: &dyn Tree,
        after: &dyn Tree,
        clusters: &[(ClusterId, Folders)],
        watch: &dyn WatchRenders,
    ) -> Vec<ClusterId> {
        let differs = |(cluster, folders): &(ClusterId, Folders)| {
            let folder = before.folder_id(&folders.cluster);
            folder != after.folder_id(&folders.cluster)
                || folder.is_some()
                    && !watch.skips(cluster)
                    && !self.reads(before, cluster, folder, folders, watch).looked_at.holds_in(after)
        };
        let differ = if watch.one_by_one() {
            clusters.iter().map(differs).collect()
        } else {
            on_all_cores(clusters, differs)
        };
        let touched = clusters.iter().zip(differ).filter(|(_, differs)| *differs);
        touched.map(|((cluster, _), _)| cluster.clone()).collect()
    }

    fn reads(
        &self,
        tree: &dyn Tree,
        cluster: &ClusterId,
        folder: Option<TreeId>,
        folders: &Folders,
        watch: &dyn WatchRenders,
    ) -> Arc<Reads> {
        let key = (cluster.clone(), folder);
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(known) = known
            && known.folders == *folders
            && known.looked_at.holds_in(tree)
        {
            return known;
        }
        let recording = RecordingTree::beside(tree, &folders.cluster);
        watch.begun(cluster);
        // What cannot be rendered has looked at something all the same.
        let _rendered_or_not = render::render(&recording, folders);
        watch.ended(cluster);
        let reads = Arc::new(Reads { folders: folders.clone(), looked_at: recording.into_looked_at() });
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= REMEMBERED {
            all.clear();
        }
        all.insert(key, Arc::clone(&reads));
        reads
    }
}
