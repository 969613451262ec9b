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
        on_all_cores(clusters, |id| {
            let planned = self.plan(id, asked);
            progress();
            planned
        })
    }
}

/// What `one` makes of each item, in their order.
pub(super) fn on_all_cores<I: Sync, T: Send>(items: &[I], one: impl Fn(&I) -> T + Sync) -> Vec<T> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(items.len());
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<T>>> = Mutex::new(items.iter().map(|_| None).collect());
    let work = || {
        while let Some((index, item)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            items.get(index).map(|item| (index, item))
        } {
            let result = one(item);
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
