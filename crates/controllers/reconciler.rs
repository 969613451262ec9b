//! The whole reconciler: waits to lead, keeps a loop per Fleet, hands on what the watches tell.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::drift::Drift;
use super::fleet::{FleetLoop, Wake};
use super::probes::ProbeHealth;
use super::providers::Providers;
use capstan_ports::{Leadership, LiveError, ManagementCluster as _};
use capstan_reconciler::reconcile::Ports;
use capstan_reconciler::reconcile::ports::{FleetKey, FleetRecord, SourceOpener, StatusStoreChange};

/// How often Fleets are listed again, for changes that the watch missed; it also shows that the API server
/// works.
const RESYNC: Duration = Duration::from_secs(60);
/// The pause after the API server did not answer.
const PAUSE: Duration = Duration::from_secs(5);
/// How long reconciliations in hand may take to end once a stop began; the next leader takes up what is left.
const GRACE: Duration = Duration::from_secs(25);

/// What the reconciler is made of.
pub struct ReconcilerParts {
    /// What passes need from outside.
    pub ports: Ports,
    /// Opens sources.
    pub sources: Arc<dyn SourceOpener>,
    /// Which of several processes acts.
    pub leadership: Arc<dyn Leadership>,
    /// What probes ask.
    pub health: Arc<ProbeHealth>,
    /// At which name or address node ports of the management cluster are reached, where somebody said it.
    pub node_ports_at: Option<String>,
    /// How the providers of the management cluster are installed; `None` where they are not.
    pub providers: Option<Providers>,
}

pub struct Reconciler {
    parts: ReconcilerParts,
}

struct Running {
    fleet: FleetRecord,
    wake: mpsc::UnboundedSender<Wake>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Reconciler {
    /// Of these parts.
    pub const fn new(parts: ReconcilerParts) -> Self {
        Self { parts }
    }

    /// Runs until cancelled; whenever this process leads, it acts.
    pub async fn run(&self, stop: &CancellationToken) {
        let watching = tokio::spawn(stay_healthy(
            self.parts.ports.clone(),
            Arc::clone(&self.parts.health),
            stop.child_token(),
        ));
        let (underway, leaving) = (Arc::clone(&self.parts.ports.underway), stop.clone());
        tokio::spawn(async move {
            leaving.cancelled().await;
            underway.leave();
        });
        while !stop.is_cancelled() {
            let Some(term) = self.parts.leadership.lead(stop).await else { break };
            tracing::info!("this process leads");
            metrics::gauge!("capstan_leader").set(1.0);
            let acting = stop.child_token();
            // A process that was stopped for longer than it may lead finds out before it writes.
            let ports = self.parts.ports.fenced(&term.fence());
            let ended = {
                let act = self.act(&ports, &acting);
                tokio::pin!(act);
                tokio::select! {
                    () = &mut act => true,
                    () = term.lost().cancelled() => {
                        tracing::warn!("leadership was lost: reconciling ends before its next step");
                        acting.cancel();
                        act.await;
                        false
                    }
                }
            };
            metrics::gauge!("capstan_leader").set(0.0);
            if ended {
                term.resign().await;
            }
        }
        if let Err(error) = watching.await {
            tracing::warn!(%error, "the probe of the API server crashed");
        }
    }

    /// Acts until cancelled.
    async fn act(&self, ports: &Ports, stop: &CancellationToken) {
        let Some(uid) = learn_uid(ports, stop).await else { return };
        let drift = Arc::new(Drift::new());
        let acting = Acting { ports, sources: &self.parts.sources, uid: &uid, drift: &drift, stop };
        let providers = self
            .parts
            .providers
            .clone()
            .map(|parts| tokio::spawn(super::providers::run(ports.clone(), parts, stop.child_token())));
        let node_ports_at = self.parts.node_ports_at.clone();
        let hosts = tokio::spawn(super::hosts::run(ports.clone(), node_ports_at, stop.child_token()));
        let secrets = tokio::spawn(super::secrets::run(ports.clone(), stop.child_token()));
        let mut changes = ports.status_store.changes();
        let mut live = ports.live.watch(drift.watched());
        let mut fleets: BTreeMap<FleetKey, Running> = BTreeMap::new();
        let mut resync = tokio::time::interval(RESYNC);
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                _ = resync.tick() => acting.resync(&mut fleets).await,
                Some(change) = changes.next() => match change {
                    StatusStoreChange::Fleet(key) => match ports.status_store.fleet(&key).await {
                        Ok(found) => acting.settle(&mut fleets, key, found).await,
                        Err(error) => tracing::warn!(fleet = %key, %error, "a Fleet cannot be read"),
                    },
                    StatusStoreChange::Cluster(key) => {
                        for (_, running) in fleets.iter().filter(|(fleet, _)| fleet.namespace == key.namespace) {
                            let _ended = running.wake.send(Wake::Resource(key.clone()));
                        }
                    }
                },
                Some(change) = live.next() => {
                    if let Some((fleet, cluster)) = drift.owner(&change.object)
                        && let Some(running) = fleets.get(&fleet)
                    {
                        let _ended = running.wake.send(Wake::Object(cluster, change));
                    }
                }
            }
        }
        let ends = fleets.into_values().map(|running| running.task).chain(providers).chain([hosts, secrets]);
        if tokio::time::timeout(GRACE, futures_util::future::join_all(ends)).await.is_err() {
            tracing::warn!("reconciling was cut off after {} s; the next leader continues", GRACE.as_secs());
        }
    }
}

async fn learn_uid(ports: &Ports, stop: &CancellationToken) -> Option<String> {
    loop {
        match ports.live.uid().await {
            Ok(uid) => return Some(uid),
            Err(error) => tracing::warn!(%error, "the UID of the management cluster cannot be read"),
        }
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            () = stop.cancelled() => return None,
        }
    }
}

/// What the loops of one term have in common.
struct Acting<'a> {
    /// Behind the fence of this term.
    ports: &'a Ports,
    sources: &'a Arc<dyn SourceOpener>,
    uid: &'a str,
    drift: &'a Arc<Drift>,
    stop: &'a CancellationToken,
}

impl Acting<'_> {
    async fn resync(&self, fleets: &mut BTreeMap<FleetKey, Running>) {
        let found = match self.ports.status_store.fleets().await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(%error, "the Fleets cannot be listed");
                return;
            }
        };
        let gone: Vec<FleetKey> =
            fleets.keys().filter(|key| found.iter().all(|fleet| fleet.key != **key)).cloned().collect();
        for key in gone {
            self.settle(fleets, key, None).await;
        }
        for fleet in found {
            self.settle(fleets, fleet.key.clone(), Some(fleet)).await;
        }
    }

    /// Begins, ends or wakes the loop of a Fleet.
    async fn settle(
        &self,
        fleets: &mut BTreeMap<FleetKey, Running>,
        key: FleetKey,
        found: Option<FleetRecord>,
    ) {
        let mut found = found;
        let stays = match (fleets.get_mut(&key), &found) {
            // It was listed before what the loop knows.
            (Some(running), Some(fleet)) if is_older(fleet, &running.fleet) => true,
            (Some(running), Some(fleet))
                if is_same_loop(&running.fleet, fleet) && !running.task.is_finished() =>
            {
                if running.fleet.spec != fleet.spec || fleet.reconcile_requested {
                    let _ended = running.wake.send(Wake::Fleet(Box::new(fleet.clone())));
                }
                running.fleet = fleet.clone();
                true
            }
            _ => false,
        };
        if stays {
            return;
        }
        if let Some(running) = fleets.remove(&key) {
            running.stop.cancel();
            if tokio::time::timeout(GRACE, running.task).await.is_err() {
                tracing::warn!(fleet = %key, "its reconciliations were cut off");
            }
            // The loop may have written the status to its end, and that took a while.
            match self.ports.status_store.fleet(&key).await {
                Ok(now) => found = now,
                Err(error) => {
                    tracing::warn!(fleet = %key, %error, "a Fleet cannot be read: Capstan retries at the next pass");
                    return;
                }
            }
        }
        let Some(fleet) = found else {
            self.drift.keep(&key, |_| false);
            return;
        };
        tracing::info!(fleet = %key, "a Fleet is followed");
        let (wake, wakes) = mpsc::unbounded_channel();
        let stop = self.stop.child_token();
        let run = FleetLoop {
            ports: self.ports.clone(),
            sources: Arc::clone(self.sources),
            drift: Arc::clone(self.drift),
            uid: self.uid.to_owned(),
            fleet: fleet.clone(),
            wakes,
            stop: stop.clone(),
        };
        if fleet.reconcile_requested {
            let _running = wake.send(Wake::Fleet(Box::new(fleet.clone())));
        }
        let task = tokio::spawn(run.run());
        fleets.insert(key, Running { fleet, wake, stop, task });
    }
}

/// Whether a state of a Fleet is older than the known one.
fn is_older(fleet: &FleetRecord, known: &FleetRecord) -> bool {
    fleet.uid == known.uid && fleet.generation < known.generation
}

/// Whether a loop can continue: its parts (following, preflights) know the Fleet as it began.
fn is_same_loop(earlier: &FleetRecord, now: &FleetRecord) -> bool {
    earlier.uid == now.uid
        && earlier.spec.source == now.spec.source
        && earlier.spec.management_cluster == now.spec.management_cluster
        && earlier.spec.interval == now.spec.interval
        && earlier.spec.service_account == now.spec.service_account
}

/// Asks the API server now and then, so that a process that does not lead knows whether it could.
async fn stay_healthy(ports: Ports, health: Arc<ProbeHealth>, stop: CancellationToken) {
    loop {
        let answered: Result<String, LiveError> = ports.live.uid().await;
        let pause = match answered {
            Ok(_) => {
                health.answered(ports.clock.as_ref());
                RESYNC / 2
            }
            Err(_) => PAUSE,
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.cancelled() => return,
        }
    }
}
