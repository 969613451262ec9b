//! Watching objects of any kinds for changes.
//!
//! # Expected flow
//! Each kind is listed once, its metadata alone; then its watch is followed from that version on
//! ([`follower`]). A watch that ends (the API server ends each after some minutes) is opened again where it
//! stopped. When that place is no longer known (the server was away for long, or its store was compacted),
//! the kind is listed again and compared with what was remembered: changes since then are reported.
//!
//! A kind is watched in the whole management cluster with the reconciler's own rights. Where it has none to (to
//! watch every Secret is to be able to read every Secret), the kind is watched in each namespace that objects of it
//! are applied in, as the service account that applies them there: so nobody needs a right beyond a namespace. Such
//! watches take a connection each and are bounded ([`namespace_watches`]). Either right is asked for again now and then, ever
//! more seldom; once the whole may be watched, the parts end.
//!
//! # Guarantees
//! Objects that exist when the watch begins are not reported. After that no change is missed for ever;
//! several changes of one object may be reported as one. In a quiet cluster the only calls are those that
//! open each watch again.
//!
//! # Caveats
//! Only metadata travels: generation, labels, annotations, owners, finalizers and the deletion mark show what
//! changed. A kind without a generation (ConfigMap, Secret) counts every write as a change of the spec. A
//! change while a right is missing, or between one kind of watch and the other, is not reported.

mod follower;
mod lines;
mod memory;
mod namespace_watches;
mod posts;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use capstan_model::doubling::Doubling;
use futures_util::stream;
use rand::RngExt as _;
use tokio::sync::watch::Receiver;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;

use self::follower::{FollowEnd, Follower, Post, Report};
use self::namespace_watches::{NamespaceWatches, StateCount};
pub(super) use self::posts::watch_posts;
use super::cluster::KubeCluster;
use capstan_ports::{ApiKind, As, LiveChange, LiveChanges, ServiceAccount, Watched};

/// How many changes may wait for their reader; then the watches wait.
const BACKLOG: usize = 4096;
/// How many lists and beginnings of watches are under way at a time: after a restart of the API server all want to.
const BEGINNINGS: usize = 16;
/// The pause after a watch was refused once.
const FIRST_REST: Duration = Duration::from_secs(60);
/// The longest pause before a whole kind is asked for again, of which there are a few.
const WHOLE_REST: Duration = Duration::from_secs(300);
/// The pauses before a whole kind is asked for again that was refused.
const WHOLE: Doubling = Doubling::new(FIRST_REST, WHOLE_REST);
/// The pauses before a namespace is asked for again, of which there may be thousands. A right that was granted in the
/// meantime is noticed at the end of one, or after a restart; until then drift there is found at the interval.
const PARTS: Doubling = Doubling::new(FIRST_REST, Duration::from_secs(3600));

/// Watches these kinds: in all namespaces, or in one and nowhere else.
pub(super) fn watch(
    cluster: KubeCluster,
    namespace: Option<String>,
    watched: Receiver<Watched>,
) -> LiveChanges {
    let (sender, changes) = mpsc::channel(BACKLOG);
    tokio::spawn(Supervisor::new(cluster, namespace, watched, sender).run());
    Box::pin(stream::unfold(changes, |mut changes| async {
        changes.recv().await.map(|change| (change, changes))
    }))
}

/// A kind in one namespace.
struct WatchedKind {
    accounts: BTreeSet<ServiceAccount>,
    task: AbortHandle,
}

/// Keeps one follower a kind, or one a namespace of it, until nobody listens any more.
struct Supervisor {
    cluster: KubeCluster,
    namespace: Option<String>,
    watched: Receiver<Watched>,
    sender: mpsc::Sender<LiveChange>,
    beginnings: Arc<Semaphore>,
    watches: Arc<NamespaceWatches>,
    report: mpsc::UnboundedSender<Report>,
    reports: mpsc::UnboundedReceiver<Report>,
    /// Dropped with this, and its tasks with it.
    followers: JoinSet<()>,
    whole: HashMap<ApiKind, AbortHandle>,
    parts: HashMap<ApiKind, HashMap<String, WatchedKind>>,
    /// Kinds that the reconciler may not watch whole.
    refused: HashSet<ApiKind>,
}

impl Supervisor {
    fn new(
        cluster: KubeCluster,
        namespace: Option<String>,
        watched: Receiver<Watched>,
        sender: mpsc::Sender<LiveChange>,
    ) -> Self {
        // A watcher of one namespace reads only there, with its own rights.
        let most = if namespace.is_some() { 0 } else { cluster.namespace_watches };
        let (report, reports) = mpsc::unbounded_channel();
        Self {
            cluster,
            namespace,
            watched,
            sender,
            beginnings: Arc::new(Semaphore::new(BEGINNINGS)),
            watches: Arc::new(NamespaceWatches::new(most)),
            report,
            reports,
            followers: JoinSet::new(),
            whole: HashMap::new(),
            parts: HashMap::new(),
            refused: HashSet::new(),
        }
    }

    async fn run(mut self) {
        let mut is_final = false;
        loop {
            self.settle();
            tokio::select! {
                () = self.sender.closed() => return,
                changed = self.watched.changed(), if !is_final => is_final = changed.is_err(),
                Some(report) = self.reports.recv() => self.hear(report),
                Some(_) = self.followers.join_next() => {}
            }
        }
    }

    /// Begins and ends followers, so that there are those that are wanted.
    fn settle(&mut self) {
        self.watched.mark_unchanged();
        let watched = self.watched.clone();
        let wanted = watched.borrow();
        self.whole.retain(|kind, follower| {
            let keep = wanted.contains_key(kind);
            if !keep {
                follower.abort();
            }
            keep
        });
        self.refused.retain(|kind| wanted.contains_key(kind));
        for (kind, parts) in &mut self.parts {
            let places = wanted.get(kind).filter(|_| self.refused.contains(kind));
            parts.retain(|namespace, part| {
                let keep = places.and_then(|places| places.get(namespace)) == Some(&part.accounts);
                if !keep {
                    part.task.abort();
                }
                keep
            });
        }
        self.parts.retain(|_, parts| !parts.is_empty());
        for (kind, places) in wanted.iter() {
            if !self.whole.contains_key(kind) {
                let follower = self.follower(kind, self.namespace.as_deref(), As::Reconciler);
                let follower = follower.reporting(self.report.clone());
                let task = self.followers.spawn(hold_whole(follower));
                self.whole.insert(kind.clone(), task);
            }
            if !self.watches.is_none() && self.refused.contains(kind) {
                for (namespace, accounts) in places {
                    self.begin_part(kind, namespace, accounts);
                }
            }
        }
    }

    fn begin_part(&mut self, kind: &ApiKind, namespace: &str, accounts: &BTreeSet<ServiceAccount>) {
        if self.parts.get(kind).is_some_and(|parts| parts.contains_key(namespace)) {
            return;
        }
        let attempts = accounts
            .iter()
            .map(|account| self.follower(kind, Some(namespace), As::Impersonated(account.clone())));
        let attempts: Vec<Follower> = attempts.collect();
        let task = self.followers.spawn(hold_part(attempts, Arc::clone(&self.watches)));
        let part = WatchedKind { accounts: accounts.clone(), task };
        self.parts.entry(kind.clone()).or_default().insert(namespace.to_owned(), part);
    }

    fn follower(&self, kind: &ApiKind, namespace: Option<&str>, by: As) -> Follower {
        let namespace = namespace.map(str::to_owned);
        let post = Post { kind: kind.clone(), namespace, name: None, labels: None, by };
        Follower::new(self.cluster.clone(), post, self.sender.clone(), Arc::clone(&self.beginnings))
    }

    fn hear(&mut self, report: Report) {
        match report {
            Report::Open(kind) => {
                if self.refused.remove(&kind) {
                    tracing::info!(%kind, "may be watched in the whole management cluster now");
                }
            }
            Report::Refused(kind) => {
                let has_places = self.watched.borrow().get(&kind).is_some_and(|places| !places.is_empty());
                if !self.refused.insert(kind.clone()) {
                    return;
                }
                if has_places && !self.watches.is_none() {
                    tracing::info!(%kind, "may not be watched in the whole management cluster: Capstan watches it in the namespaces where it is applied, as the service accounts that apply it");
                } else {
                    tracing::warn!(%kind, "may not be watched: its objects are compared only at the interval");
                }
            }
        }
    }
}

/// Follows a kind whole; where that is refused, asks again now and then.
async fn hold_whole(mut follower: Follower) {
    let mut refusals: u32 = 0;
    loop {
        if let FollowEnd::Unheard = follower.follow().await {
            return;
        }
        refusals = if follower.was_open() { 0 } else { refusals + 1 };
        rest(WHOLE, refusals).await;
    }
}

/// Follows a kind in one namespace while there is room, as the first who may; where nobody may, asks again now and
/// then.
async fn hold_part(mut attempts: Vec<Follower>, watches: Arc<NamespaceWatches>) {
    let Some(kind) = attempts.first().map(|attempt| attempt.post().kind.clone()) else { return };
    let mut refusals: u32 = 0;
    loop {
        let room = watches.enter(&kind).await;
        let (mut was_open, mut is_refused) = (false, false);
        for attempt in &mut attempts {
            // What waits for room, or for a right, takes little memory: there may be thousands.
            match Box::pin(attempt.follow()).await {
                FollowEnd::Unheard => return,
                FollowEnd::NotServed => break,
                FollowEnd::Refused => {
                    is_refused = true;
                    was_open |= attempt.was_open();
                    watches.log_refused(attempt.post());
                }
            }
        }
        drop(room);
        let _refused = is_refused.then(StateCount::refused);
        refusals = if was_open { 0 } else { refusals + 1 };
        rest(PARTS, refusals).await;
    }
}

/// The pause after so many failures; half of it by chance, so that after a restart of the API server not all come back at
/// once.
async fn rest(pauses: Doubling, failures: u32) {
    let share = rand::rng().random_range(0.5..1.0);
    sleep(pauses.after(failures).mul_f64(share)).await;
}
