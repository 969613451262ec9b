//! Many clusters at once, on all cores.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use capstan_domain::cluster::{ClusterId, ReleaseName};

use super::{Fleet, Planned};

impl Fleet {
    /// Plans several clusters; results in the order of the ids. `progress` is called once a cluster,
    /// from any thread.
    pub fn plan_all(
        &self,
        clusters: &[ClusterId],
        asked: Option<&ReleaseName>,
        progress: &(dyn Fn() + Sync),
    ) -> Vec<Planned> {
        let threads = thread::available_parallelism().map_or(1, NonZero::get).min(clusters.len());
        let next = AtomicUsize::new(0);
        let results: Mutex<Vec<Option<Planned>>> = Mutex::new(clusters.iter().map(|_| None).collect());
        let work = || {
            while let Some((index, id)) = {
                let index = next.fetch_add(1, Ordering::Relaxed);
                clusters.get(index).map(|id| (index, id))
            } {
                let planned = self.plan(id, asked);
                progress();
                let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(slot) = results.get_mut(index) {
                    *slot = Some(planned);
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
}
