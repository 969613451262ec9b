//! What the loops over objects of the management cluster have in common: watches whose changes they hear, changes that are
//! gathered, and the look that comes once watches are open.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use capstan_ports::{As, LiveChange, ManagementCluster as _, Post};
use capstan_reconciler::gate::Gate;
use futures_util::StreamExt as _;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

/// A change between a look and the opening of its watches has no event: one more look follows.
const OPENING: Duration = Duration::from_secs(5);
/// Several changes at once make one look.
const GATHERING: Duration = Duration::from_millis(100);
/// Changes that wait to be heard.
const BACKLOG: usize = 1_000;

/// When it is looked once more, because watches were opened.
#[derive(Default)]
pub(super) struct SecondLook(Option<Instant>);

impl SecondLook {
    /// Watches are being opened.
    pub(super) fn begin(&mut self) {
        self.0 = Some(Instant::now() + OPENING);
    }

    /// When the next look is, at the latest.
    pub(super) fn or_at(&self, next: Instant) -> Instant {
        self.0.map_or(next, |opening| opening.min(next))
    }

    /// Whether the time of that look has come; it comes once.
    pub(super) fn has_come(&mut self) -> bool {
        self.0.take_if(|opening| *opening <= Instant::now()).is_some()
    }

    /// Everything was read.
    pub(super) fn end(&mut self) {
        self.0 = None;
    }
}

/// Watches whose changes one loop hears.
pub(super) struct Watches {
    live: Arc<Gate>,
    sender: mpsc::Sender<LiveChange>,
    heard: mpsc::Receiver<LiveChange>,
    /// Those of single namespaces, with whose rights.
    namespaces: BTreeMap<String, (As, AbortHandle)>,
    /// The number of watches.
    most: usize,
    /// Whether it was said that there are more.
    has_warned_of_limit: bool,
    /// Dropped with this, and the watches with them.
    tasks: JoinSet<()>,
}

impl Watches {
    /// None yet; of single namespaces at most so many.
    pub(super) fn new(live: &Arc<Gate>, most: usize) -> Self {
        let (sender, heard) = mpsc::channel(BACKLOG);
        let (namespaces, tasks) = (BTreeMap::new(), JoinSet::new());
        Self { live: Arc::clone(live), sender, heard, namespaces, most, has_warned_of_limit: false, tasks }
    }

    /// Watches what is worth it, as that changes.
    pub(super) fn follow(&mut self, by: As, posts: watch::Receiver<BTreeSet<Post>>) -> AbortHandle {
        let mut changes = self.live.watch_posts(by, posts);
        let sender = self.sender.clone();
        self.tasks.spawn(async move {
            while let Some(change) = changes.next().await {
                if sender.send(change).await.is_err() {
                    return;
                }
            }
        })
    }

    /// Watches these posts in these namespaces, with these rights, and in no others; whether one of them is new.
    pub(super) fn turn_to(
        &mut self,
        wanted: BTreeMap<String, As>,
        posts: impl Fn(&str) -> BTreeSet<Post>,
    ) -> bool {
        self.namespaces.retain(|namespace, (by, task)| {
            let stays = wanted.get(namespace) == Some(by);
            if !stays {
                task.abort();
            }
            stays
        });
        let mut is_any_new = false;
        for (namespace, by) in wanted {
            if self.namespaces.contains_key(&namespace) {
                continue;
            }
            if self.namespaces.len() >= self.most {
                if !std::mem::replace(&mut self.has_warned_of_limit, true) {
                    let most = self.most;
                    tracing::warn!(
                        namespace,
                        most,
                        "Capstan watches no more namespaces: changes in the others are seen only at the interval"
                    );
                }
                break;
            }
            let (_, posts) = watch::channel(posts(&namespace));
            let task = self.follow(by.clone(), posts);
            self.namespaces.insert(namespace, (by, task));
            is_any_new = true;
        }
        is_any_new
    }

    /// The next change. It is not lost where somebody stops waiting for it.
    pub(super) async fn heard(&mut self) -> Option<LiveChange> {
        self.heard.recv().await
    }

    /// Waits for news, until then at most; whether there was any. What comes together is gathered. `is_news` takes in each
    /// change.
    pub(super) async fn wait(
        &mut self,
        until: Instant,
        stop: &CancellationToken,
        mut is_news: impl FnMut(&LiveChange) -> bool,
    ) -> bool {
        loop {
            let change = tokio::select! {
                () = stop.cancelled() => return false,
                change = timeout_at(until, self.heard()) => change,
            };
            match change {
                Ok(Some(change)) if is_news(&change) => break,
                Ok(_) => {}
                Err(_) => return false,
            }
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.gather(until, is_news) => {}
        }
        true
    }

    /// Takes in what comes together with something that was heard, until then at most.
    pub(super) async fn gather(&mut self, until: Instant, mut is_news: impl FnMut(&LiveChange) -> bool) {
        let until = until.min(Instant::now() + GATHERING);
        while let Ok(Some(change)) = timeout_at(until, self.heard()).await {
            let _news = is_news(&change);
        }
        sleep_until(until).await;
    }
}
