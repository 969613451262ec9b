//! Many items at once, on all cores.
//!
//! Results come in the order of the items. Where one takes long, those behind it wait in memory: another order
//! from run to run would cost people more than the memory.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// How many shares of the work may wait to be taken, besides those that come before an earlier one.
const WAITING: usize = 16;

/// Items that a thread takes at a time where there are many: handing one result over costs two changes of thread.
const SHARE: usize = 16;

/// Threads of this process that plan or render at a time.
static THREADS: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Limits the threads of this process that plan and render, however many cores there are: each has a stack, which
/// counts if the memory of the process is limited.
pub fn limit_threads(most: usize) {
    THREADS.store(most.max(1), Ordering::Relaxed);
}

/// What `one` makes of each item, in their order.
pub(super) fn on_all_cores<I: Sync, T: Send>(items: &[I], one: impl Fn(&I) -> T + Sync) -> Vec<T> {
    let mut results = Vec::with_capacity(items.len());
    let Ok(()) = in_order(items, one, |result| {
        results.push(result);
        Ok::<(), Infallible>(())
    });
    results
}

/// The same; `take` gets each result on this thread, and ends the work with an error.
pub(super) fn in_order<I: Sync, T: Send, E>(
    items: &[I],
    one: impl Fn(&I) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = cores.min(THREADS.load(Ordering::Relaxed)).min(items.len());
    if threads < 2 {
        return items.iter().map(one).try_for_each(take);
    }
    let shares: Vec<&[I]> = items.chunks((items.len() / (16 * threads)).clamp(1, SHARE)).collect();
    let next = AtomicUsize::new(0);
    let (sender, results) = mpsc::sync_channel(WAITING);
    let work = |sender: mpsc::SyncSender<(usize, Vec<T>)>| {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(share) = shares.get(index) else { break };
            // The receiver is gone.
            if sender.send((index, share.iter().map(&one).collect())).is_err() {
                break;
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            let sender = sender.clone();
            let work = &work;
            scope.spawn(move || work(sender));
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut due = 0;
        for (index, share) in results {
            early.insert(index, share);
            while let Some(share) = early.remove(&due) {
                share.into_iter().try_for_each(&mut take)?;
                due += 1;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items_even_if_some_are_slow() {
        let items: Vec<u64> = (0..2_000).collect();
        let slow = |item: &u64| {
            if item.is_multiple_of(500) {
                thread::sleep(Duration::from_millis(5));
            }
            item * 2
        };
        let doubled: Vec<u64> = (0..2_000).map(|item| item * 2).collect();
        assert_eq!(on_all_cores(&items, slow), doubled);
    }

    #[test]
    fn who_takes_no_more_ends_the_work() {
        let made = AtomicUsize::new(0);
        let items = vec![(); 100_000];
        let one = |(): &()| made.fetch_add(1, Ordering::Relaxed);
        let mut taken = 0;
        let end = in_order(&items, one, |_| {
            taken += 1;
            if taken == 3 { Err("enough") } else { Ok(()) }
        });
        assert_eq!((end, taken), (Err("enough"), 3));
        assert!(made.into_inner() < 100_000);
    }
}
