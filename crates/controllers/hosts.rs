//! When a turn over the SIPClusters is made: when one of them, a host or an object of a service changed, and at an interval;
//! soon again while something is waited for. Where the kinds are not served, discovery is asked now and then.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use capstan_ports::{As, LiveChange, ManagementCluster as _, Post};
use capstan_reconciler::gate::Gate;
use capstan_reconciler::hosts::{self, Memory, service_posts, tenant, turn};
use capstan_reconciler::reconcile::Ports;

/// How long nothing is looked at where nothing changes; then all is read anew.
const INTERVAL: Duration = Duration::from_secs(600);
/// How soon what is waited for is looked at, where nobody tells of it.
const WAITING: Duration = Duration::from_secs(30);
/// How often it is looked whether the kinds are served.
const NOT_SERVED: Duration = Duration::from_secs(20);
/// The first pause after a turn that failed, and the longest.
const PAUSE: std::ops::RangeInclusive<Duration> = Duration::from_millis(500)..=Duration::from_secs(60);
/// What comes after the look of a turn and before its watches are open is told by nobody: all is read once more then.
const OPENING: Duration = Duration::from_secs(5);
/// Several changes at once make one turn.
const GATHERING: Duration = Duration::from_millis(100);
/// In more namespaces the objects of services are not watched: each takes four connections. There they are looked at at the
/// interval.
const MOST_TENANTS: usize = 50;
/// Changes that wait to be heard.
const BACKLOG: usize = 1_000;

/// Makes turns until cancelled. `node_ports_at` is where node ports of the management cluster are reached.
pub(super) async fn run(ports: Ports, node_ports_at: Option<String>, stop: CancellationToken) {
    let (posts, watched) = watch::channel(BTreeSet::<Post>::new());
    let (tenants, mut namespaces) = watch::channel(BTreeSet::<String>::new());
    let (told, mut heard) = mpsc::channel(BACKLOG);
    let mut ears =
        Ears { live: Arc::clone(&ports.live), told, tenants: BTreeMap::new(), tasks: JoinSet::new() };
    let mut news_of_all = watched.clone();
    let changes = ports.live.watch_posts(As::Reconciler, watched);
    ears.listen(changes);
    let ports = hosts::Ports {
        live: Arc::clone(&ports.live),
        clock: Arc::clone(&ports.clock),
        node_ports_at,
        watched: posts,
        tenants,
    };
    let mut memory = Memory::default();
    let mut failures: u32 = 0;
    let mut opening: Option<Instant> = None;
    let mut whole = Instant::now() + INTERVAL;
    while !stop.is_cancelled() {
        let due = match turn(&ports, &mut memory, &|| stop.is_cancelled()).await {
            Ok(outcome) => {
                failures = 0;
                match (outcome.is_served, outcome.is_waiting) {
                    (false, _) => NOT_SERVED,
                    (true, true) => WAITING,
                    (true, false) => INTERVAL,
                }
            }
            Err(error) => {
                tracing::warn!(kind = error.kind(), %error, "hosts could not be looked at; it is tried again");
                failures = failures.saturating_add(1);
                // What was written before may be unknown.
                memory.forget();
                PAUSE.start().saturating_mul(1 << failures.min(8)).min(*PAUSE.end())
            }
        };
        if namespaces.has_changed().unwrap_or(false) {
            let wanted = namespaces.borrow_and_update().clone();
            opening = ears.turn_to(wanted).then(|| Instant::now() + OPENING).or(opening);
        }
        if news_of_all.has_changed().unwrap_or(false) {
            news_of_all.mark_unchanged();
            opening = Some(Instant::now() + OPENING);
        }
        let next = (Instant::now() + due).min(whole);
        let next = opening.map_or(next, |opening| next.min(opening));
        hear(&mut heard, &mut memory, next, &stop).await;
        let now = Instant::now();
        if opening.is_some_and(|opening| opening <= now) || whole <= now {
            opening = None;
            whole = now + INTERVAL;
            memory.forget();
        }
    }
}

/// Waits for news, until then at most. What comes together is looked at together.
async fn hear(
    heard: &mut mpsc::Receiver<LiveChange>,
    memory: &mut Memory,
    until: Instant,
    stop: &CancellationToken,
) {
    let mut until = until;
    loop {
        let change = tokio::select! {
            () = stop.cancelled() => return,
            change = tokio::time::timeout_at(until, heard.recv()) => change,
        };
        match change {
            Ok(Some(change)) if memory.hears(&change) => until = until.min(Instant::now() + GATHERING),
            Ok(Some(_)) => {}
            // Nobody listens for it any more, which never is.
            Ok(None) => return tokio::time::sleep_until(until).await,
            Err(_) => return,
        }
    }
}

/// Who listens where.
struct Ears {
    live: Arc<Gate>,
    told: mpsc::Sender<LiveChange>,
    tenants: BTreeMap<String, AbortHandle>,
    /// Dropped with this, and the watches with them.
    tasks: JoinSet<()>,
}

impl Ears {
    fn listen(&mut self, mut changes: capstan_ports::LiveChanges) -> AbortHandle {
        let told = self.told.clone();
        self.tasks.spawn(async move {
            while let Some(change) = changes.next().await {
                if told.send(change).await.is_err() {
                    return;
                }
            }
        })
    }

    /// Listens in these namespaces and no others; whether one of them is new.
    fn turn_to(&mut self, wanted: BTreeSet<String>) -> bool {
        self.tenants.retain(|namespace, task| {
            let stays = wanted.contains(namespace);
            if !stays {
                task.abort();
            }
            stays
        });
        let mut is_any_new = false;
        for namespace in wanted {
            if self.tenants.contains_key(&namespace) {
                continue;
            }
            if self.tenants.len() >= MOST_TENANTS {
                tracing::warn!(
                    namespace,
                    "SIPClusters lie in more than {MOST_TENANTS} namespaces: in this one the objects of services are looked at at the interval alone"
                );
                break;
            }
            let (_, posts) = watch::channel(service_posts(&namespace));
            let task = self.listen(self.live.watch_posts(tenant(&namespace), posts));
            self.tenants.insert(namespace, task);
            is_any_new = true;
        }
        is_any_new
    }
}
