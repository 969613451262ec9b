//! When each VaultSecret has its turn: when the next of them is due, when one of them or its Secret changed,
//! and at an interval. Those of each store are handled apart from the others'.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::watching::{SecondLook, Watches};
use capstan_ports::As;
use capstan_reconciler::reconcile::{Ports, StoreWork, VaultSecrets};

/// The pause after a list that failed, and the shortest between two.
const PAUSE: Duration = Duration::from_secs(5);
const SHORTEST: Duration = Duration::from_secs(1);
/// In more namespaces Secrets are not watched: each takes a connection. There they are read with their
/// VaultSecrets.
const MOST_NAMESPACES: usize = 200;

/// Gives turns until cancelled.
pub(super) async fn run(ports: Ports, stop: CancellationToken) {
    let mut watches = Watches::new(&ports.live, MOST_NAMESPACES);
    let (_, everywhere) = watch::channel(BTreeSet::from([VaultSecrets::post()]));
    watches.follow(As::Reconciler, everywhere);
    let mut at_work = AtWork::default();
    // Said once, until it is something else.
    let mut said = String::new();
    let mut opening = SecondLook::default();
    opening.begin();
    while !stop.is_cancelled() {
        let begun = Instant::now();
        let pause = match ports.vault_secrets.look(&ports).await {
            Ok(found) => {
                said.clear();
                let posts = |namespace: &str| BTreeSet::from([VaultSecrets::secret_post(namespace)]);
                if watches.turn_to(found.namespaces, posts) {
                    opening.begin();
                }
                for work in found.due {
                    at_work.begin(&ports, work, &stop);
                }
                None
            }
            Err(error) => {
                let why = error.to_string();
                if said != why {
                    tracing::warn!(kind = error.kind(), %error, "the VaultSecrets cannot be listed; Capstan retries");
                    said = why;
                }
                Some(PAUSE)
            }
        };
        loop {
            let next = Instant::now() + pause.unwrap_or_else(|| at_work.pause(&ports));
            let next = opening.or_at(next).max(begun + SHORTEST);
            tokio::select! {
                () = stop.cancelled() => break,
                () = tokio::time::sleep_until(next) => break,
                Some(change) = watches.heard() => if ports.vault_secrets.hears(&change) {
                    watches.gather(next, |change| ports.vault_secrets.hears(change)).await;
                    break;
                },
                // What is due next is another one now.
                Some(is_due) = at_work.ended() => if is_due {
                    break;
                },
            }
        }
        let _looked = opening.has_come();
    }
    // Each stops before its next turn.
    while at_work.ended().await.is_some() {}
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
            tracing::debug!(store, turns, "VaultSecrets were checked");
        });
        self.turns.insert(task.id(), store);
    }

    /// Whether something is due of the next that comes to its end; `None` where none is under way.
    async fn ended(&mut self) -> Option<bool> {
        let ended = self.tasks.join_next_with_id().await?;
        let id = ended.as_ref().map_or_else(JoinError::id, |(id, ())| *id);
        let was_due = self.turns.remove(&id).and_then(|store| self.stores.remove(&store));
        if let Err(error) = ended {
            // Those that are due are tried again after the shortest pause: the turn may crash again.
            tracing::warn!(%error, "a turn of VaultSecrets crashed");
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
