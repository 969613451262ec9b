//! Many clusters at once, on all cores.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use capstan_domain::cluster::{ClusterId, ReleaseName};
use capstan_domain::upgrade::Upgrade;

use super::{Fleet, Planned, Refused};

impl Fleet {
    /// Plans several clusters; results in the order of the ids. `progress` is called once a cluster,
    /// from any thread.
    pub fn plan_all(
        &self,
        clusters: &[ClusterId],
        asked: Option<&ReleaseName>,
        progress: &(dyn Fn() + Sync),
    ) -> Vec<Planned> {
        on_all_cores(clusters, |id| {
            let planned = self.plan(id, asked);
            progress();
            planned
        })
    }

    /// The plans of several clusters for the releases that they are offered, known ones recalled; in the
    /// order of the ids.
    pub fn plan_or_recall_all(&self, clusters: &[ClusterId]) -> Vec<Result<Arc<Upgrade>, Refused>> {
        on_all_cores(clusters, |id| self.plan_or_recall(id))
    }
}

/// What `one` makes of each cluster, in their order.
fn on_all_cores<T: Send>(clusters: &[ClusterId], one: impl Fn(&ClusterId) -> T + Sync) -> Vec<T> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(clusters.len());
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<T>>> = Mutex::new(clusters.iter().map(|_| None).collect());
    let work = || {
        while let Some((index, id)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            clusters.get(index).map(|id| (index, id))
        } {
            let result = one(id);
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(slot) = results.get_mut(index) {
                *slot = Some(result);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
}
