//! The Leases of Cluster API operators, held while Capstan installs providers: an operator that starts
//! meanwhile waits.
//!
//! A released Lease is not handed over: a standby takes it when it has expired, not while this process
//! restarts. It is held under one identity for every process of a namespace, of which one at a time leads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use capstan_ports::{Leadership, NamespacedLeadership};

/// How long one waits for Leases that nobody holds.
const PATIENCE: Duration = Duration::from_secs(2);

/// The Leases, by namespace.
pub struct OperatorLeases {
    posts: Arc<dyn NamespacedLeadership>,
    held: BTreeMap<String, HeldLease>,
}

/// One that is held, or tried to be.
struct HeldLease {
    is_held: watch::Receiver<bool>,
    stop: CancellationToken,
    keeping: JoinHandle<()>,
}

impl OperatorLeases {
    /// None are held yet.
    pub fn new(posts: Arc<dyn NamespacedLeadership>) -> Self {
        Self { posts, held: BTreeMap::new() }
    }

    /// Begins to take the Leases of these namespaces, whose operators have stopped: each is had when it has run out.
    pub fn begin(&mut self, namespaces: &[String]) {
        for namespace in namespaces {
            self.held.entry(namespace.clone()).or_insert_with(|| HeldLease::begin(self.posts.of(namespace)));
        }
    }

    /// Takes no Lease that is not held yet: an operator lives again.
    pub fn end_waiting(&mut self) {
        self.held.retain(|_, held| {
            let is_held = *held.is_held.borrow();
            if !is_held {
                held.stop.cancel();
            }
            is_held
        });
    }

    /// Holds the Leases of these namespaces and no others. Returns those that are not held now: another
    /// process has them, or they cannot be taken.
    pub async fn hold(&mut self, namespaces: &[String]) -> Vec<String> {
        let gone: Vec<String> =
            self.held.keys().filter(|namespace| !namespaces.contains(namespace)).cloned().collect();
        for namespace in gone {
            if let Some(held) = self.held.remove(&namespace) {
                held.stop.cancel();
            }
        }
        self.begin(namespaces);
        let mut missing = Vec::new();
        for (namespace, held) in &mut self.held {
            let is_held = held.is_held.wait_for(|is_held| *is_held);
            if !matches!(tokio::time::timeout(PATIENCE, is_held).await, Ok(Ok(_))) {
                missing.push(namespace.clone());
            }
        }
        missing
    }

    /// Gives all of them up.
    pub async fn give_up(self) {
        for held in self.held.into_values() {
            held.stop.cancel();
            let _ended = held.keeping.await;
        }
    }
}

impl HeldLease {
    fn begin(post: Arc<dyn Leadership>) -> Self {
        let (said, is_held) = watch::channel(false);
        let stop = CancellationToken::new();
        let keeping = tokio::spawn(keep(post, said, stop.clone()));
        Self { is_held, stop, keeping }
    }
}

/// Takes a post whenever it can be had, and says whether it is held.
async fn keep(post: Arc<dyn Leadership>, said: watch::Sender<bool>, stop: CancellationToken) {
    while let Some(term) = post.lead(&stop).await {
        let _changed = said.send_replace(true);
        tokio::select! {
            () = term.lost().cancelled() => {}
            () = stop.cancelled() => {}
        }
        let _changed = said.send_replace(false);
        term.abandon();
        if stop.is_cancelled() {
            return;
        }
    }
}
