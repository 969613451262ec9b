//! When which VaultSecret has its turn: when the next of them is due, when one of them or its Secret changed, and to see what
//! nobody told. Those of each store are gone through apart from the others'.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use capstan_ports::{As, LiveChange, LiveChanges, ManagementCluster as _};
use capstan_reconciler::gate::Gate;
use capstan_reconciler::reconcile::{Ports, StoreWork, VaultSecrets};

/// The pause after a list that failed, and the shortest between two.
const PAUSE: Duration = Duration::from_secs(5);
const SHORTEST: Duration = Duration::from_secs(1);
/// What comes after a look and before its watches are open is told by nobody: it is looked once more then.
const OPENING: Duration = Duration::from_secs(5);
/// Several changes at once make one look.
const GATHERING: Duration = Duration::from_millis(100);
/// In more namespaces Secrets are not watched: each takes a connection. There they are looked at with their VaultSecrets.
const MOST_NAMESPACES: usize = 200;
/// Changes that wait to be heard.
const BACKLOG: usize = 1_000;

/// Gives turns until cancelled.
pub(super) async fn run(ports: Ports, stop: CancellationToken) {
    let (told, mut heard) = mpsc::channel(BACKLOG);
    let mut ears = Ears::open(&ports.live, told);
    let mut at_work = AtWork::default();
    // Said once, until it is something else.
    let mut said = String::new();
    let mut opening = Some(Instant::now() + OPENING);
    while !stop.is_cancelled() {
        let begun = Instant::now();
        let pause = match ports.vault_secrets.look(&ports).await {
            Ok(found) => {
                said.clear();
                if ears.turn_to(found.namespaces) {
                    opening = Some(Instant::now() + OPENING);
                }
                for work in found.due {
                    at_work.begin(&ports, work, &stop);
                }
                None
            }
            Err(error) => {
                let why = error.to_string();
                if said != why {
                    tracing::warn!(kind = error.kind(), %error, "the VaultSecrets cannot be listed; it is tried again");
                    said = why;
                }
                Some(PAUSE)
            }
        };
        loop {
            let next = Instant::now() + pause.unwrap_or_else(|| at_work.pause(&ports));
            let next = opening.map_or(next, |opening| opening.min(next)).max(begun + SHORTEST);
            tokio::select! {
                () = stop.cancelled() => break,
                () = tokio::time::sleep_until(next) => break,
                Some(change) = heard.recv() => if ports.vault_secrets.hears(&change) {
                    gather(&mut heard, &ports.vault_secrets).await;
                    break;
                },
                // What is due next is another one now.
                Some(is_due) = at_work.ended() => if is_due {
                    break;
                },
            }
        }
        opening = opening.filter(|opening| Instant::now() < *opening);
    }
    // Each stops before its next turn.
    while at_work.ended().await.is_some() {}
}

/// What comes together is looked at together.
async fn gather(heard: &mut mpsc::Receiver<LiveChange>, secrets: &VaultSecrets) {
    let until = Instant::now() + GATHERING;
    while let Ok(Some(change)) = tokio::time::timeout_at(until, heard.recv()).await {
        let _news = secrets.hears(&change);
    }
    tokio::time::sleep_until(until).await;
}

/// Stores whose VaultSecrets have their turn now.
#[derive(Default)]
struct AtWork {
    /// And whether something of them was due meanwhile.
    stores: BTreeMap<String, bool>,
    /// Whose turn each task is: one that died cannot say it.
    turns: HashMap<Id, String>,
    tasks: JoinSet<()>,
}

impl AtWork {
    /// Begins with those of a store, where they are not under way.
    fn begin(&mut self, ports: &Ports, work: StoreWork, stop: &CancellationToken) {
        let store = work.store.clone();
        if let Some(is_due) = self.stores.get_mut(&store) {
            *is_due = true;
            return;
        }
        self.stores.insert(store.clone(), false);
        let (ports, stop) = (ports.clone(), stop.clone());
        let task = self.tasks.spawn(async move {
            let is_over = || stop.is_cancelled();
            let store = work.store.clone();
            let turns = ports.vault_secrets.work(&ports, work, &is_over).await;
            tracing::debug!(store, turns, "VaultSecrets were looked at");
        });
        self.turns.insert(task.id(), store);
    }

    /// Whether something is due of the next that comes to its end; `None` where none is under way.
    async fn ended(&mut self) -> Option<bool> {
        let ended = self.tasks.join_next_with_id().await?;
        let id = ended.as_ref().map_or_else(JoinError::id, |(id, ())| *id);
        let was_due = self.turns.remove(&id).and_then(|store| self.stores.remove(&store));
        if let Err(error) = ended {
            // What is due still is looked at after the shortest pause: it may die again.
            tracing::warn!(%error, "a turn of VaultSecrets died");
            return Some(false);
        }
        Some(was_due.unwrap_or(true))
    }

    /// When the next of the others is due.
    fn pause(&self, ports: &Ports) -> Duration {
        let busy = self.stores.keys().cloned().collect();
        let pause = ports.vault_secrets.pause(ports.clock.now(), &busy);
        Duration::try_from(pause).unwrap_or(PAUSE)
    }
}

/// Who listens where.
struct Ears {
    live: Arc<Gate>,
    told: mpsc::Sender<LiveChange>,
    namespaces: BTreeMap<String, (As, AbortHandle)>,
    /// Dropped with this, and the watches with them.
    tasks: JoinSet<()>,
}

impl Ears {
    /// Listens to VaultSecrets everywhere.
    fn open(live: &Arc<Gate>, told: mpsc::Sender<LiveChange>) -> Self {
        let mut ears =
            Self { live: Arc::clone(live), told, namespaces: BTreeMap::new(), tasks: JoinSet::new() };
        let (_, posts) = watch::channel(BTreeSet::from([VaultSecrets::post()]));
        let changes = ears.live.watch_posts(As::Reconciler, posts);
        ears.listen(changes);
        ears
    }

    fn listen(&mut self, mut changes: LiveChanges) -> AbortHandle {
        let told = self.told.clone();
        self.tasks.spawn(async move {
            while let Some(change) = changes.next().await {
                if told.send(change).await.is_err() {
                    return;
                }
            }
        })
    }

    /// Listens to the Secrets of VaultSecrets in these namespaces, with these rights, and no others; whether one is new.
    fn turn_to(&mut self, wanted: BTreeMap<String, As>) -> bool {
        self.namespaces.retain(|namespace, (by, task)| {
            let stays = wanted.get(namespace) == Some(by);
            if !stays {
                task.abort();
            }
            stays
        });
        let mut is_any_new = false;
        for (namespace, by) in wanted {
            if self.namespaces.contains_key(&namespace) || self.namespaces.len() >= MOST_NAMESPACES {
                continue;
            }
            let (_, posts) = watch::channel(BTreeSet::from([VaultSecrets::secret_post(&namespace)]));
            let task = self.listen(self.live.watch_posts(by.clone(), posts));
            self.namespaces.insert(namespace, (by, task));
            is_any_new = true;
        }
        is_any_new
    }
}
